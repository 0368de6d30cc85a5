"""The pictures of a series, from releases written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from reports.series_pictures import (
    AssessedRelease,
    headroom,
    risk_utility,
    series_pictures,
    short_name,
    trends,
)


def gate(name: str, value: float | None, threshold: float | None, relation: str = "<=") -> dict[str, Any]:
    return {"gate": name, "verdict": "pass", "value": value, "threshold": threshold, "relation": relation}


def curve(basis: str, counts: list[list[int]], attribute: str = "disease", least: int = 2) -> dict[str, Any]:
    return {"attribute": attribute, "basis": basis, "least": least, "unit": "people", "counts": counts}


FIRST = AssessedRelease(
    "2024-r1",
    [gate("umr", 0.5, 0.6), gate("ncp", 0.1, 0.35), gate("k", 8, 8, ">=")],
    {"narrowing": [curve("alone", [[3, 40], [5, 60]])]},
)
SECOND = AssessedRelease(
    "2025-r1",
    [gate("umr", 0.25, 0.4), gate("ncp", 0.2, None), gate("k", 9, 8, ">=")],
    {"narrowing": [curve("alone", [[9, 100]]), curve("people", [[1, 1], [2, 9], [3, 40], [7, 50]])]},
)
NO_FIGURES = AssessedRelease("2023-r1", [gate("umr", None, 0.6), gate("ncp", 0.3, 0.35)])


def test_a_trend_is_each_gate_that_measured_anything_with_the_limit_of_its_time() -> None:
    made = {one.name: one for one in trends([FIRST, SECOND])}
    assert list(made) == ["trend-umr", "trend-ncp", "trend-k"]
    assert made["trend-umr"].rows == [
        {"place": 1, "release": "2024-r1", "value": 0.5, "limit": 0.6},
        {"place": 2, "release": "2025-r1", "value": 0.25, "limit": 0.4},
    ]
    assert (
        made["trend-umr"].words == "25% in 2025-r1 (must be at most 40%). "
        "Between 25% and 50% over 2 releases."
    )
    assert made["trend-k"].words == "9 in 2025-r1 (must be at least 8). Between 8 and 9 over 2 releases."
    assert "no limit" in made["trend-ncp"].words


def test_a_release_that_did_not_measure_it_stays_in_its_place_and_is_told() -> None:
    (umr, *_) = trends([NO_FIGURES, FIRST])
    assert umr.rows[0] == {"place": 1, "release": "2023-r1", "value": None, "limit": 0.6}
    assert umr.words == "50% in 2024-r1 (must be at most 60%). 1 release was not measured."


def test_a_trend_without_any_limit_draws_none() -> None:
    (limited,) = trends([AssessedRelease("a", [gate("ncp", 0.1, 0.3)])])
    (free,) = trends([AssessedRelease("a", [gate("ncp", 0.1, None)])])
    assert "layer" in limited.spec
    assert "layer" not in free.spec


def test_headroom_is_of_who_knows_most_and_counts_people_above_l() -> None:
    (made,) = headroom([FIRST, SECOND])
    counts = {(row["release"], row["above"]): row["people"] for row in made.rows}
    assert counts == {
        ("2024-r1", "fewer than l"): 0,
        ("2024-r1", "0"): 0,
        ("2024-r1", "1"): 40,
        ("2024-r1", "3 or more"): 60,
        ("2025-r1", "fewer than l"): 1,
        ("2025-r1", "0"): 9,
        ("2025-r1", "1"): 40,
        ("2025-r1", "3 or more"): 50,
    }
    for release in ("2024-r1", "2025-r1"):
        assert sum(row["share"] for row in made.rows if row["release"] == release) == pytest.approx(1)
    assert "9 of 100 people (9%) have exactly l = 2 values left" in made.words
    assert made.words.endswith(" 1 person has fewer.")


def test_headroom_by_worlds_goes_before_all_others_and_says_what_it_counts() -> None:
    curves = [*SECOND.figures["narrowing"], curve("worlds", [[1, 0], [2, 30], [5, 70]])]
    (made,) = headroom([FIRST, AssessedRelease("2025-r1", [], {"narrowing": curves})])
    assert {row["above"]: row["people"] for row in made.rows if row["release"] == "2025-r1"} == {
        "fewer than l": 0, "0": 30, "1": 0, "3 or more": 70,
    }  # fmt: skip
    assert made.words.startswith("After 2025-r1, 30 of 100 people (30%) have exactly l = 2 values left")
    assert "(counted from all classes of all releases, solved at once)" in made.words
    assert made.words.endswith("Counts include only values proven possible, so they are lower bounds.")
    assert "lower bounds" not in headroom([FIRST, SECOND])[0].words


def test_headroom_says_where_there_is_room_and_of_whom_nothing_is_kept() -> None:
    (made,) = headroom([NO_FIGURES, FIRST])
    assert "all of 100 people have more than l = 2 values left" in made.words
    assert made.words.endswith("1 release has no stored figures.")
    assert headroom([NO_FIGURES]) == []


def test_headroom_is_one_picture_an_attribute() -> None:
    both = {"narrowing": [curve("alone", [[2, 5]]), curve("cells", [[4, 5]], "remark")]}
    assert [one.name for one in headroom([AssessedRelease("a", [], both)])] == ["headroom-0", "headroom-1"]


def test_risk_is_the_first_of_umr_err_and_sadr_that_was_measured() -> None:
    (made,) = risk_utility([NO_FIGURES, FIRST, SECOND])
    assert [(row["name"], row["cost"], row["risk"]) for row in made.rows] == [
        ("2024-r1", 0.1, 0.5),
        ("2025-r1", 0.2, 0.25),
    ]
    assert "(UMR)" in str(made.spec)
    assert "1 release is left out: risk or NCP was not measured." in made.words
    (by_sadr,) = risk_utility([AssessedRelease("a", [gate("sadr", 0.7, 0.8), gate("ncp", 0.1, 0.3)])])
    assert "(SADR)" in str(by_sadr.spec)
    assert risk_utility([AssessedRelease("a", [gate("umr", 0.7, 0.8)])]) == []


def test_names_stand_beside_few_points_only() -> None:
    (few,) = risk_utility([FIRST] * 24)
    (many,) = risk_utility([FIRST] * 25)
    assert {row["label"] for row in few.rows} == {"2024-r1"}
    assert {row["label"] for row in many.rows} == {""}


def test_a_series_without_releases_has_no_pictures() -> None:
    assert series_pictures([]).all() == []


def test_a_name_within_its_series() -> None:
    assert short_name("clinic-2024-r1", "clinic") == "2024-r1"
    assert short_name("clinic2-2024-r1", "clinic") == "clinic2-2024-r1"
