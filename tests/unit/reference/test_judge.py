"""The judge, held against cases worked by hand."""

from __future__ import annotations

import gzip
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import yaml

from tests.reference import judge

POLICY: dict[str, Any] = {
    "series": "towns",
    "roles": {
        "quasi_identifiers": {
            "age": {"type": "integer", "bounds": [0, 100]},
            "city": {"type": "categorical"},
        },
        "sensitive": {"illness": {"stability": "stable"}},
    },
    "linkage": {"ext_frac": [1.0], "seeds": 2},
}

SOURCE = """\
age,city,illness
20,Leeds,flu
30,York,hiv
40,Leeds,flu
50,Hull,flu
60,Hull,hiv
70,York,cough
"""

PUBLISHED = """\
age_min,age_max,city,illness
20,40,Leeds|York,flu
50,70,Hull|York,cough
20,40,Leeds|York,hiv
50,70,Hull|York,flu
20,40,Leeds|York,flu
50,70,Hull|York,hiv
"""

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return _write


def changed(**sections: Any) -> str:
    return yaml.safe_dump({**POLICY, **sections})


def with_qi(**quasi_identifiers: Any) -> dict[str, Any]:
    return {**POLICY["roles"], "quasi_identifiers": quasi_identifiers}


def judged(write: Write, policy: str, source: str, published: str, *earlier: str) -> dict[str, Any]:
    return judge.judge(
        write("policy.yaml", policy),
        write("source.csv", source),
        write("data.csv", published),
        [write(f"earlier{number}.csv", text) for number, text in enumerate(earlier)],
    )


def intervals(*rows: str) -> str:
    """Write a published table of one numeric quasi-identifier from `low-high value` rows."""
    lines = [f"{row.split()[0].replace('-', ',')},{row.split()[1]}" for row in rows]
    return "\n".join(["age_min,age_max,illness", *lines]) + "\n"


AGE_ONLY = {"roles": with_qi(age={"type": "integer", "bounds": [0, 100]})}


# Six records in two classes


def test_six_records_have_the_sizes_and_models_worked_by_hand(write: Write) -> None:
    models = judged(write, changed(), SOURCE, PUBLISHED)["models"]
    assert (models["classes"], models["k"], models["size_mean"], models["size_max"]) == (2, 3, 3, 3)
    illness = models["sensitive"]["illness"]
    # flu, flu, hiv: shares 2/3 and 1/3; cough, flu, hiv: three times 1/3.
    two_thirds = 2 / 3 * math.log(3 / 2) + 1 / 3 * math.log(3)
    assert illness["p_max"] == pytest.approx(2 / 3)
    assert illness["p_max_mean"] == pytest.approx(1 / 2)
    assert illness["h_min"] == pytest.approx(two_thirds)
    assert illness["h_mean"] == pytest.approx((two_thirds + math.log(3)) / 2)
    assert illness["e"] == 2


def test_ncp_is_the_mean_of_interval_and_set_penalties(write: Write) -> None:
    # Each class: age 20 of 50 years, two cities of three.
    assert judged(write, changed(), SOURCE, PUBLISHED)["ncp"] == pytest.approx((2 / 5 + 2 / 3) / 2)


def test_ncp_weighs_quasi_identifiers_by_the_policy(write: Write) -> None:
    roles = with_qi(
        age={"type": "integer", "bounds": [0, 100], "weight": 3}, city={"type": "categorical", "weight": 1}
    )
    assert judged(write, changed(roles=roles), SOURCE, PUBLISHED)["ncp"] == pytest.approx(
        (3 * 2 / 5 + 2 / 3) / 4
    )


def test_each_of_six_records_is_in_one_class_of_three(write: Write) -> None:
    (at_all,) = judged(write, changed(), SOURCE, PUBLISHED)["linkage"]
    assert at_all["ext_frac"] == 1.0
    assert at_all["err_mean"] == pytest.approx(1 / 3)
    assert at_all["umr_mean"] == 1.0
    assert at_all["err_std"] == pytest.approx(0)
    assert at_all["umr_std"] == 0


def test_sadr_is_the_largest_share_that_a_record_faces(write: Write) -> None:
    illness = judged(write, changed(), SOURCE, PUBLISHED)["sadr"]["illness"]
    assert illness["max"] == pytest.approx(2 / 3)
    assert illness["mean"] == pytest.approx((2 / 3 + 1 / 3) / 2)


