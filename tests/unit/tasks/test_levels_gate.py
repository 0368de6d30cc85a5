"""The gate on decided levels: what is published above them, of methods that know nothing of levels too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from release_store.records import Verdict
from tasks.risk.gates.levels import published_level
from tasks.risk.registry import GATES, assess
from tests.support.small import Published, prepared, published, small_policy

QIS: dict[str, Any] = {
    "age": {"type": "integer", "bounds": [0, 99], "widths": [10, 50]},
    "city": {"type": "categorical", "hierarchy": {"north": ["Hull", "York"], "south": ["Bath", "Bude"]}},
}
ROWS = [(11, "Hull", "flu"), (14, "Hull", "hiv"), (61, "Bath", "flu"), (61, "Bude", "hiv")]


def made(folder: Path, labels: list[int], levels: dict[str, int], **method: Any) -> Published:
    asked = {"name": "mondrian", "recoding": "full-domain", "history": "blind", "levels": levels, **method}
    policy = small_policy(QIS, method=asked)
    return published(policy, prepared(policy, ROWS), labels, folder / "staged")


def asked(one: Published) -> Any:
    (result,) = assess(one.evidence(), {"levels": GATES["levels"]}).results
    return result


@pytest.mark.parametrize(
    ("labels", "age", "city"),
    [([0, 0, 1, 1], 1, 1), ([0, 0, 0, 0], 3, 2), ([0, 0, -1, -1], 1, 0), ([-1, -1, 0, 1], 0, 0)],
)
def test_the_level_is_that_of_the_published_cells(
    tmp_path: Path, labels: list[int], age: int, city: int
) -> None:
    one = made(tmp_path, labels, {"age": 0})
    assert published_level(one.classes, "age", one.policy) == age
    assert published_level(one.classes, "city", one.policy) == city


def test_a_column_above_its_level_is_named(tmp_path: Path) -> None:
    result = asked(made(tmp_path, [0, 0, 1, 1], {"age": 0, "city": 1}))
    assert (result.verdict, result.value, result.threshold) == (Verdict.FAIL, 1, 0)
    assert "'age' at 1 (decided: 0)" in result.detail
    assert "city" not in result.detail
    assert result.witness == {"published": {"age": 1}}


@pytest.mark.parametrize("levels", [{"age": 1, "city": 1}, {"age": 2}, {"city": 2}])
def test_a_column_at_its_level_passes(tmp_path: Path, levels: dict[str, int]) -> None:
    assert asked(made(tmp_path, [0, 0, 1, 1], levels)).verdict is Verdict.PASS


def test_rounded_ends_are_of_the_level_of_their_grid(tmp_path: Path) -> None:
    assert asked(made(tmp_path, [0, 0, -1, -1], {"age": 0}, ends="rounded")).verdict is Verdict.PASS
    assert asked(made(tmp_path / "2", [0, 0, 0, 0], {"age": 0}, ends="rounded")).verdict is Verdict.FAIL


def test_a_release_without_a_class_does_not_pass(tmp_path: Path) -> None:
    assert asked(made(tmp_path, [-1, -1, -1, -1], {"age": 3})).verdict is Verdict.FAIL


def test_only_a_policy_that_decides_levels_asks() -> None:
    assert not GATES["levels"].asked_by(small_policy(QIS))


@pytest.mark.parametrize(
    ("bounds", "widths", "numbers"),
    [
        ([0, 1], [], [0.01, 0.049, 0.851, 0.86, 0.31, 0.349]),
        ([0.3, 7.7], [0.05, 0.1], [0.31, 0.32, 1.16, 1.17, 5.56, 5.57]),
    ],
)
@pytest.mark.parametrize("ends", ["attained", "rounded"])
def test_numbers_that_are_no_integers_are_at_the_level_of_their_nodes(
    tmp_path: Path, bounds: list[float], widths: list[float], numbers: list[float], ends: str
) -> None:
    qis = {"rate": {"type": "numeric", "bounds": bounds, "widths": widths}}
    method = {
        "name": "mondrian",
        "recoding": "full-domain",
        "history": "blind",
        "ends": ends,
        "levels": {"rate": 1},
    }
    policy = small_policy(qis, method=method)
    rows = [(number, ("flu", "hiv")[n % 2]) for n, number in enumerate(numbers)]
    one = published(policy, prepared(policy, rows), [0, 0, 1, 1, 2, 2], tmp_path / "staged")
    assert published_level(one.classes, "rate", policy) == 1
    assert asked(one).verdict is Verdict.PASS
    raised = published(policy, prepared(policy, rows), [0, 1, 0, 1, 2, 2], tmp_path / "raised")
    assert published_level(raised.classes, "rate", policy) > 1
    assert asked(raised).verdict is Verdict.FAIL


def test_a_class_without_a_known_number_is_at_every_level(tmp_path: Path) -> None:
    rows = [*ROWS, (None, "Hull", "flu"), (None, "Hull", "hiv")]
    method = {"name": "mondrian", "recoding": "full-domain", "history": "blind", "levels": {"age": 1}}
    policy = small_policy(QIS, method=method)
    one = published(policy, prepared(policy, rows), [0, 0, 1, 1, 2, 2], tmp_path / "staged")
    assert asked(one).verdict is Verdict.PASS
    mixed = published(policy, prepared(policy, rows), [0, 0, 1, 2, 1, 2], tmp_path / "mixed")
    assert asked(mixed).verdict is Verdict.FAIL  # a number beside a missing one: the whole column is raised


def test_a_grid_that_is_no_level_allows_every_level(tmp_path: Path) -> None:
    qis = {"age": {"type": "integer", "bounds": [0, 99], "widths": [1]}}
    method = {"name": "mondrian", "recoding": "full-domain", "ends": "rounded", "levels": {"age": 0}}
    policy = small_policy(qis, method=method)
    rows = [(age, ill) for age, _, ill in ROWS]
    one = published(policy, prepared(policy, rows), [0, 0, 1, 1], tmp_path / "staged")
    assert asked(one).verdict is Verdict.PASS
