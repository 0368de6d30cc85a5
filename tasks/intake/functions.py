"""Which functions a policy's query may call: what gives the same for the same arguments, and reads nothing.

What is not listed is refused, whatever DuckDB adds. Each function that DuckDB brings is in ALLOWED, or is
refused on purpose; a test walks through all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from policy.errors import did_you_mean

ALLOWED: Mapping[str, str] = {
    "operators and comparisons": """
        != !__postfix !~~ !~~* % & && * ** + - -> ->> / // < <-> << <= <=> <@ = > >= >> @ @> ^ ^@ | || ~ ~~
        ~~* ~~~ like_escape ilike_escape not_like_escape not_ilike_escape xor
        """,
    "choices among values": """
        coalesce greatest if ifnull least nullif switch constant_or_null error assert_true
        """,
    "numbers": """
        abs acos acosh add asin asinh atan atan2 atanh bin binom bit_count cbrt ceil ceiling cos cosh cot
        degrees divide equi_width_bins even exp factorial fdiv floor fmod gamma gcd greatest_common_divisor
        isfinite isinf isnan lcm least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow
        power radians round round_even roundbankers sign signbit sin sinh sqrt subtract tan tanh to_base
        to_binary to_hex trunc
        """,
    "texts, also those of a path or an address": """
        ascii bar base64 bit_length char_length character_length chr concat concat_ws contains
        damerau_levenshtein decode editdist3 encode ends_with format format_bytes formatreadabledecimalsize
        formatreadablesize from_base64 from_binary from_hex hamming hex hive_partition_component instr jaccard
        jaro_similarity jaro_winkler_similarity lcase left left_grapheme len length length_grapheme
        levenshtein lower lpad ltrim mismatches nfc_normalize octet_length ord overlay parse_dirname
        parse_dirpath parse_filename parse_formatted_bytes parse_path path_join pg_size_pretty position prefix
        printf regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace
        regexp_split_to_array regexp_split_to_table repeat replace reverse right right_grapheme rpad rtrim
        split split_part starts_with str_split str_split_regex string_split string_split_regex string_to_array
        strip_accents strlen strpos substr substring substring_grapheme suffix to_base64 translate trim ucase
        unbin unhex unicode upper url_decode url_encode
        """,
    "digests": "hash md5 md5_number md5_number_lower md5_number_upper sha1 sha256",
    "bits": "bit_position bitstring get_bit set_bit",
    "dates and times that are given": """
        age century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day
        dayname dayofmonth dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_ns epoch_us era hour
        isodow isoyear julian last_day make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns
        make_timestamptz microsecond millennium millisecond minute month monthname nanosecond
        normalized_interval quarter second strftime strptime time_bucket timezone timezone_hour
        timezone_minute to_centuries to_days to_decades to_hours to_microseconds to_millennia to_milliseconds
        to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years try_strptime week weekday
        weekofyear year yearweek uuid_extract_timestamp uuid_extract_version
        """,
    "lists, maps and structures": """
        apply array_append array_apply array_cat array_concat
        array_contains array_cosine_distance array_cosine_similarity array_cross_product array_distance
        array_distinct array_dot_product array_extract array_filter array_grade_up array_has array_has_all
        array_has_any array_indexof array_inner_product array_intersect array_length
        array_negative_dot_product array_negative_inner_product array_pop_back array_pop_front array_position
        array_prepend array_push_back array_push_front array_reduce array_resize array_reverse
        array_reverse_sort array_select array_slice array_sort array_to_string array_to_string_comma_default
        array_transform array_unique array_value array_where array_zip cardinality element_at filter flatten
        generate_series generate_subscripts grade_up list_any_value list_append
        list_apply list_approx_count_distinct list_avg list_bit_and list_bit_or list_bit_xor list_bool_and
        list_bool_or list_cat list_concat list_contains list_cosine_distance list_cosine_similarity list_count
        list_distance list_distinct list_dot_product list_element list_entropy list_extract list_filter
        list_first list_grade_up list_has list_has_all list_has_any list_histogram list_indexof
        list_inner_product list_intersect list_kurtosis list_kurtosis_pop list_last list_mad list_max
        list_median list_min list_mode list_negative_dot_product list_negative_inner_product list_pack
        list_position list_prepend list_product list_reduce list_resize list_reverse list_reverse_sort
        list_select list_sem list_skewness list_slice list_sort list_stddev_pop list_stddev_samp
        list_string_agg list_sum list_transform list_unique list_value list_var_pop list_var_samp list_where
        list_zip map map_concat map_contains map_contains_entry map_contains_value map_entries map_extract
        map_extract_value map_from_entries map_keys map_values range reduce remap_struct row struct_concat
        struct_contains struct_extract struct_extract_at struct_has struct_indexof struct_insert struct_keys
        struct_pack struct_position struct_update struct_values union_extract union_tag union_value unnest
        unpivot_list
        """,
    "types of values": """
        alias can_cast_implicitly cast_to_type enum_code enum_first enum_last enum_range enum_range_boundary
        pg_typeof typeof
        """,
    "JSON and variants": """
        array_to_json from_json from_json_strict json json_array json_array_length json_contains
        json_deep_merge json_exists json_extract json_extract_path json_extract_path_text json_extract_string
        json_insert json_keys json_merge_patch json_merge_patch_diff json_normalize json_object json_pretty
        json_quote json_remove json_replace json_set json_strip_nulls json_structure json_transform
        json_transform_strict json_type json_valid json_value row_to_json to_json variant_array_length
        variant_contains variant_exists variant_extract variant_extract_string variant_keys variant_type
        variant_typeof
        """,
    "shapes of a map": """
        st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_geomfromgeojson st_geomfromwkb
        st_intersects_extent
        """,
    "groups of rows": """
        any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
        arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or
        bit_xor bitstring_agg bool_and bool_or corr count count_if count_star countif covar_pop covar_samp
        decimal_average entropy favg first fsum geomean geometric_mean group_concat histogram histogram_exact
        is_histogram_other_bin json_group_array json_group_object json_group_structure kahan_sum kurtosis
        kurtosis_pop last list listagg lttb mad max max_by mean median min min_by mode product quantile
        quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
        regr_sxy regr_syy sem skewness stddev stddev_pop stddev_samp string_agg sum sum_no_overflow sumkahan
        var_pop var_samp variance wavg weighted_avg
        """,
    "rows around a row": """
        cume_dist dense_rank fill first_value lag last_value lead nth_value ntile percent_rank rank rank_dense
        row_number
        """,
}
"""By what they are about; names in lower case."""

TABLE_FUNCTIONS = ("range", "generate_series", "unnest", "repeat_row")
"""Those that make rows without reading anything. The limits of the query's process hold them."""