def test_a_release_against_itself_fails_only_where_a_class_has_too_few_values(write: Write) -> None:
    result = judged(write, changed(), SOURCE, PUBLISHED, PUBLISHED)
    assert result["pairwise"] == [{"illness": {"pairs": 0, "classes": 0}}]
    assert result["whole_history"] == {"illness": {"records": 0, "classes": 0}}
    stricter = judged(write, changed(privacy={"l": 3}), SOURCE, PUBLISHED, PUBLISHED)
    # flu, hiv is under 3 values; the two classes' ages do not touch, so the pairs across are not compatible.
    assert stricter["pairwise"] == [{"illness": {"pairs": 1, "classes": 1}}]
    assert stricter["whole_history"] == {"illness": {"records": 3, "classes": 1}}


def test_suppression_counts_the_records_that_are_gone(write: Write) -> None:
    without_one_class = "".join(
        line for line in PUBLISHED.splitlines(keepends=True) if not line.startswith("50")
    )
    result = judged(write, changed(), SOURCE, without_one_class)
    assert result["records"] == {"source": 6, "published": 3}
    assert result["suppression"] == pytest.approx(1 / 2)
    # Three of the six are in no class: they add 0 to ERR and UMR, and SADR leaves them out.
    assert result["linkage"][0]["err_mean"] == pytest.approx(1 / 6)
    assert result["linkage"][0]["umr_mean"] == pytest.approx(1 / 2)
    assert result["sadr"]["illness"]["mean"] == pytest.approx(2 / 3)


def test_sadr_is_none_where_no_class_holds_anybody(write: Write) -> None:
    nowhere = PUBLISHED.replace("20,40", "80,90").replace("50,70", "80,90")
    result = judged(write, changed(), SOURCE, nowhere)
    assert result["sadr"]["illness"] == {"max": None, "mean": None}
    assert result["linkage"][0]["err_mean"] == 0


# Overlapping classes, ties, draws


def test_a_record_in_overlapping_classes_links_to_the_smallest_and_is_not_unique(write: Write) -> None:
    source = "age,illness\n10,a\n20,a\n30,b\n30,b\n40,c\n"
    published = intervals("10-30 a", "10-30 a", "30-40 b", "30-40 b", "30-40 c")
    result = judged(write, changed(**AGE_ONLY), source, published)
    # 10, 20: only the class of two. 30, 30: both, so 1/2. 40: only the class of three.
    assert result["linkage"][0]["err_mean"] == pytest.approx((4 * 1 / 2 + 1 / 3) / 5)
    assert result["linkage"][0]["umr_mean"] == pytest.approx(3 / 5)
    # 10, 20: a alone. 30, 30: a, a, b, b, c, a tie of 2/5. 40: b 2/3.
    assert result["sadr"]["illness"]["mean"] == pytest.approx((1 + 1 + 2 / 5 + 2 / 5 + 2 / 3) / 5)
    assert result["sadr"]["illness"]["max"] == 1


def test_rows_with_equal_cells_are_one_class_wherever_they_stand_and_however_sets_are_ordered(
    write: Write,
) -> None:
    reordered = PUBLISHED.replace("20,40,Leeds|York,hiv", "20.0,40,York|Leeds,hiv")
    assert judged(write, changed(), SOURCE, reordered)["models"]["classes"] == 2


def test_the_attackers_table_is_drawn_as_defined(write: Write) -> None:
    policy = changed(**AGE_ONLY, linkage={"ext_frac": [0.5, 0.01], "seeds": 3})
    source = "age,illness\n1,a\n2,a\n3,a\n4,a\n5,a\n"
    published = intervals("1-2 a", "1-2 b", "3-5 a", "3-5 b", "3-5 c")
    half, least = judged(write, policy, source, published)["linkage"]

    def err(size: int, seed: int) -> float:
        drawn = np.random.default_rng(seed).choice(5, size=size, replace=False)
        return sum(1 / 2 if i < 2 else 1 / 3 for i in drawn) / size

    for found, size in ((half, 2), (least, 1)):  # round(2.5) is 2, and one record at the least
        errs = [err(size, seed) for seed in range(3)]
        mean = sum(errs) / 3
        assert found["err_mean"] == pytest.approx(mean)
        assert found["err_std"] == pytest.approx(math.sqrt(sum((e - mean) ** 2 for e in errs) / 2))


