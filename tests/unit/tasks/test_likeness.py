"""What makes two releases incomparable: changed names, labels, units and roles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from release_store.records import Verdict
from tasks.history.likeness import unlike
from tasks.risk.gates.history import pairwise_gate
from tests.support.small import Published, prepared, published, small_policy

QIS = {
    "age": {"type": "integer", "bounds": [0, 1300]},
    "sex": {"type": "categorical"},
}
ILL = {"illness": {"stability": "stable"}}


def release(
    folder: Path, ages: list[Any], sexes: list[str], values: list[str], sensitive: dict[str, Any] = ILL
) -> Published:
    policy = small_policy(QIS, sensitive)
    rows = list(zip(ages, sexes, values, strict=True))
    return published(policy, prepared(policy, rows), [0] * len(rows), folder)


def before(tmp_path: Path) -> Published:
    return release(tmp_path / "before", [40, 40], ["f", "f"], ["flu", "hiv"])


@pytest.mark.parametrize(
    ("ages", "sexes", "values", "why"),
    [
        ([40, 40], ["f", "f"], ["FLU", "HIV"], "most values of illness are not in it"),
        ([40, 40], ["female", "female"], ["flu", "hiv"], "most values of sex are not in it"),
        ([480, 480], ["f", "f"], ["flu", "hiv"], "most of age lies outside its range"),
    ],
)
def test_changed_labels_and_units_make_the_comparison_unknown(
    tmp_path: Path, ages: list[Any], sexes: list[str], values: list[str], why: str
) -> None:
    now = release(tmp_path / "now", ages, sexes, values)
    result = pairwise_gate(now.evidence(before(tmp_path)))
    assert result.verdict is Verdict.UNKNOWN
    assert why in result.detail


@pytest.mark.parametrize(("factor", "unit"), [(100, "another"), (0.01, "another"), (1, "the same")])
def test_another_unit_of_a_sensitive_number_makes_the_comparison_unknown(
    tmp_path: Path, factor: float, unit: str
) -> None:
    policy = small_policy(QIS, {"wage": {"stability": "transient", "type": "numeric"}})
    then, now = (
        published(
            policy, prepared(policy, [(40, "f", wage * by) for wage in (100, 200, 300, 250)]), [0] * 4, folder
        )
        for folder, by in ((tmp_path / "then", 1), (tmp_path / "now", factor))
    )
    result = pairwise_gate(now.evidence(then))
    told = "most of wage lies outside the range of the other release" in result.detail
    assert (told, result.verdict) == ((True, Verdict.UNKNOWN) if unit == "another" else (False, Verdict.PASS))


def test_one_attribute_that_goes_while_another_comes_may_be_renamed(tmp_path: Path) -> None:
    now = release(
        tmp_path / "now", [40, 40], ["f", "f"], ["flu", "hiv"], {"disease": {"stability": "stable"}}
    )
    result = pairwise_gate(now.evidence(before(tmp_path)))
    assert result.verdict is Verdict.UNKNOWN
    assert "disease may be the renamed illness" in result.detail


def test_a_sensitive_attribute_that_is_published_in_another_role_is_told(tmp_path: Path) -> None:
    earlier = before(tmp_path).classes
    other = {"other": {"stability": "stable"}}
    now = release(tmp_path / "now", [40, 40], ["f", "f"], ["x", "y"], other)
    policy = small_policy({**QIS, "illness": {"type": "categorical"}}, other)
    said = unlike(now.classes, earlier, policy)
    assert "illness was sensitive and now has another role" in said


def test_a_candidate_like_the_earlier_release_is_compared(tmp_path: Path) -> None:
    now = release(tmp_path / "now", [40, 41], ["f", "f"], ["flu", "hiv"])
    result = pairwise_gate(now.evidence(before(tmp_path)))
    assert result.verdict is Verdict.PASS
    assert "cannot tell" not in result.detail


def test_releases_without_one_compatible_pair_are_unknown(tmp_path: Path) -> None:
    # Ages 40 to 50 in both, but everybody of 40 is f there and m here.
    policy = small_policy(QIS, ILL)
    then = [(40, "f", "flu"), (40, "f", "hiv"), (50, "m", "flu"), (50, "m", "hiv")]
    now = [(50, "f", "flu"), (50, "f", "hiv"), (40, "m", "flu"), (40, "m", "hiv")]
    found = [
        published(policy, prepared(policy, rows), [0, 0, 1, 1], tmp_path / name)
        for name, rows in (("then", then), ("now", now))
    ]
    result = pairwise_gate(found[1].evidence(found[0]))
    assert result.verdict is Verdict.UNKNOWN
    assert "none of its classes is compatible" in result.detail