REFUSED: Mapping[str, str] = {
    "the clock, and waiting": """
        ago current_date current_localtime current_localtimestamp get_current_time get_current_timestamp now
        pg_conf_load_time pg_postmaster_start_time pg_sleep sleep_ms today transaction_timestamp
        """,
    "how DuckDB holds rows": "stats vector_type",
    "chance": "gen_random_uuid random reservoir_quantile setseed uuid uuidv4 uuidv7",
    "the process, its settings and its user": """
        current_catalog current_connection_id current_database current_query current_query_id current_role
        current_schema current_schemas current_setting current_transaction_id current_user getenv getvariable
        in_search_path inet_client_addr inet_client_port inet_server_addr inet_server_port session_user
        txid_current user version write_log
        """,
    "the catalog": """
        col_description currval format_pg_type format_type get_block_size has_any_column_privilege
        has_column_privilege has_database_privilege has_foreign_data_wrapper_privilege has_function_privilege
        has_language_privilege has_schema_privilege has_sequence_privilege has_server_privilege
        has_table_privilege has_tablespace_privilege map_to_pg_oid nextval obj_description
        pg_collation_is_visible pg_conversion_is_visible pg_function_is_visible pg_get_constraintdef
        pg_get_expr pg_get_viewdef pg_has_role pg_is_other_temp_schema pg_my_temp_schema pg_opclass_is_visible
        pg_operator_is_visible pg_opfamily_is_visible pg_table_is_visible pg_ts_config_is_visible
        pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible setval
        shobj_description st_crs st_setcrs
        """,
}
"""By what beside the query's inputs they depend on, or change."""

INTERNAL = """
    aggregate array_aggr array_aggregate list_aggr list_aggregate
    bitstring_byte_comparable combine combine_aggr create_sort_key decimal_division finalize get_type
    icu_sort_key index_key invoke json_copy_strftime_if_date json_copy_strftime_if_timestamp
    json_deserialize_sql json_serialize_plan json_serialize_sql make_type parse_duckdb_log_message
    replace_type timetz_byte_comparable to_aggregate_state variant_bytes_to_variant variant_comparator
    variant_group_array variant_group_object variant_normalize variant_to_parquet_variant vertex_extract
    """
"""Those that DuckDB calls by itself, or that run what they are given: an aggregate that a text names."""

INTERNAL_BEGINNINGS = ("__", "collate_", "icu_collate_")
"""Of the names of many more of them; `COLLATE de` is how a query calls the latter."""


def _names(groups: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name for names in groups.values() for name in names.split())


_ALLOWED = _names(ALLOWED) | {"is distinct from", "is not distinct from", *TABLE_FUNCTIONS}
DEPENDING = _names(REFUSED)
LONGEST_NAME = 60
HINT_SAME = "Remove it: the same inputs must give the same rows."
HINT_ALLOWED = (
    "Allowed are functions of numbers, texts, given times, lists, JSON, groups and windows (docs/policy.md)."
)


def is_allowed(name: str) -> bool:
    """Tell whether a query may call the function of this name."""
    return name.casefold() in _ALLOWED


def is_refused_on_purpose(name: str) -> bool:
    """Tell whether somebody looked at a function, and decided that no query may call it."""
    name = name.casefold()
    return name in DEPENDING or name in INTERNAL.split() or name.startswith(INTERNAL_BEGINNINGS)


def refusal(name: str) -> tuple[str, str] | None:
    """Return why a query may not call a function, and how to mend it; None where it may."""
    if is_allowed(name):
        return None
    if not name.isprintable() or len(name) > LONGEST_NAME:
        return "calls a function that no query may call", HINT_ALLOWED
    if name.casefold() in DEPENDING:
        return f"calls {name}(), which depends on more than the inputs", HINT_SAME
    return f"calls {name}(), which no query may call{did_you_mean(name, _ALLOWED)}", HINT_ALLOWED