def test_umr_varies_with_the_draw_of_one_record(write: Write) -> None:
    # Record 0 is in one class, record 1 in two.
    source, published = "age,illness\n1,a\n2,a\n", intervals("1-2 a", "1-2 b", "2-3 a", "2-3 b")
    policy = changed(**AGE_ONLY, linkage={"ext_frac": [0.5], "seeds": 4})
    unique = [1 - int(np.random.default_rng(seed).choice(2, size=1, replace=False)[0]) for seed in range(4)]
    mean = sum(unique) / 4
    assert 0 < mean < 1  # else this test shows nothing
    found = judged(write, policy, source, published)["linkage"][0]
    assert found["umr_mean"] == pytest.approx(mean)
    assert found["umr_std"] == pytest.approx(math.sqrt(sum((u - mean) ** 2 for u in unique) / 3))


def test_sadr_is_taken_at_the_largest_share_only(write: Write) -> None:
    policy = changed(linkage={"ext_frac": [0.01, 1.0, 0.1], "seeds": 1})
    illness = judged(write, policy, SOURCE, PUBLISHED)["sadr"]["illness"]
    assert illness["mean"] == pytest.approx((2 / 3 + 1 / 3) / 2)


def test_five_seeds_at_three_shares_are_drawn_where_the_policy_says_nothing(write: Write) -> None:
    policy = {name: section for name, section in POLICY.items() if name != "linkage"}
    result = judged(write, yaml.safe_dump(policy), SOURCE, PUBLISHED)
    assert [entry["ext_frac"] for entry in result["linkage"]] == [0.05, 0.10, 0.20]
    assert judge.read_policy(write("p.yaml", yaml.safe_dump(policy))).seeds == 5


def test_one_seed_has_no_deviation(write: Write) -> None:
    policy = changed(linkage={"ext_frac": [0.5], "seeds": 1})
    assert judged(write, policy, SOURCE, PUBLISHED)["linkage"][0]["err_std"] == 0


# Cells


def test_a_star_holds_everybody_and_costs_the_whole_domain(write: Write) -> None:
    starred = PUBLISHED.replace("Hull|York", "*")
    result = judged(write, changed(), SOURCE, starred)
    assert result["ncp"] == pytest.approx((2 / 5 + (2 / 3 + 1) / 2) / 2)
    assert result["linkage"][0]["umr_mean"] == 1.0


def test_a_single_value_and_a_constant_column_cost_nothing(write: Write) -> None:
    source = "age,city,illness\n20,Hull,flu\n20,Hull,hiv\n"
    published = "age_min,age_max,city,illness\n20,20,*,flu\n20,20,*,hiv\n"
    assert judged(write, changed(), source, published)["ncp"] == 0
    single = "age_min,age_max,city,illness\n20,20,Hull,flu\n20,20,Hull,hiv\n"
    assert judged(write, changed(), source, single)["ncp"] == 0


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a", {"a"}),
        ("a|b", {"a", "b"}),
        (r"a\|b", {"a|b"}),
        (r"a\|b|c\\", {"a|b", "c\\"}),
        (r"a\\|b", {"a\\", "b"}),
        ("**", {"**"}),
    ],
)
def test_a_set_cell_reads_as_its_values(text: str, values: set[str]) -> None:
    assert judge.parse_set(text) == frozenset(values)


def test_a_star_cell_reads_as_the_whole_domain() -> None:
    assert judge.parse_set("*") is judge.WHOLE


@pytest.mark.parametrize("text", ["a\\", r"a\b"])
def test_a_backslash_that_escapes_nothing_is_refused(text: str) -> None:
    with pytest.raises(judge.UnreadableError, match="backslash"):
        judge.parse_set(text)


def test_an_escaped_bar_matches_the_source_value_that_holds_it(write: Write) -> None:
    source = "age,city,illness\n20,Hull|Leeds,flu\n20,York,hiv\n"
    published = "age_min,age_max,city,illness\n" + "".join(
        rf"20,20,Hull\|Leeds|York,{illness}" + "\n" for illness in ("flu", "hiv")
    )
    result = judged(write, changed(), source, published)
    assert result["linkage"][0]["umr_mean"] == 1.0
    assert result["ncp"] == pytest.approx(1 / 2)


