"""Which earlier releases are compared, in what words, and what is said of the others; and odd tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy.model import ReleasePolicy
from policy.period import periods_apart
from release_store.records import EquivalenceClasses, GateResult, SetCells, Verdict
from tasks.composition import repaired
from tasks.history.selection import by_leaves, select_history
from tasks.methods.registry import bound_method
from tasks.risk.published import read_classes
from tasks.risk.registry import GATES, GateReport, assess
from tasks.types import Partition, Representation, no_progress
from tests.support.small import Published, prepared, published, small_policy

AGE: dict[str, Any] = {"age": {"type": "integer", "bounds": [0, 99]}}
ILLNESS = {"illness": {"stability": "stable"}}
CITIES = {"North": ["Leeds", "York"], "South": ["Hove", "Poole"]}
BY_CITY = {"city": {"type": "categorical", "hierarchy": CITIES}}
COMPARISON = ("pairwise", "whole_history", "difference", "size")


def release(
    folder: Path, policy: ReleasePolicy, rows: Sequence[tuple[Any, ...]], labels: Sequence[int] = ()
) -> Published:
    return published(policy, prepared(policy, rows), list(labels) or [0] * len(rows), folder)


def asked(now: Published, *earlier: Published, apart: Any = None) -> dict[str, GateResult]:
    evidence = replace(now.evidence(*earlier), apart=apart)
    wanted = {name: gate for name, gate in GATES.items() if name in COMPARISON}
    return {result.gate: result for result in assess(evidence, wanted).results}


# Populations


def in_turn(tmp_path: Path, population: str, *illnesses: str) -> list[Published]:
    policy = small_policy(AGE, ILLNESS, population=population)
    return [
        release(tmp_path / str(number), policy, [(30, illness) for illness in each])
        for number, each in enumerate(illnesses)
    ]


def test_nobody_of_an_independent_population_is_in_two_periods(tmp_path: Path) -> None:
    *earlier, now = in_turn(tmp_path, "independent", "ab", "abcab", "ac")
    found = asked(now, *earlier)
    for result in found.values():
        assert result.verdict is Verdict.PASS
        assert "not compared, as the population is independent: 2 releases of other periods" in result.detail
        assert "(2 classes, 7 records)" in result.detail
        assert result.witness["coverage"]["releases"] == 0
        assert [each["what"] for each in result.witness["coverage"]["not_run"]][:2] == [
            "release-1",
            "release-2",
        ]
    assert set(found) == {"pairwise", "whole_history"}
    overlapping = in_turn(tmp_path / "overlapping", "overlapping", "ab", "ac")
    assert asked(overlapping[1], overlapping[0])["pairwise"].verdict is Verdict.FAIL


def test_a_revision_is_compared_with_what_it_replaces_in_an_independent_population_too(
    tmp_path: Path,
) -> None:
    *earlier, now = in_turn(tmp_path, "independent", "ab", "xy", "ac")
    apart = periods_apart(["2026Q1", "2026Q2"], "2026Q1", "quarterly")
    for result in asked(now, *earlier, apart=apart).values():
        assert result.verdict is Verdict.FAIL
        assert "from 1 earlier release (" in result.detail
        assert "1 release of other periods (1 class, 2 records)" in result.detail
        assert result.witness["illness"]["failing_classes"] == 1
    of_no_calendar = periods_apart(["spring", "summer"], "summer", "given")
    (found,) = {each.verdict for each in asked(now, *earlier, apart=of_no_calendar).values()}
    assert found is Verdict.UNKNOWN  # beside x, y alone, of the same name


def test_repair_leaves_out_the_releases_that_the_gate_leaves_out(tmp_path: Path) -> None:
    for population, merged in (("independent", False), ("overlapping", True)):
        policy = small_policy(AGE, ILLNESS, population=population)
        rows = [(30, "a"), (30, "c"), (31, "a"), (31, "b")]
        then = release(tmp_path / population, policy, [(30, "a"), (30, "b")])
        table = prepared(policy, rows)

        class Earlier:
            release_id, period = "r1", "2025"

        history: Any = [(Earlier, then.classes)]
        groups, where = Partition(np.array([0, 0, 1, 1])), Representation(np.zeros((4, 1)))
        found = repaired(table, where, groups, bound_method(policy), policy, history, "2026", no_progress)
        assert (len(set(found.labels.tolist())) == 1) is merged


# Levels, kinds and domains


def by_city(folder: Path, hierarchy: dict[str, Any], *rows: tuple[str, str]) -> Published:
    policy = small_policy({"city": {"type": "categorical", "hierarchy": hierarchy}}, ILLNESS)
    return release(folder, policy, rows)


def test_a_node_of_the_hierarchy_covers_its_leaves(tmp_path: Path) -> None:
    # The first release knew regions only; who is in the North is in Leeds or York.
    regions = by_city(tmp_path / "r", {"all": ["North", "South"]}, ("North", "a"), ("North", "b"))
    cities = by_city(tmp_path / "c", CITIES, ("Leeds", "a"), ("Leeds", "c"))
    (cells,) = by_leaves(regions.classes, cities.policy).sets.values()
    assert set(cells.values) == {"Leeds", "York"}
    assert cells.member.all()
    found = asked(cities, regions)
    assert found["pairwise"].verdict is found["whole_history"].verdict is Verdict.FAIL
    both = release(
        tmp_path / "two",
        cities.policy,
        [("Hove", "a"), ("Hove", "c"), ("Leeds", "a"), ("Leeds", "b")],
        [0, 0, 1, 1],
    )
    found = asked(both, regions)
    assert found["pairwise"].witness["coverage"]["pairs"] == {"illness": 1}
    assert found["pairwise"].value == 0


@pytest.mark.parametrize(
    ("hierarchy", "value", "covers", "is_whole"),
    [
        (CITIES, "North", {"Leeds", "York"}, False),
        (CITIES, "*", {"Leeds", "York", "Hove", "Poole"}, True),
        (CITIES, "York", {"York"}, False),
        (CITIES, "missing", {"missing"}, False),
        ({"York": ["York", "Selby"], "South": ["Hove"]}, "York", {"York"}, False),  # the leaf
    ],
)
def test_a_label_is_read_as_the_leaves_it_covers(
    hierarchy: dict[str, Any], value: str, covers: set[str], is_whole: bool
) -> None:
    policy = small_policy({"city": {"type": "categorical", "hierarchy": hierarchy}}, ILLNESS)
    cells = SetCells((value, "Hove"), np.eye(2, dtype=bool), np.zeros(2, dtype=bool))
    two = np.array([1, 1])
    given = EquivalenceClasses(two, {}, {"city": cells}, {"illness": ("a",)}, {"illness": two[:, None]})
    read = by_leaves(given, policy).sets["city"]
    found = [{v for v, inside in zip(read.values, row, strict=True) if inside} for row in read.member]
    assert found == [covers, {"Hove"}]
    assert read.whole.tolist() == [is_whole, False]


def test_a_label_of_an_unknown_level_is_unknown(tmp_path: Path) -> None:
    policy = small_policy({"city": {"type": "categorical"}}, ILLNESS)
    rows = [("Leeds", "a"), ("Leeds", "b"), ("Yorkshire", "a"), ("Yorkshire", "b")]
    counties = release(tmp_path / "r", policy, rows, [0, 0, 1, 1])
    cities = by_city(tmp_path / "c", CITIES, ("Leeds", "a"), ("York", "b"))
    for result in asked(cities, counties).values():
        assert result.verdict is Verdict.UNKNOWN
        assert "city has labels that are not in the hierarchy" in result.detail
        assert not GateReport((result,)).passed
    assert select_history([("r", counties.classes)], cities.policy).foreign == {"r": ("city",)}


def test_value_sets_overlap_by_their_values_and_a_star_by_all(tmp_path: Path) -> None:
    sets = by_city(tmp_path / "s", CITIES, ("Leeds", "a"), ("York", "b"))
    everywhere = by_city(
        tmp_path / "e",
        CITIES,
        *((city, "ab"[i % 2]) for i, city in enumerate(["Leeds", "York", "Hove", "Poole"])),
    )
    one_city = by_city(tmp_path / "o", CITIES, ("York", "a"), ("York", "c"))
    assert everywhere.classes.sets["city"].whole.all()
    for then in (sets, everywhere):
        assert asked(one_city, then)["pairwise"].verdict is Verdict.FAIL


@pytest.mark.parametrize("numeric_now", [True, False])
def test_numbers_in_one_release_and_categories_in_the_other_are_unknown(
    numeric_now: bool, tmp_path: Path
) -> None:
    numbers = small_policy(AGE, ILLNESS)
    texts = small_policy({"age": {"type": "categorical"}}, ILLNESS)
    one = release(tmp_path / "n", numbers, [(30, "a"), (30, "b")])
    other = release(tmp_path / "t", texts, [("30-39", "a"), ("30-39", "b")])
    now, then = (one, other) if numeric_now else (other, one)
    for result in asked(now, then).values():
        assert result.verdict is Verdict.UNKNOWN
        assert "age is numeric in one of the two and categorical in the other" in result.detail


def test_a_quasi_identifier_that_became_sensitive_is_unknown(tmp_path: Path) -> None:
    before = small_policy({**AGE, "job": {"type": "categorical"}}, ILLNESS)
    after = small_policy(AGE, {**ILLNESS, "job": {"stability": "stable"}})
    then = release(tmp_path / "b", before, [(30, "cook", "a"), (30, "cook", "b")])
    now = release(tmp_path / "a", after, [(30, "a", "cook"), (30, "b", "nurse")])
    for result in asked(now, then).values():
        assert result.verdict is Verdict.UNKNOWN
        assert "job was a quasi-identifier and is sensitive now" in result.detail


@pytest.mark.parametrize(
    ("texts", "verdict"), [(["10.0", "20.0"], Verdict.UNKNOWN), (["10", "20"], Verdict.PASS)]
)
def test_a_number_that_was_written_as_another_text_is_unknown(
    texts: list[str], verdict: Verdict, tmp_path: Path
) -> None:
    before = small_policy(AGE, {"wage": {"stability": "stable"}})
    after = small_policy(AGE, {"wage": {"stability": "stable", "type": "numeric"}})
    then = release(tmp_path / "b", before, [(30, texts[0]), (30, texts[1])])
    now = release(tmp_path / "a", after, [(30, 10.0), (30, 20.0)])
    for result in asked(now, then).values():
        assert result.verdict is verdict
        assert ("most values of wage are not numbers in it" in result.detail) is (verdict is Verdict.UNKNOWN)


def test_other_quasi_identifiers_are_compared_on_those_that_are_shared(tmp_path: Path) -> None:
    with_city = small_policy({**AGE, "city": {"type": "categorical"}}, ILLNESS)
    with_job = small_policy({**AGE, "job": {"type": "categorical"}}, ILLNESS)
    then = release(tmp_path / "c", with_city, [(30, "Leeds", "a"), (30, "Leeds", "b")])
    now = release(tmp_path / "j", with_job, [(30, "cook", "a"), (30, "cook", "c")])
    for result in asked(now, then).values():
        assert result.verdict is Verdict.FAIL


# What is told


def test_the_coverage_tells_classes_pairs_people_and_releases(tmp_path: Path) -> None:
    both = {**ILLNESS, "mood": {"stability": "transient"}}
    without = release(tmp_path / "1", small_policy(AGE, ILLNESS), [(30, "a"), (30, "b")])
    policy = small_policy(AGE, both, gates={"transient": "ignore"})
    then = release(
        tmp_path / "2", policy, [(30, "a", "x"), (30, "b", "x"), (40, "a", "x"), (40, "b", "y")], [0, 0, 1, 1]
    )
    now = release(tmp_path / "3", policy, [(30, "a", "x"), (30, "b", "y"), (30, "a", "x")])
    found = asked(now, without, then)
    ignored = {"what": "mood", "why": "transient, which the policy ignores"}
    why = "the population is overlapping, not cumulative"
    common = {"releases": 2, "classes": 1, "records": 3, "earlier_classes": 3, "earlier_records": 6}
    assert found["pairwise"].witness == {
        "coverage": {
            **common,
            "pairs": {"illness": 2},
            "not_run": [
                ignored,
                {"what": "difference", "why": why},
                {"what": "size", "why": why},
                {"what": "person", "why": "the policy has no key"},
                {"what": "person_difference", "why": "the policy has no key"},
            ],
        }
    }
    assert found["whole_history"].witness == {
        "coverage": {
            **common,
            "combinations": {"illness": 1},
            "not_run": [ignored],
            "people": 3,
            "distinct_people": 1,
        }
    }
    compared = small_policy(AGE, both)
    said = asked(replace(now, policy=compared), without, then)["pairwise"].witness["coverage"]
    assert said["not_run"][0] == {"what": "mood beside release-1", "why": "not published in it"}
    assert said["pairs"] == {"illness": 2, "mood": 1}


def test_an_attribute_called_coverage_hides_nothing(tmp_path: Path) -> None:
    policy = small_policy(AGE, {"coverage": {"stability": "stable"}})
    then = release(tmp_path / "1", policy, [(30, "a"), (30, "b")])
    now = release(tmp_path / "2", policy, [(30, "a"), (30, "c")])
    witness = asked(now, then)["pairwise"].witness
    assert (witness["coverage"]["failing_classes"], witness["coverage_"]["classes"]) == (1, 1)


def test_the_verdict_says_what_it_takes_for_given(tmp_path: Path) -> None:
    policy = small_policy(AGE, {**ILLNESS, "mood": {"stability": "transient"}})
    then = release(tmp_path / "1", policy, [(30, "a", "x"), (30, "b", "y")])
    now = release(tmp_path / "2", policy, [(30, "a", "z"), (30, "b", "w"), (30, "a", "x"), (30, "b", "y")])
    result = asked(now, then)["pairwise"]
    assert result.verdict is Verdict.PASS
    assert "illness never changes, as the policy says" in result.detail
    assert "assumes that mood did not change between releases that share values" in result.detail


def test_no_value_of_a_transient_attribute_in_common_is_no_contradiction(tmp_path: Path) -> None:
    policy = small_policy(AGE, {**ILLNESS, "mood": {"stability": "transient"}}, population="cumulative")
    then = release(
        tmp_path / "1", policy, [(30, "a", "x"), (30, "b", "y"), (40, "a", "u"), (40, "b", "v")], [0, 0, 1, 1]
    )
    now = release(
        tmp_path / "2", policy, [(30, "a", "u"), (30, "b", "v"), (40, "a", "x"), (40, "b", "y")], [0, 0, 1, 1]
    )
    for name, result in asked(now, then).items():
        assert result.verdict is Verdict.PASS, name


# Odd tables


def judged_all(now: Published, *earlier: Published) -> dict[str, GateResult]:
    return {result.gate: result for result in assess(now.evidence(*earlier)).results}


@pytest.mark.parametrize("population", ["overlapping", "cumulative"])
def test_an_empty_release_does_not_pass_beside_a_history(population: str, tmp_path: Path) -> None:
    policy = small_policy(AGE, ILLNESS, population=population)
    then = release(tmp_path / "1", policy, [(30, "a"), (30, "b")])
    empty = release(tmp_path / "2", policy, [(30, "a"), (30, "b")], [-1, -1])
    assert empty.classes.n_classes == 0
    found = judged_all(empty, then)
    assert {found[name].verdict for name in ("k", "e", "suppression")} == {Verdict.FAIL}
    assert {found[name].verdict for name in COMPARISON if name in found} == {Verdict.UNKNOWN}
    # And what comes after one: it holds nobody, so that nothing can be told beside it.
    later = judged_all(then, empty)
    assert later["pairwise"].verdict is Verdict.UNKNOWN


def test_a_class_of_one_fails(tmp_path: Path) -> None:
    policy = small_policy(AGE, ILLNESS)
    then = release(tmp_path / "1", policy, [(30, "a"), (30, "b")])
    now = release(tmp_path / "2", policy, [(30, "a"), (30, "b"), (40, "a")], [0, 0, 1])
    found = judged_all(now, then)
    assert (found["k"].verdict, found["k"].value) == (Verdict.FAIL, 1)
    alone = judged_all(release(tmp_path / "3", policy, [(30, "a")]), then)
    assert alone["pairwise"].verdict is alone["whole_history"].verdict is Verdict.FAIL


def test_a_sensitive_column_that_is_all_missing_is_one_value(tmp_path: Path) -> None:
    policy = small_policy(AGE, ILLNESS, privacy={"e": 2})
    missing = release(tmp_path / "1", policy, [(30, None), (30, None), (30, None)])
    known = release(tmp_path / "2", policy, [(30, "a"), (30, "b")])
    assert missing.classes.sensitive_values["illness"] == ("missing",)
    found = judged_all(missing, known)
    assert found["e"].verdict is Verdict.FAIL
    assert found["pairwise"].verdict is Verdict.UNKNOWN
    assert judged_all(missing, missing)["pairwise"].verdict is Verdict.FAIL
    assert judged_all(known, missing)["pairwise"].verdict is Verdict.UNKNOWN


def test_values_that_the_source_does_not_have_are_compared_as_they_stand(tmp_path: Path) -> None:
    policy = small_policy({"city": {"type": "categorical"}}, ILLNESS)
    rows = [("Leeds", "a"), ("Hull", "b"), ("York", "a"), ("York", "b")]
    then = release(tmp_path / "1", policy, rows, [0, 0, 1, 1])
    now = release(tmp_path / "2", policy, [("Leeds", "a"), ("Leeds", "c")])
    assert asked(now, then)["pairwise"].verdict is Verdict.FAIL  # Hull is in no row of the source
    elsewhere = release(tmp_path / "3", policy, [("Hove", "a"), ("Hove", "c")])
    assert asked(elsewhere, then)["pairwise"].verdict is Verdict.UNKNOWN


def test_a_release_with_other_columns_is_no_candidate(tmp_path: Path) -> None:
    from policy.errors import VerificationFailed

    made = release(tmp_path / "1", small_policy(AGE, ILLNESS), [(30, "a"), (30, "b")])
    other = small_policy({**AGE, "city": {"type": "categorical"}}, ILLNESS)
    with pytest.raises(VerificationFailed, match="columns are not the published columns"):
        read_classes(made.candidate.folder / "data.parquet", other)


def test_bounds_that_are_no_numbers_never_pass(tmp_path: Path) -> None:
    policy = small_policy(AGE, ILLNESS, population="cumulative")
    then = release(tmp_path / "1", policy, [(30, "a"), (30, "b")])
    now = release(tmp_path / "2", policy, [(30, "a"), (30, "b")])
    broken = then.classes.intervals["age"] * np.nan
    history: list[tuple[str, EquivalenceClasses]] = [("r1", replace(then.classes, intervals={"age": broken}))]
    found = assess(replace(now.evidence(), earlier=history)).results
    assert {each.verdict for each in found if each.gate in COMPARISON} <= {
        Verdict.FAIL,
        Verdict.UNKNOWN,
        Verdict.ERROR,
    }
