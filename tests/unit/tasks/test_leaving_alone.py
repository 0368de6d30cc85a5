"""A table released again without one person, or with one more, where nobody is followed."""

from __future__ import annotations

import csv
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, Release, ReleaseState, Verdict
from services.pipeline import make_rows
from tasks.methods.registry import bound_method, methods
from tasks.risk.evidence import Evidence
from tasks.risk.published import read_classes
from tasks.risk.registry import GATES, assess
from tasks.staging.stage import stage
from tests.support.small import small_policy, source_of

PEOPLE, K = 150, 5
ILLNESSES = ("flu", "cough", "asthma", "diabetes", "cancer")


def people(n: int, seed: int = 1) -> list[tuple[float, str, str]]:
    rng = np.random.default_rng(seed)
    ages, cities = rng.integers(0, 100, n).tolist(), rng.choice(["Hull", "York", "Bath"], n).tolist()
    illnesses = rng.choice(ILLNESSES, n, p=[0.4, 0.3, 0.15, 0.1, 0.05]).tolist()
    return list(zip(map(float, ages), cities, illnesses, strict=True))


class Store:
    """Releases of a series, one after the other."""

    def __init__(self, policy: ReleasePolicy, folder: Path) -> None:
        self.policy, self.folder = policy, folder
        self.classes: list[tuple[str, EquivalenceClasses]] = []
        self.values: list[Counter[str]] = []

    def release(self, rows: list[tuple[float, str, str]], *, same_period: bool) -> Verdict:
        number = len(self.classes) + 1
        period = "2026" if same_period else f"{2025 + number}"
        name, made = f"r{number}", datetime(2026, 1, 1, tzinfo=UTC)
        history = [
            (Release(n, "small", "2026", 1, n, ReleaseState.PUBLISHED, made, {}, {}), found)
            for n, found in self.classes
        ]
        source = source_of(self.policy, rows)
        all_made = make_rows(source, self.policy, bound_method(self.policy), history, period)
        done, table = all_made.rows, all_made.table
        folder = self.folder / name
        staged = stage(done, self.policy, candidate_id=name, period=period, folder=folder, n_source=len(rows))
        classes = read_classes(folder / "data.parquet", self.policy)
        apart = [(0, 0) if same_period else (number - i - 1, number - i - 1) for i in range(len(history))]
        evidence = Evidence(self.policy, table, classes, folder, staged.files, self.classes, apart)
        (result,) = assess(evidence, {"totals": GATES["totals"]}).results
        self.classes.append((name, classes))
        with (folder / "data.csv").open(newline="") as file:
            self.values.append(Counter(row["illness"] for row in csv.DictReader(file)))
        return result.verdict


def series_policy(method: str, history: str, recoding: str = "sets") -> ReleasePolicy:
    return small_policy(
        privacy={"k": K, "e": 2, "l": 2},
        method={"name": method, "history": history, "recoding": recoding},
        gates={"suppression": {"max": 0.2}},
    )


def read(one: Counter[str], other: Counter[str]) -> bool:
    """Tell whether subtracting one file's values from another's shows those of who is in one alone."""
    left, came = one - other, other - one
    return any(
        len(side) == 1 and (not beside or side.total() < K) for side, beside in ((left, came), (came, left))
    )


@pytest.mark.integration
@pytest.mark.enemy("reader", "learns a value")
@pytest.mark.parametrize("same_period", [True, False], ids=["revised", "followed"])
@pytest.mark.parametrize(
    ("method", "recoding"),
    sorted({(name, kind) for name, one in methods().items() for kind in ("sets", one.recoding)}),
)
@pytest.mark.by_day(12)
def test_nobody_has_her_value_read_by_subtraction(
    method: str, recoding: str, same_period: bool, tmp_path: Path
) -> None:
    everybody = people(PEOPLE)
    store = Store(series_policy(method, "repair", recoding), tmp_path)
    store.release(everybody, same_period=same_period)
    for rows in (everybody[1:], [*everybody[1:], (50.0, "Hull", "cancer")]):
        assert store.release(rows, same_period=same_period) is Verdict.PASS
        assert not any(read(earlier, store.values[-1]) for earlier in store.values[:-1])


@pytest.mark.enemy("reader", "learns a value")
def test_a_blind_release_without_one_person_is_held_back(tmp_path: Path) -> None:
    everybody = people(PEOPLE)
    store = Store(series_policy("mondrian", "blind"), tmp_path)
    store.release(everybody, same_period=True)
    assert store.release(everybody, same_period=True) is Verdict.PASS
    assert store.release(everybody[1:], same_period=True) is Verdict.FAIL