def test_a_numeric_sensitive_attribute_has_a_range(write: Write) -> None:
    roles = with_qi(age={"type": "integer", "bounds": [0, 100]})
    roles["sensitive"] = {"illness": {"stability": "stable", "type": "numeric"}}
    source = "age,illness\n1,10\n2,12.5\n3,7\n4,9\n"
    published = intervals("1-2 10", "1-2 12.5", "3-4 7", "3-4 9.0", "3-4 missing")
    result = judged(write, changed(roles=roles), source, published, published)
    assert result["models"]["sensitive"]["illness"]["e"] == 2
    unknown = intervals("1-2 10", "1-2 12.5", "3-4 missing", "3-4 missing")
    assert judged(write, changed(roles=roles), source, unknown)["models"]["sensitive"]["illness"]["e"] == 0
    # Each class against itself, two and three values; l = 2.
    assert result["pairwise"] == [{"illness": {"pairs": 0, "classes": 0}}]


# Missing values


def test_a_missing_number_matches_every_interval(write: Write) -> None:
    source = "age,illness\n10,a\n,a\n30,b\n40,b\n"
    published = intervals("10-10 a", "10-10 a", "30-40 b", "30-40 b")
    result = judged(write, changed(**AGE_ONLY), source, published)
    assert result["linkage"][0]["umr_mean"] == pytest.approx(3 / 4)
    assert result["sadr"]["illness"]["mean"] == pytest.approx((1 + 1 / 2 + 1 + 1) / 4)
    assert result["ncp"] == pytest.approx((0 + 0 + 10 / 30 + 10 / 30) / 4)


def test_a_missing_category_is_the_value_missing_and_no_wildcard(write: Write) -> None:
    source = "age,city,illness\n20,?,flu\n20,Hull,flu\n20,York,hiv\n20,?,hiv\n"
    published = (
        "age_min,age_max,city,illness\n"
        "20,20,unknown|York,flu\n20,20,unknown|York,hiv\n20,20,Hull,flu\n20,20,Hull,hiv\n"
    )
    policy = changed(source={"missing": ["?"], "missing_label": "unknown"})
    result = judged(write, policy, source, published)
    assert result["linkage"][0]["umr_mean"] == 1.0
    # The domain is unknown, Hull, York; age is constant.
    assert result["ncp"] == pytest.approx((2 * 2 / 3 + 0) / 4 / 2)


# Earlier releases

POSITIONS = {
    "series": "staff",
    "roles": {
        "quasi_identifiers": {n: {"type": "categorical"} for n in ("position", "gender", "zip")},
        "sensitive": {"salary": {"stability": "stable"}},
    },
}
ZIPS = "60632|60635|60636|60639"
TABLE_7 = """\
position,gender,salary
Accounting,*,10000
Accounting,*,13000
Programmer,Male,14000
Programmer,Male,15000
Lecturer,Female,16000
Lecturer,Female,17000
Lecturer,Female,18000
"""
LATER_TABLES = {
    9: [
        (f"Male,{ZIPS}", (10000, 14000, 15000)),
        ("Female,60632", (13000, 16000, 17000, 18000)),
    ],
    10: [
        (f"*,{ZIPS}", (10000, 13000)),
        (f"Male,{ZIPS}", (14000, 15000)),
        ("Female,60632", (16000, 17000, 18000)),
    ],
    11: [
        (f"*,{ZIPS}", (10000, 14000, 15000, 13000)),
        ("Female,60632", (16000, 17000, 18000)),
    ],
}


@pytest.mark.parametrize(("table", "pairs", "failing"), [(9, 2, 2), (10, 0, 0), (11, 0, 0)])
def test_riyana_2025_tables_9_to_11_against_table_7(
    write: Write, table: int, pairs: int, failing: int
) -> None:
    policy = judge.read_policy(write("policy.yaml", yaml.safe_dump(POSITIONS)))
    later = "gender,zip,salary\n" + "".join(
        f"{cells},{salary}\n" for cells, salaries in LATER_TABLES[table] for salary in salaries
    )
    candidate = judge.classes(judge.read_published(write("later.csv", later), policy))
    earlier = judge.classes(judge.read_published(write("table7.csv", TABLE_7), policy))
    assert judge.pairwise(candidate, earlier, policy) == {"salary": {"pairs": pairs, "classes": failing}}


THREE = [
    "age,illness\n5,a\n5,c\n5,d\n",
    *(intervals(*(f"0-9 {v}" for v in vs)) for vs in ("acd", "abc", "abd")),
]


