"""What is wrong with a policy is told in one or two lines: file, field, finding, and what is allowed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from policy.errors import PolicyError
from policy.load import load_policy, parse_policy
from policy.model import ReleasePolicy
from tasks.methods.registry import bound_method, methods, parameters_of

FILE = Path("clinic.yaml")
SEE = "See docs/policy.md for what is allowed."
BASE_60 = "YAML reads a number to base 60 here: put it in quotes if it is a text"
LONG = "a" * 900
LONG_NUMBER = "YAML reads a number of more than 40 characters here: put it in quotes if it is a text"
QUOTES = "Put it in quotes if it is a text."
LEVELS = "Write one line per value, most specific first, ';' between the levels; or nested lists."
MAPPING = (
    "A policy is a mapping with the fields series, source, roles, ...; `releasegate draft TABLE` writes one."
)


def clinic() -> dict[str, Any]:
    """A whole policy, as YAML reads it."""
    return {
        "series": "clinic",
        "roles": {
            "key": "person",
            "quasi_identifiers": {
                "age": {"type": "integer", "bounds": [0, 120]},
                "city": {"type": "categorical", "values": ["Aix", "Brno"]},
            },
            "sensitive": {"disease": {"stability": "stable"}},
        },
    }


def text_with(field: str, value: Any) -> str:
    """The policy with one field set; dots lead to the field."""
    document = clinic()
    section: Any = document
    *above, last = field.split(".")
    for name in above:
        section = section.setdefault(name, {})
    section[last] = value
    return yaml.safe_dump(document)


def text_without(field: str) -> str:
    document = clinic()
    section: Any = document
    *above, last = field.split(".")
    for name in above:
        section = section[name]
    del section[last]
    return yaml.safe_dump(document)


def error_of(text: str, path: Path = FILE) -> str:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, path)
    told = str(caught.value)
    assert caught.value.exit_code == 2
    assert len(told.splitlines()) == 2
    assert caught.value.__cause__ is None
    return told


def test_the_policy_that_the_errors_are_made_from_is_right() -> None:
    assert parse_policy(yaml.safe_dump(clinic()), FILE).series == "clinic"


@pytest.mark.parametrize(
    ("text", "finding", "hint"),
    [
        ("", "holds nothing", MAPPING),
        ("# nothing but a comment\n", "holds nothing", MAPPING),
        ("- a\n- b\n", "holds no fields", MAPPING),
        ("series", "holds no fields", MAPPING),
        ("a:\n\t- b", "line 2: found character '\\t' that cannot start any token", "Fix the YAML."),
        ("a: [1", "line 1: expected ',' or ']', but got '<stream end>'", "Fix the YAML."),
        ("series: a\nseries: b", "line 2: the field 'series' stands twice", "Fix the YAML."),
        ("? [a]\n: b", "line 1: a field's name must be text, not a list or mapping", "Fix the YAML."),
        ("seed: 1:30", f"line 1: {BASE_60}", "Fix the YAML."),
        (f"seed: 1{':1' * 9000}", f"line 1: {BASE_60}", "Fix the YAML."),
        (f"seed: 0x{'F' * 9000}", f"line 1: {LONG_NUMBER}", "Fix the YAML."),
        (f"a: 1\n{'9' * 900}: 1", f"line 2: {LONG_NUMBER}", "Fix the YAML."),
        (
            f"{'a' * 900}: 1\n{'a' * 900}: 1",
            f"line 2: the field '{'a' * 60}' stands twice",
            "Fix the YAML.",
        ),
        ("a: !!python/name:os.system", None, "Fix the YAML."),
        ("a: '\x00'", "not YAML", "Fix the YAML."),
        ("[" * 3000, "is nested too deeply", "Fix the YAML."),
    ],
)
def test_what_is_no_policy_at_all_is_told_with_its_line(text: str, finding: str | None, hint: str) -> None:
    finding = finding or (
        "line 1: could not determine a constructor for the tag 'tag:yaml.org,2002:python/name:os.system'"
    )
    assert error_of(text) == f"clinic.yaml: {finding}\n  {hint}"


def test_a_policy_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    assert str(caught.value) == f"{path}: no such file\n  Give the path of a policy."


@pytest.mark.parametrize("kind", ["IsADirectoryError", "UnicodeDecodeError"])
def test_a_policy_that_is_no_text_is_told(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "policy.yaml"
    if kind == "IsADirectoryError":
        path.mkdir()
    else:
        path.write_bytes(b"series: caf\xe9")
    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    assert str(caught.value) == f"{path}: cannot be read ({kind})\n  A policy is a UTF-8 text file."


QI = "roles.quasi_identifiers"
SHARES = (
    "err",
    "umr",
    "forced",
    "sadr",
    "sadr_excess",
    "pr_dr",
    "pr_dr_excess",
    "inversion",
    "ncp",
    "suppression",
)
AT_MOST_1 = "should be less than or equal to 1"
LOW = "should be a valid number, unable to parse string as a number, found 'low'"


@pytest.mark.parametrize(
    ("field", "near", "allowed"),
    [
        (
            "perod",
            "period",
            ", ".join(ReleasePolicy.model_fields),
        ),
        (
            "source.pth",
            "path",
            (
                "path, query, inputs, sheet, table, format, delimiter, encoding, missing, missing_label, "
                "line_breaks, quoted_delimiters, duplicates, invisible, strip, case, values, dates, decimal, "
                "thousands, wait"
            ),
        ),
        (
            "roles.drpped",
            "dropped",
            "key, household, weight, identifiers, quasi_identifiers, sensitive, kept, kept_values, dropped",
        ),
        (
            f"{QI}.age.bound",
            "bounds",
            "type, bounds, widths, weight, moves, sensitivity, description",
        ),
        (
            "roles.sensitive.disease.stabilty",
            "stability",
            "stability, type, values, hierarchy, ordered, width, change, similar, ranges, description",
        ),
        ("expectations.row", "rows", "rows, missing, missing_in, unique_key, sensitive_drift, repeats"),
        ("expectations.rows.mim", "min", "min, max, drift"),
        ("privacy.pmax", "p_max", "k, e, p_max, h_min, spread, l, attributes"),
        (
            "method.parameter",
            "parameters",
            (
                "name, representation, partition, aggregation, recoding, ends, parameters, history, "
                "together, levels, reuse"
            ),
        ),
        (
            "gates.sadrr",
            "sadr",
            (
                "err, umr, forced, membership, sadr, sadr_excess, pr_dr, pr_dr_excess, inversion, k_map, "
                "population_uniqueness, delta_presence, ncp, suppression, leak, unique, models, transient, "
                "person, worlds, known"
            ),
        ),
        ("linkage.seed", "seeds", "ext_frac, seeds, errors, control, sampling_fraction"),
        ("approval.aprovers", "approvers", "approvers, expires_days"),
        ("publication.license", "licence", "title, description, licence, formats, csv_formulas"),
    ],
)
def test_an_unknown_field_brings_the_nearest_one_and_all_that_are_allowed(
    field: str, near: str, allowed: str
) -> None:
    assert error_of(text_with(field, 1)) == (
        f"clinic.yaml: {field}: unknown field (did you mean '{near}'?)\n  Allowed here: {allowed}."
    )


def test_a_field_that_no_terminal_shows_as_it_is_written_is_shown_in_escapes() -> None:
    told = error_of(text_with("privacy.\xa0zz", 1))
    assert told.startswith("clinic.yaml: privacy.\\xa0zz: unknown field\n")


def test_an_unknown_field_like_no_other_brings_no_guess() -> None:
    assert error_of(text_with("privacy.zzz", 1)) == (
        "clinic.yaml: privacy.zzz: unknown field\n  Allowed here: k, e, p_max, h_min, spread, l, attributes."
    )


@pytest.mark.parametrize(
    ("column", "field", "kind", "allowed"),
    [
        ("city", "moves", "numeric", "type, values, hierarchy, others, weight, may_change, description"),
        (
            "city",
            "bounds",
            "numeric and date",
            "type, values, hierarchy, others, weight, may_change, description",
        ),
        (
            "age",
            "may_change",
            "categorical, ordinal, code and date",
            "type, bounds, widths, weight, moves, sensitivity, description",
        ),
        (
            "age",
            "values",
            "categorical, ordinal and code",
            "type, bounds, widths, weight, moves, sensitivity, description",
        ),
    ],
)
def test_a_field_of_the_other_kind_of_quasi_identifier_is_told_as_that(
    column: str, field: str, kind: str, allowed: str
) -> None:
    assert error_of(text_with(f"{QI}.{column}.{field}", [0, 1])) == (
        f"clinic.yaml: {QI}.{column}.{field}: unknown field: it is one of {kind} quasi-identifiers\n"
        f"  Allowed here: {allowed}."
    )


@pytest.mark.parametrize("share", SHARES)
def test_a_limit_of_1_is_allowed(share: str) -> None:
    limit = getattr(parse_policy(text_with(f"gates.{share}", {"max": 1}), FILE).gates, share)
    assert limit.max == 1


def test_a_misspelt_field_that_is_missed_too_is_told_as_misspelt() -> None:
    assert error_of(text_with("gates.ncp", {"mx": 0.2})) == (
        "clinic.yaml: gates.ncp.mx: unknown field (did you mean 'max'?) (and 1 more finding)\n"
        "  Allowed here: max."
    )


@pytest.mark.parametrize(
    ("field", "hint"),
    [
        ("series", "Add this field."),
        ("roles", "Add this field."),
        ("roles.quasi_identifiers", "Add this field."),
        ("roles.sensitive", "Add this field."),
        (f"{QI}.age.bounds", "Add this field."),
        (
            f"{QI}.age.type",
            "Add this field: 'numeric', 'integer', 'categorical', 'ordinal', 'code' or 'date'.",
        ),
        ("roles.sensitive.disease.stability", "Add this field."),
    ],
)
def test_a_missing_field_is_named(field: str, hint: str) -> None:
    assert error_of(text_without(field)) == f"clinic.yaml: {field}: is missing\n  {hint}"


@pytest.mark.parametrize(
    ("field", "value", "finding"),
    [
        ("privacy.k", 1, "should be greater than or equal to 2, found 1"),
        ("privacy.k", 2.5, "should be a valid integer, got a number with a fractional part, found 2.5"),
        ("privacy.p_max", 0, "should be greater than 0, found 0"),
        ("privacy.p_max", 1.5, "should be less than or equal to 1, found 1.5"),
        ("privacy.h_min", math.nan, "should be a finite number, found nan"),
        ("privacy.e", math.inf, "should be a finite number, found inf"),
        (
            "period",
            "yearly",
            "should be 'given', 'daily', 'weekly', 'monthly' or 'quarterly', found 'yearly'",
        ),
        (
            "series",
            "a b",
            "should be letters, digits, '_' and '-', a letter or digit first, 64 at most, found 'a b'",
        ),
        ("source.delimiter", ",,", "should have at most 1 character, found ',,'"),
        ("source.delimiter", "", "should have at least 1 character, found ''"),
        ("source.duplicates", "drop", "should be 'kept' or 'removed', found 'drop'"),
        (
            "source.encoding",
            "rot13",
            (
                "should be utf-8, windows-1252, latin-1, utf-16 or another encoding that Python knows, "
                "found 'rot13'"
            ),
        ),
        (f"{QI}", {}, "should have 1 or more entries, found 0"),
        (f"{QI}.age", 3, "should be a mapping, found 3"),
        (
            f"{QI}.age.type",
            "real",
            "should be 'numeric', 'integer', 'categorical', 'ordinal', 'code' or 'date', found 'real'",
        ),
        (f"{QI}.age.bounds", [0, 1, 2], "should have 2 or fewer entries, found 3"),
        (f"{QI}.age.weight", 0, "should be greater than 0, found 0"),
        (f"{QI}.age.sensitivity", 0, "should be greater than 0, found 0"),
        (f"{QI}.age.sensitivity", -1.5, "should be greater than 0, found -1.5"),
        (f"{QI}.age.sensitivity", float("inf"), "should be a finite number, found inf"),
        (f"{QI}.age.sensitivity", float("nan"), "should be a finite number, found nan"),
        (f"{QI}.city.values", "Aix", "should be a list, found 'Aix'"),
        ("roles", [1], "should be a mapping"),
        ("roles", None, "should be a mapping, found None"),
        ("roles.sensitive.disease.stability", "?", "should be 'stable' or 'transient', found '?'"),
        ("roles.kept", "note", "should be a list, found 'note'"),
        ("expectations.missing", 2, "should be less than or equal to 1, found 2"),
        ("expectations.rows.min", 0, "should be greater than or equal to 1, found 0"),
        ("gates.ncp", 0.3, "should be a mapping, found 0.3"),
        ("gates.err.max", -1, "should be greater than or equal to 0, found -1"),
        *((f"gates.{share}.max", 1.01, f"{AT_MOST_1}, found 1.01") for share in SHARES),
        ("linkage.ext_frac", [], "should have 1 or more entries, found 0"),
        ("gates.transient", "forget", "should be 'compare' or 'ignore', found 'forget'"),
        ("linkage.seeds", 0, "should be greater than or equal to 1, found 0"),
        ("approval.approvers", 21, "should be less than or equal to 20, found 21"),
        ("approval.expires_days", 0, "should be greater than 0, found 0"),
        (
            "publication.formats",
            ["csv"],
            "formats must hold 'parquet', which the gate reads, and each format once",
        ),
        ("seed", -1, "should be greater than or equal to 0, found -1"),
    ],
)
def test_a_value_that_is_not_allowed_brings_what_is(field: str, value: Any, finding: str) -> None:
    assert error_of(text_with(field, value)) == f"clinic.yaml: {field}: {finding}\n  {SEE}"


@pytest.mark.parametrize(
    ("field", "value", "where", "finding"),
    [
        (
            f"{QI}.age.bounds",
            [5, 5],
            f"{QI}.age",
            "bounds must be [smallest, largest], the first under the second",
        ),
        (f"{QI}.age.moves", [1, 0], f"{QI}.age", "moves must be [least change, greatest change] a period"),
        (f"{QI}.city.values", ["Aix", "Aix"], f"{QI}.city", "values holds a value twice"),
        (
            f"{QI}.city.hierarchy",
            {"north": ["Aix"]},
            f"{QI}.city",
            "give values or a hierarchy, not both: the hierarchy's leaves are the values",
        ),
        ("roles.kept", ["age"], "roles", "the column 'age' has two roles"),
        (
            "roles.kept",
            ["age_min"],
            "",
            "two published columns would be called 'age_min': drop one, or rename it by a query",
        ),
        (
            "roles.kept",
            ["File_Row_Number"],
            "",
            "no column can be published under the name 'File_Row_Number': rename it by a query",
        ),
        (f"{QI}.age.bounds", ["low", 1], f"{QI}.age.bounds.0", LOW),
        (
            "roles.sensitive.disease.width",
            5,
            "roles.sensitive.disease",
            "width applies to numbers: type must be numeric",
        ),
        (
            "gates.worlds",
            {"p_max": 0.9, "sweeps": 0},
            "gates.worlds",
            "p_max needs sampled worlds: sweeps must be at least 1",
        ),
        (
            "publication.formats",
            ["parquet", "xls"],
            "publication.formats.1",
            "should be 'parquet' or 'csv', found 'xls'",
        ),
        (
            "expectations.missing_in",
            {"agee": 0.1},
            "",
            "expectations.missing_in names 'agee', which is not a column of roles",
        ),
    ],
)
def test_what_contradicts_within_a_field_or_between_fields_is_told(
    field: str, value: Any, where: str, finding: str
) -> None:
    place = f"clinic.yaml: {where}" if where else "clinic.yaml"
    assert error_of(text_with(field, value)) == f"{place}: {finding}\n  {SEE}"


@pytest.mark.parametrize(
    ("field", "value", "where", "found"),
    [
        ("series", 3, "series", "3"),
        (f"{QI}.city.values", ["Aix", True], f"{QI}.city.values.1", "True"),
        ("roles.key", 7, "roles.key", "7"),
    ],
)
def test_what_yaml_reads_as_no_text_is_to_be_put_in_quotes(
    field: str, value: Any, where: str, found: str
) -> None:
    assert (
        error_of(text_with(field, value))
        == f"clinic.yaml: {where}: should be a text, found {found}\n  {QUOTES}"
    )


def test_a_column_with_a_number_for_a_name_is_to_be_put_in_quotes() -> None:
    document = clinic()
    document["roles"]["quasi_identifiers"][3] = {"type": "categorical"}
    assert error_of(yaml.safe_dump(document)) == (
        f"clinic.yaml: {QI}.3: should be a text, found 3\n  {QUOTES}"
    )


@pytest.mark.parametrize("name", ["integer", "numeric", "categorical"])
def test_a_column_named_like_a_type_keeps_its_name_in_errors(name: str) -> None:
    assert error_of(text_with(f"{QI}.{name}", {"type": "numeric", "bounds": ["low", 1]})) == (
        f"clinic.yaml: {QI}.{name}.bounds.0: {LOW}\n  {SEE}"
    )


@pytest.mark.enemy("policy author", "runs code")
def test_no_published_name_is_a_formula_where_formulas_are_quoted() -> None:
    document = clinic()
    document["roles"]["kept"] = ["=1+1"]
    assert parse_policy(yaml.safe_dump(document, sort_keys=False), FILE).roles.kept == ("=1+1",)
    document["publication"] = {"csv_formulas": "quoted"}
    assert error_of(yaml.safe_dump(document, sort_keys=False)) == (
        f"clinic.yaml: spreadsheets read the name '=1+1' as a formula: rename it by a query\n  {SEE}"
    )


def test_several_findings_are_counted() -> None:
    assert error_of(text_with("privacy", {"k": 1, "e": 0, "p_max": 2})) == (
        "clinic.yaml: privacy.k: should be greater than or equal to 2, found 1 (and 2 more findings)\n"
        f"  {SEE}"
    )


def test_a_long_value_is_cut() -> None:
    told = error_of(text_with("series", "x" * 5000)).splitlines()[0]
    assert told.endswith("x...")
    assert len(told) < 250


def test_a_number_that_no_digest_can_be_taken_of_is_refused() -> None:
    assert error_of(text_with("expectations.rows.min", 10**20)) == (
        "clinic.yaml: contains a number that cannot be digested exactly\n"
        "  Whole numbers are under 2**53, and all numbers finite."
    )


@pytest.mark.parametrize(
    ("written", "finding"),
    [
        ({}, "the hierarchy has no values"),
        ({"north": ["Aix"], "south": ["Aix"]}, "the value 'Aix' appears twice"),
        ({"north": [True]}, "the value True is not text in YAML; put it in quotes"),
        ({"north": None}, "a hierarchy is made of nested mappings with lists of values inside"),
        (3, "a hierarchy is made of nested mappings with lists of values inside"),
    ],
)
def test_a_nested_hierarchy_that_is_none_is_told(written: Any, finding: str) -> None:
    text = text_with(f"{QI}.city", {"type": "categorical", "hierarchy": written})
    assert error_of(text) == f"clinic.yaml: {QI}.city.hierarchy: {finding}\n  {LEVELS}"


@pytest.mark.parametrize(
    ("content", "finding", "hint"),
    [
        (None, "no such file", "Give a path relative to the policy's folder."),
        (b"", "the hierarchy has no values", LEVELS),
        (b"Aix;north\nAix;south\n", "the value 'Aix' appears twice", LEVELS),
        (b"Aix;north;cold\nBrno;north;warm\n", "the node 'north' has two parents", LEVELS),
        (b"caf\xe9;north\n", "cannot be read (UnicodeDecodeError)", "A hierarchy is a UTF-8 text file."),
    ],
)
def test_a_hierarchy_file_that_is_none_is_told_with_its_path(
    tmp_path: Path, content: bytes | None, finding: str, hint: str
) -> None:
    path, beside = tmp_path / "clinic.yaml", tmp_path / "cities.csv"
    if content is not None:
        beside.write_bytes(content)
    text = text_with(f"{QI}.city", {"type": "categorical", "hierarchy": "cities.csv"})
    assert error_of(text, path) == f"{path}: {QI}.city.hierarchy ({beside}): {finding}\n  {hint}"


def _bound_error(method: dict[str, Any]) -> str:
    policy: ReleasePolicy = parse_policy(text_with("method", method), FILE)
    with pytest.raises(PolicyError) as caught:
        bound_method(policy, str(FILE))
    return str(caught.value)


def test_an_unknown_method_brings_the_nearest_and_all_others() -> None:
    assert _bound_error({"name": "ae-lrmha"}) == (
        "clinic.yaml: method.name: unknown method 'ae-lrmha' (did you mean 'ae-lrhma'?)\n"
        f"  Known methods: {', '.join(methods())}."
    )


def test_an_unknown_parameter_brings_the_nearest_and_all_others() -> None:
    assert _bound_error({"name": "mondrian", "parameters": {"leafsize": 8}}) == (
        "clinic.yaml: method.parameters.leafsize: unknown parameter of mondrian (did you mean 'leaf_size'?)\n"
        f"  Allowed here: {', '.join(parameters_of(methods()['mondrian']).model_fields)}."
    )


@pytest.mark.parametrize(
    ("parameters", "field", "finding"),
    [
        ({"alpha": 2}, "alpha", "should be less than or equal to 1, found 2"),
        ({"learning_rate": 0}, "learning_rate", "should be greater than 0, found 0"),
        (
            {"local_metric": "cosine"},
            "local_metric",
            "should be 'latent', 'features', 'rank' or 'ncp', found 'cosine'",
        ),
    ],
)
def test_a_parameter_out_of_range_is_told(parameters: dict[str, Any], field: str, finding: str) -> None:
    assert _bound_error({"name": "ae-lrhma", "parameters": parameters}) == (
        f"clinic.yaml: method.parameters.{field}: {finding}\n"
        "  Run `releasegate methods ae-lrhma` to list the parameters."
    )


def test_groups_smaller_than_k_cannot_be_asked_for() -> None:
    told = _bound_error({"name": "mondrian", "parameters": {"max_group_size": 4}})
    assert told.startswith(
        "clinic.yaml: method.parameters.max_group_size: 4 is under 2k - 1 for privacy.k 8\n"
    )
    assert len(told.splitlines()) == 2


@pytest.mark.parametrize(
    ("field", "value", "finding"),
    [
        ("distinct_l", {"min": 1}, "distinct_l.min: should be greater than or equal to 2, found 1"),
        ("distinct_l", {}, "distinct_l.min: is missing"),
        ("entropy_l", {"min": 1}, "entropy_l.min: should be greater than 1, found 1"),
        ("entropy_l", {"min": math.inf}, "entropy_l.min: should be a finite number, found inf"),
        ("recursive_cl", {"c": 0, "l": 2}, "recursive_cl.c: should be greater than 0, found 0"),
        ("recursive_cl", {"c": 1, "l": 1}, "recursive_cl.l: should be greater than or equal to 2, found 1"),
        ("t_closeness", {"max": 1}, "t_closeness.max: should be less than 1, found 1"),
        ("t_closeness", {"max": -0.1}, "t_closeness.max: should be greater than or equal to 0, found -0.1"),
        ("alpha_k", {"alpha": 1, "k": 2}, "alpha_k.alpha: should be less than 1, found 1"),
        ("alpha_k", {"alpha": 0, "k": 2}, "alpha_k.alpha: should be greater than 0, found 0"),
        ("alpha_k", {"alpha": 0.5, "k": 1}, "alpha_k.k: should be greater than or equal to 2, found 1"),
        (
            "alpha_k",
            {"alpha": 0.5, "k": 2, "values": {}},
            "alpha_k.values: should have 1 or more entries, found 0",
        ),
        ("km", {"k": 2, "m": 0}, "km.m: should be greater than or equal to 1, found 0"),
        ("lkc", {"l": 1, "k": 2, "c": 1}, "lkc.c: should be less than 1, found 1"),
        ("lkc", {"l": 1, "k": 2, "c": 0.5, "d": 1}, "lkc.d: unknown field"),
        ("distinct", {"min": 2}, "distinct: unknown field (did you mean 'distinct_l'?)"),
    ],
)
def test_a_models_threshold_beyond_sense_is_refused(field: str, value: Any, finding: str) -> None:
    assert f"clinic.yaml: gates.models.{finding}" in error_of(text_with(f"gates.models.{field}", value))


def test_a_model_that_does_not_fit_the_roles_is_refused() -> None:
    def told(field: str, value: Any, **sensitive: Any) -> str:
        document = yaml.safe_load(text_with(f"gates.models.{field}", value))
        document["roles"]["sensitive"]["disease"] |= sensitive
        return error_of(yaml.safe_dump(document))

    many = "is 3, but there are 2 quasi-identifiers"
    assert f"gates.models.km.m {many}" in told("km", {"k": 2, "m": 3})
    lkc = {"l": 2, "k": 2, "c": 0.5}
    assert f"gates.models.lkc.l {many}" in told("lkc", {**lkc, "l": 3})
    flu = {"values": {"disease": ["flu"]}}
    assert "roles.sensitive.disease.values must be given" in told("lkc", lkc | flu)
    wrong = told("lkc", lkc | flu, values=["Flu"])
    assert "gates.models.lkc.values lists 'flu', which is not in roles.sensitive.disease.values" in wrong
    assert "which is numeric" in told("lkc", lkc | flu, type="numeric")
    alpha_k = {"alpha": 0.5, "k": 2, "values": {"illness": ["flu"]}}
    assert "alpha_k.values names 'illness', which is not a sensitive attribute" in told("alpha_k", alpha_k)
