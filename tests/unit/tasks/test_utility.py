"""The measures of utility on one small release, worked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from policy.hierarchy import from_tree
from release_store.records import SetCells
from tasks.types import FloatArray
from tasks.utility.discernibility import discernibility
from tasks.utility.forest import forest_accuracy
from tasks.utility.front import front
from tasks.utility.information_loss import information_loss
from tasks.utility.levels import interval_levels, levels_of, set_levels
from tasks.utility.lookups import lookups
from tasks.utility.measures import MEASURES
from tasks.utility.precision import precision
from tasks.utility.queries import KINDS, Queries, draw_queries
from tasks.utility.query_accuracy import answer_queries, query_accuracy
from tasks.utility.query_error import errors_of, query_error
from tasks.utility.released import Released, released
from tasks.utility.sse import squared_errors
from tests.support.small import prepared, published, small_policy

CITIES = {"North": ["Hull", "York"], "South": ["Bath"]}
QUASI_IDENTIFIERS = {
    "age": {"type": "integer", "bounds": [0, 100], "widths": [10, 50], "weight": 2},
    "city": {"type": "categorical", "hierarchy": CITIES},
}
SENSITIVE = {"illness": {"stability": "stable"}, "wage": {"stability": "stable", "type": "numeric"}}
ROWS = [
    (20, "Hull", "flu", 10),
    (40, "York", "hiv", 20),
    (30, "Hull", "flu", 30),
    (60, "Bath", "flu", 40),
    (66, "Bath", "hiv", 50),
    (90, "York", "flu", 60),
]
LABELS = np.array([0, 0, 0, 1, 1, -1])
POLICY = small_policy(QUASI_IDENTIFIERS, SENSITIVE)
TABLE = prepared(POLICY, ROWS)
BESIDE = {"illness": ["flu", "hiv", "flu", "flu", "hiv"], "wage": [10.0, 20.0, 30.0, 40.0, 50.0]}
CENTROIDS = small_policy(QUASI_IDENTIFIERS, SENSITIVE, method={"name": "mondrian", "recoding": "centroid"})
NOISED = small_policy(QUASI_IDENTIFIERS, SENSITIVE, method={"name": "mondrian", "recoding": "adaptive"})


def sets() -> Released:
    """Ages 20 to 40 from Hull and York, 60 to 66 from Bath; the last record is left out."""
    frame = pd.DataFrame(
        {
            "age_min": [20, 20, 20, 60, 60],
            "age_max": [40, 40, 40, 66, 66],
            "city": ["Hull|York"] * 3 + ["Bath"] * 2,
            **BESIDE,
        }
    )
    return released(frame, np.arange(5), LABELS, TABLE, POLICY)


def centroids() -> Released:
    """The same groups, each published as 30, Hull and 63, Bath."""
    frame = pd.DataFrame({"age": [30, 30, 30, 63, 63], "city": ["Hull"] * 3 + ["Bath"] * 2, **BESIDE})
    return released(frame, np.arange(5), LABELS, TABLE, CENTROIDS)


def noised() -> Released:
    """The same sets of cities, and ages with noise."""
    frame = pd.DataFrame({"age": [22, 38, 41, 60, 80], "city": ["Hull|York"] * 3 + ["Bath"] * 2, **BESIDE})
    return released(frame, np.arange(5), LABELS, TABLE, NOISED)


def asking(low: float, high: float, city: int = -1, *, either: bool = False) -> Queries:
    """One query about ages, and about a city where one is given."""
    asked = np.array([[not np.isnan(low), city >= 0]])
    return Queries(asked, np.array([[low]]), np.array([[high]]), np.array([[city]]), either)


HULL = TABLE.domains["city"].index("Hull")


def test_the_classes_are_those_that_anybody_reads_from_the_file(tmp_path: Path) -> None:
    made = published(POLICY, TABLE, LABELS, tmp_path / "c")
    read = released(made.rows.frame, made.rows.records, LABELS, TABLE, POLICY)
    assert read.classes.size.tolist() == made.classes.size.tolist() == [3, 2]
    assert read.classes.intervals["age"].tolist() == made.classes.intervals["age"].tolist()
    assert read.classes.sets["city"].member.tolist() == made.classes.sets["city"].member.tolist()
    assert read.classes.sensitive_values == made.classes.sensitive_values
    assert {n: c.tolist() for n, c in read.classes.counts.items()} == {
        n: c.tolist() for n, c in made.classes.counts.items()
    }
    assert read.n_suppressed == 1
    assert sorted(read.records.tolist()) == [0, 1, 2, 3, 4]


def test_rows_in_any_order_belong_to_their_record_s_group() -> None:
    each = sets()
    order = np.array([3, 0, 4, 2, 1])
    frame = pd.DataFrame({"age_min": [60, 20, 60, 20, 20], "age_max": [66, 40, 66, 40, 40]})
    frame["city"] = ["Bath", "Hull|York", "Bath", "Hull|York", "Hull|York"]
    frame["illness"], frame["wage"] = (
        [BESIDE["illness"][i] for i in order],
        [BESIDE["wage"][i] for i in order],
    )
    other = released(frame, order, LABELS, TABLE, POLICY)
    assert other.groups.tolist() == [1, 0, 1, 0, 0]
    for measure in ("sse", "iloss", "queries", "qa", "forest"):
        assert MEASURES[measure].take(other) == pytest.approx(MEASURES[measure].take(each), nan_ok=False)


@pytest.mark.parametrize(
    ("low", "high", "level"), [(7, 7, 0), (7, 8, 1), (0, 10, 1), (0, 11, 2), (3, 53, 2), (0, 51, 3)]
)
def test_an_interval_is_as_high_as_the_smallest_width_that_covers_it(
    low: float, high: float, level: int
) -> None:
    found = interval_levels(np.array([low], dtype=float), np.array([high], dtype=float), (10, 50))
    assert (found.level.tolist(), found.height) == ([level], 3)


def test_a_set_is_as_high_as_the_lowest_node_that_covers_it() -> None:
    values = ("Bath", "Hull", "York", "missing")
    rows = ["Hull", "Hull York", "Bath York", "missing", "Hull missing", "Bath Hull York missing"]
    member = np.array([[value in row.split() for value in values] for row in rows])
    whole = np.array([False] * 5 + [True])
    found = set_levels(SetCells(values, member, whole), from_tree(CITIES))
    assert (found.level.tolist(), found.height) == ([0, 1, 2, 0, 2, 2], 2)
    found = set_levels(SetCells(values, member, whole), None)
    assert (found.level.tolist(), found.height) == ([0, 1, 1, 0, 1, 1], 1)


def test_the_levels_of_the_release() -> None:
    found = levels_of(sets().classes, POLICY)
    assert {name: each.level.tolist() for name, each in found.items()} == {"age": [2, 1], "city": [1, 0]}
    assert {name: each.height for name, each in found.items()} == {"age": 3, "city": 2}


def test_prec() -> None:
    raised = 3 * (2 / 3 + 1 / 2) + 2 * (1 / 3)
    assert precision(sets()) == pytest.approx(
        {"prec": raised + 6, "prec_generalized": raised, "prec_suppressed": 6, "prec_mean_level": raised / 10}
    )


def test_dm_counts_a_record_left_out_as_all() -> None:
    assert discernibility(sets()) == {"dm": 9 + 4 + 6, "dm_mean": 19 / 6}


def test_iloss_is_weighted() -> None:
    loss = 2 * (3 * 2 / 3 + 2 * 1 / 3) + 3 * 1 / 2
    assert information_loss(sets()) == pytest.approx({"iloss": loss, "iloss_mean": loss / (5 * 3)})


def test_lookups_by_record_and_by_class() -> None:
    assert lookups(sets()) == {"lookups": 3 + 3 + 2, "lookups_share": 8 / 10, "lookups_by_class": 3}


def test_sse_to_the_groups_and_to_the_mean_of_all() -> None:
    # Ages 20, 40, 30 about 30 and 60, 66 about 63, over the span of 70; cities 2 and 1 of 3, then one alone.
    within = (100 + 100 + 9 + 9) / 70**2 + (2 * (1 / 3) + 1 * (2 / 3)) / 2
    ages: FloatArray = np.array([20, 40, 30, 60, 66]) / 70
    total = ((ages - ages.mean()) ** 2).sum() + (2 * 3 / 5 + 1 * 4 / 5 + 2 * 3 / 5) / 2
    assert squared_errors(sets()) == pytest.approx({"sse": within, "sse_share": within / total})
    assert squared_errors(centroids()) == squared_errors(noised()) == squared_errors(sets())


def test_a_query_of_conditions_that_all_hold() -> None:
    # Aged 30 and from Hull: record 2. Of three rows each has one age of 21, one city of 2.
    counts, averages = errors_of(asking(30, 30, HULL), sets())
    assert counts == pytest.approx(1 - 3 / 42)
    assert averages == pytest.approx((30 - 20) / 30)


def test_a_query_of_conditions_of_which_one_holds() -> None:
    # Aged 30 or from Hull: records 0 and 2, of wages 10 and 30; expected 3 (1 - 20/21 1/2).
    counts, averages = errors_of(asking(30, 30, HULL, either=True), sets())
    assert counts == pytest.approx((2 - 3 * (1 - 20 / 42)) / 2)
    assert averages == pytest.approx(0)


def test_a_query_of_a_range() -> None:
    # Aged 35 to 62: records 1 and 3, of wages 20 and 40; expected 3 * 6/21 of wage 20 and 2 * 3/7 of wage 45.
    counts, averages = errors_of(asking(35, 62), sets())
    assert counts == pytest.approx((2 - 12 / 7) / 2)
    assert averages == pytest.approx((32.5 - 30) / 30)


def test_published_values_are_taken_as_they_stand() -> None:
    assert errors_of(asking(35, 62), centroids()) == pytest.approx((1.0, 1.0))
    # Of the noised ages 38, 41 and 60 lie between 35 and 62.
    assert errors_of(asking(35, 62), noised()) == pytest.approx((1 / 2, abs(30 - (20 + 30 + 40) / 3) / 30))


def test_a_query_that_nobody_answers_has_no_error() -> None:
    assert errors_of(asking(1, 2), sets()) == (None, None)


def test_a_class_is_right_if_it_is_half_a_person_off_at_most() -> None:
    ((correct,), (touched,)) = answer_queries(asking(35, 62), sets())
    assert correct.tolist() == [[True, True]]  # 6/7 and 6/7 of one each
    assert touched.tolist() == [[True, True]]
    ((correct,), (touched,)) = answer_queries(asking(20, 30), sets())
    assert correct.tolist() == [[True, True]]  # 11/7 of two; none of none
    assert touched.tolist() == [[True, False]]
    ((correct,), (touched,)) = answer_queries(asking(20, 25), centroids())
    assert correct.tolist() == [[False, True]]  # none of one
    assert touched.tolist() == [[True, False]]


def test_qa_is_near_100_where_nothing_is_generalized_and_falls_where_all_is() -> None:
    exact = pd.DataFrame(
        {
            "age_min": [row[0] for row in ROWS],
            "age_max": [row[0] for row in ROWS],
            "city": [row[1] for row in ROWS],
            "illness": [row[2] for row in ROWS],
            "wage": [float(row[3]) for row in ROWS],
        }
    )
    as_it_is = released(exact, np.arange(6), np.arange(6), TABLE, POLICY)
    assert query_accuracy(as_it_is) == {"qa": 100, "qa_touched": 100}
    assert set(query_error(as_it_is).values()) == {0.0}
    one = released(
        exact.assign(age_min=20, age_max=90, city="*"), np.arange(6), np.zeros(6, int), TABLE, POLICY
    )
    found = query_accuracy(one)
    assert found["qa"] is not None
    assert found["qa"] < 60


def test_iloss_of_values_put_in_place_of_others_is_that_of_where_they_meet() -> None:
    # Ages 20 and 40 are 10 from 30, 60 and 66 are 3 from 63; York meets Hull in the North.
    assert information_loss(centroids())["iloss"] == pytest.approx(2 * 4 * (1 / 3) + 1 / 2)
    # Ages 2, 2, 11, 0 and 14 away; the sets of cities hold their people.
    assert information_loss(noised())["iloss"] == pytest.approx(2 * (2 / 3 + 2 * 2 / 3) + 3 * 1 / 2)


def test_values_put_in_place_of_others_have_no_prec_and_were_not_looked_up() -> None:
    assert set(precision(centroids()).values()) == {None}
    assert set(precision(noised()).values()) == {None}
    assert lookups(centroids())["lookups"] == 0
    assert lookups(noised())["lookups"] == 3


@pytest.mark.parametrize("name", list(MEASURES))
def test_every_measure_tells_the_figures_that_it_names(name: str) -> None:
    for each in (sets(), centroids(), noised()):
        assert tuple(MEASURES[name].take(each)) == MEASURES[name].figures


@pytest.mark.parametrize("name", list(MEASURES))
@pytest.mark.parametrize("policy", [POLICY, CENTROIDS, NOISED], ids=["sets", "centroid", "adaptive"])
def test_every_measure_takes_an_empty_release(name: str, policy) -> None:  # type: ignore[no-untyped-def]
    columns = [*policy.published_columns()]
    empty = pd.DataFrame(
        {c: pd.Series([], dtype="str" if c in ("city", "illness") else "float64") for c in columns}
    )
    nothing = np.full(6, -1)
    found = MEASURES[name].take(released(empty, np.zeros(0, dtype=np.int64), nothing, TABLE, policy))
    assert tuple(found) == MEASURES[name].figures
    if name == "dm":
        assert found["dm"] == 36
    if name == "prec" and policy is POLICY:
        assert found["prec"] == 36


def test_queries_are_the_same_for_every_release_and_hold_the_record_drawn() -> None:
    for kind in KINDS:
        one, other = draw_queries(sets(), kind), draw_queries(noised(), kind)
        assert one is not None
        assert other is not None
        assert one.asked.tolist() == other.asked.tolist()
        assert np.array_equal(one.low, other.low, equal_nan=True)
        assert one.asked.any(axis=1).all()
        if kind == "range":
            assert (one.asked.sum(axis=1) == 1).all()
            assert (one.high - one.low <= 35).all()


def test_without_numbers_there_are_no_ranges_and_no_averages() -> None:
    policy = small_policy({"city": {"type": "categorical"}}, {"illness": {"stability": "stable"}})
    table = prepared(policy, [("Hull", "flu"), ("York", "hiv")])
    frame = pd.DataFrame({"city": ["Hull|York"] * 2, "illness": ["flu", "hiv"]})
    found = query_error(released(frame, np.arange(2), np.zeros(2, int), table, policy))
    assert {name for name, value in found.items() if value is None} == {
        "error_range",
        "error_and_average",
        "error_or_average",
        "error_range_average",
    }


def test_a_forest_learns_from_exact_rows_what_it_learns_from_the_source_and_from_one_class_nothing() -> None:
    rng = np.random.default_rng(0)
    ages = rng.integers(0, 100, 300)
    rows = [(int(age), "Hull" if age < 50 else "Bath", "flu" if age < 50 else "hiv", 1.0) for age in ages]
    table = prepared(POLICY, rows)
    exact = pd.DataFrame(rows, columns=["age_min", "city", "illness", "wage"])
    exact.insert(1, "age_max", exact["age_min"])
    found = forest_accuracy(released(exact, np.arange(300), np.arange(300), table, POLICY))
    assert found["forest"] == found["forest_source"] == 1.0
    blind = exact.assign(age_min=0, age_max=99, city="*")
    found = forest_accuracy(released(blind, np.arange(300), np.zeros(300, int), table, POLICY))
    assert found["forest_source"] == 1.0
    assert found["forest"] == pytest.approx(found["forest_majority"], abs=0.2)
    assert found == forest_accuracy(released(blind, np.arange(300), np.zeros(300, int), table, POLICY))


def test_the_front_is_what_nothing_beats() -> None:
    points = [(1.0, 5.0), (2.0, 3.0), (2.0, 4.0), (3.0, 3.0), (4.0, 1.0), (2.0, 3.0), (1.0, 6.0)]
    assert front(points) == [0, 1, 5, 4]
    assert front([]) == []