def test_three_releases_narrow_what_no_pair_narrows(write: Write) -> None:
    result = judged(write, changed(**AGE_ONLY), *THREE)
    assert result["pairwise"] == [{"illness": {"pairs": 0, "classes": 0}}] * 2
    assert result["whole_history"] == {"illness": {"records": 3, "classes": 1}}


def test_two_of_three_releases_narrow_nothing(write: Write) -> None:
    result = judged(write, changed(**AGE_ONLY), *THREE[:3])
    assert result["whole_history"] == {"illness": {"records": 0, "classes": 0}}


def test_a_subset_of_the_earlier_releases_can_narrow_what_all_of_them_leave_empty(write: Write) -> None:
    # {a,b} & {x,y} is empty: who was in that release is not in this one, so only the other subset tells.
    earlier = [intervals("0-9 x", "0-9 y"), intervals("0-9 a", "0-9 x")]
    result = judged(
        write, changed(**AGE_ONLY), "age,illness\n5,a\n5,b\n", intervals("0-9 a", "0-9 b"), *earlier
    )
    assert result["pairwise"] == [
        {"illness": {"pairs": 0, "classes": 0}},
        {"illness": {"pairs": 1, "classes": 1}},
    ]
    assert result["whole_history"] == {"illness": {"records": 2, "classes": 1}}


def test_a_record_that_an_earlier_release_does_not_contain_is_not_narrowed_by_it(write: Write) -> None:
    # The classes touch at 9, but the only record, 5, was not between 9 and 20.
    result = judged(
        write,
        changed(**AGE_ONLY),
        "age,illness\n5,a\n",
        intervals("0-9 a", "0-9 b"),
        intervals("9-20 a", "9-20 c"),
    )
    assert result["pairwise"] == [{"illness": {"pairs": 1, "classes": 1}}]
    assert result["whole_history"] == {"illness": {"records": 0, "classes": 0}}


def test_a_class_with_too_few_values_of_its_own_is_not_the_comparisons_finding(write: Write) -> None:
    result = judged(
        write,
        changed(**AGE_ONLY),
        "age,illness\n5,a\n",
        intervals("0-9 a", "0-9 a"),
        intervals("20-30 a", "20-30 b"),
    )
    assert result["whole_history"] == {"illness": {"records": 0, "classes": 0}}


def test_the_union_over_overlapping_earlier_classes_allows_more(write: Write) -> None:
    # Each earlier class alone shares one value with {a,b}; a person of 5 may be in either.
    result = judged(
        write,
        changed(**AGE_ONLY),
        "age,illness\n5,a\n",
        intervals("0-9 a", "0-9 b"),
        intervals("0-5 a", "0-5 c", "5-9 b", "5-9 d"),
    )
    assert result["pairwise"] == [{"illness": {"pairs": 2, "classes": 1}}]
    assert result["whole_history"] == {"illness": {"records": 0, "classes": 0}}


def test_nested_classes_of_a_growing_series_are_taken_from_each_other(write: Write) -> None:
    growing = changed(**AGE_ONLY, population="cumulative", privacy={"k": 2, "l": 2})
    source = "age,illness\n5,a\n"
    before = intervals("0-9 a", "0-9 a", "0-9 b")
    result = judged(write, growing, source, intervals("0-9 a", "0-9 a", "0-9 b", "0-9 b"), before)
    one = {"pairs": 1, "together": 0, "failures": 1, "classes": 1}
    assert result["nested"] == {"illness": one, "size": one}
    # The class was split and two came: each part differs from it in values, the smaller one in size too.
    parts = intervals("0-4 a", "0-4 a", "0-4 c", "5-9 b", "5-9 c")
    result = judged(write, growing, source, parts, before)
    assert result["nested"]["illness"] == {"pairs": 2, "together": 1, "failures": 3, "classes": 2}
    assert result["nested"]["size"] == {"pairs": 2, "together": 1, "failures": 1, "classes": 1}
    assert "nested" not in judged(write, changed(**AGE_ONLY), source, parts, before)


def test_an_age_may_have_grown_by_a_year_for_each_release_back(write: Write) -> None:
    roles = with_qi(age={"type": "integer", "bounds": [0, 100], "moves": [0, 1]})
    source, candidate = "age,illness\n12,a\n12,b\n", intervals("12-13 a", "12-13 b")
    earlier = intervals("8-10 a", "8-10 c")
    result = judged(write, changed(roles=roles), source, candidate, earlier, earlier)
    # Two periods back 8-10 is 8-12 by now, and touches; one period back it is 8-11.
    assert result["pairwise"] == [
        {"illness": {"pairs": 1, "classes": 1}},
        {"illness": {"pairs": 0, "classes": 0}},
    ]
    assert result["whole_history"] == {"illness": {"records": 2, "classes": 1}}
    elsewhere = intervals("50-60 a", "50-60 c")
    oldest_first = judged(write, changed(roles=roles), source, candidate, earlier, elsewhere)
    assert oldest_first["whole_history"] == {"illness": {"records": 2, "classes": 1}}
    oldest_last = judged(write, changed(roles=roles), source, candidate, elsewhere, earlier)
    assert oldest_last["whole_history"] == {"illness": {"records": 0, "classes": 0}}
    unmoved = judged(write, changed(**AGE_ONLY), source, candidate, earlier, earlier)
    assert unmoved["whole_history"] == {"illness": {"records": 0, "classes": 0}}


def test_least_moves_raise_the_lower_end(write: Write) -> None:
    roles = with_qi(age={"type": "integer", "bounds": [0, 100], "moves": [1, 1]})
    source, candidate = "age,illness\n8,a\n", intervals("8-8 a", "8-8 b")
    result = judged(write, changed(roles=roles), source, candidate, intervals("8-10 a", "8-10 c"))
    assert result["pairwise"] == [{"illness": {"pairs": 0, "classes": 0}}]
    assert result["whole_history"] == {"illness": {"records": 0, "classes": 0}}


@pytest.mark.parametrize(("may_change", "found"), [(True, 1), (False, 0)])
def test_a_home_may_have_changed(write: Write, may_change: bool, found: int) -> None:
    roles = with_qi(city={"type": "categorical", "may_change": may_change})
    result = judged(
        write,
        changed(roles=roles),
        "city,illness\nHull,a\n",
        "city,illness\nHull,a\nHull,b\nLeeds,d\nLeeds,e\n",
        "city,illness\nYork,a\nYork,c\n",
    )
    assert result["pairwise"] == [{"illness": {"pairs": found, "classes": found}}]
    assert result["whole_history"] == {"illness": {"records": found, "classes": found}}
    assert result["linkage"][0]["umr_mean"] == 1.0  # what may change from period to period is known now


def test_an_earlier_release_without_a_quasi_identifier_or_an_attribute_is_compared_on_the_rest(
    write: Write,
) -> None:
    ages = intervals("20-70 flu", "20-70 measles")
    result = judged(write, changed(), SOURCE, PUBLISHED, ages)
    assert result["pairwise"] == [{"illness": {"pairs": 2, "classes": 2}}]
    assert result["whole_history"] == {"illness": {"records": 6, "classes": 2}}
    nothing = judged(write, changed(), SOURCE, PUBLISHED, "age_min,age_max\n20,70\n")
    assert nothing["pairwise"] == [{}]
    assert nothing["whole_history"] == {}


@pytest.mark.parametrize("transient", ["compare", "ignore"])
def test_transient_attributes_are_compared_unless_the_policy_ignores_them(
    write: Write, transient: str
) -> None:
    roles = {**AGE_ONLY["roles"], "sensitive": {"illness": {"stability": "transient"}}}
    policy = changed(roles=roles, gates={"transient": transient})
    found = judged(write, policy, *THREE)
    assert (found["whole_history"] == {}) == (transient == "ignore")


# Files


def judged_source(tmp_path: Path, write: Write, source: Path, settings: dict[str, Any]) -> dict[str, Any]:
    policy, published = write("policy.yaml", changed(source=settings)), write("data.csv", PUBLISHED)
    return judge.judge(policy, source, published, period="2024")


def test_every_form_of_the_source_is_judged_alike(tmp_path: Path, write: Write) -> None:
    expected = judged(write, changed(), SOURCE, PUBLISHED)
    compressed = tmp_path / "source.csv.gz"
    compressed.write_bytes(gzip.compress(SOURCE.encode()))
    assert judged_source(tmp_path, write, compressed, {}) == expected
    semicolons = write("semicolons.csv", SOURCE.replace(",", ";"))
    assert judged_source(tmp_path, write, semicolons, {"delimiter": ";"}) == expected
    parquet = tmp_path / "source.parquet"
    duckdb.sql(f"COPY (FROM read_csv('{tmp_path}/source.csv')) TO '{parquet}' (FORMAT parquet)")
    assert judged_source(tmp_path, write, parquet, {}) == expected
    periods = write(
        "periods.csv",
        "year,age,town,illness\n2023,99,Hull,flu\n"
        + "".join(f"2024,{line}\n" for line in SOURCE.splitlines()[1:]),
    )
    query = "SELECT age, town AS city, illness FROM input WHERE year = '{period}' -- this period's"
    assert judged_source(tmp_path, write, periods, {"query": query}) == expected
    with pytest.raises(judge.UnreadableError, match="asks for a period"):
        judge.judge(tmp_path / "policy.yaml", periods, tmp_path / "data.csv")


def test_a_parquet_null_is_missing(tmp_path: Path, write: Write) -> None:
    parquet = tmp_path / "source.parquet"
    duckdb.sql(
        "COPY (SELECT * FROM (VALUES (1, 'Hull'), (NULL, NULL)) AS t(age, city))"
        f" TO '{parquet}' (FORMAT parquet)"
    )
    policy = judge.read_policy(write("policy.yaml", changed()))
    assert judge.read_source(parquet, policy) == [(1.0, "Hull"), (None, "missing")]


@pytest.mark.parametrize(
    ("published", "finding"),
    [
        (PUBLISHED.replace("20,40,Leeds", "20,canary,Leeds"), "'age' is no number"),
        (PUBLISHED.replace("20,40,Leeds", "20,nan,Leeds"), "'age' is no finite number"),
        (PUBLISHED.replace("20,40,Leeds", "40,20,Leeds"), "smallest value over its largest"),
        (PUBLISHED.replace("Leeds|York,flu", "Leeds|York,canary,flu"), "line 2 has 5 fields, not 4"),
        (PUBLISHED.replace("age_max", "age_most"), "'age' is no number"),
        (PUBLISHED.replace("age_m", "old_m"), "does not publish the quasi-identifier 'age'"),
        (PUBLISHED.replace("illness", "disease"), "does not publish the sensitive attribute 'illness'"),
        (PUBLISHED.replace("age_max", "age_min"), "a column twice"),
        (PUBLISHED.splitlines()[0] + "\n", "holds no records"),
        ("", "has no header"),
        (PUBLISHED + '20,40,"canary', "is not CSV"),
    ],
)
def test_what_is_no_published_table_is_refused_without_its_cells(
    write: Write, published: str, finding: str
) -> None:
    with pytest.raises(judge.UnreadableError, match=finding) as refused:
        judged(write, changed(), SOURCE, published)
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        (SOURCE.replace("20,", "canary,"), "record 1: 'age' is no number"),
        (SOURCE.replace("city", "town"), "has no column 'city'"),
        ("age,city,illness\n", "holds no records"),
    ],
)
def test_what_is_no_source_is_refused_without_its_cells(write: Write, source: str, finding: str) -> None:
    with pytest.raises(judge.UnreadableError, match=finding) as refused:
        judged(write, changed(), source, PUBLISHED)
    assert "canary" not in str(refused.value)


# The program


def test_the_program_prints_what_the_function_returns(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = judged(write, changed(), SOURCE, PUBLISHED, PUBLISHED)
    files = [
        str(write("policy.yaml", changed()).parent / n) for n in ("policy.yaml", "source.csv", "data.csv")
    ]
    assert judge.main([*files, "--against", files[2], "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert judge.main(files) == 0
    assert "k: 3" in capsys.readouterr().out


def test_the_program_runs_by_itself_and_says_what_it_cannot_read(write: Write) -> None:
    policy, source = write("policy.yaml", changed()), write("source.csv", SOURCE)
    command = [sys.executable, "-I", str(Path(judge.__file__)), str(policy), str(source), "absent.csv"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=policy.parent)
    assert run.returncode == 2
    assert "absent.csv" in run.stderr
    assert "Traceback" not in run.stderr


def test_the_judge_shares_no_code_with_the_product() -> None:
    imported = subprocess.run(
        [sys.executable, "-c", "import sys, judge; print(*{name.split('.')[0] for name in sys.modules})"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(judge.__file__).parent,
        env={name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"},
    ).stdout.split()
    assert "duckdb" in imported
    assert not {
        "policy",
        "release_store",
        "expectations",
        "tasks",
        "reports",
        "services",
        "flows",
        "cli",
    } & set(imported)
