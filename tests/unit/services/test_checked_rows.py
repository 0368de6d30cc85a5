"""`check` tells rows that contradict `population`, as the gate does once they are published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from release_store.store import ReleaseStore
from services.checking.check import check
from services.release import release

TOWNS = [f"town {i}" for i in range(16)]
SIZES = np.arange(16) + 20


def table(sizes: np.ndarray[Any, Any]) -> pd.DataFrame:
    """So many rows of each town, with an age and an illness, and a number of each."""
    towns = np.repeat(TOWNS, sizes)
    n = np.arange(len(towns))
    return pd.DataFrame({"id": n, "town": towns, "age": 30, "illness": np.take(["flu", "gout"], n % 2)})


def policy_file(folder: Path, key: str | None = None, **sections: Any) -> Path:
    roles = {
        "quasi_identifiers": {
            "town": {"type": "categorical", "values": TOWNS},
            "age": {"type": "integer", "bounds": [0, 99]},
        },
        "sensitive": {"illness": {"stability": "transient"}},
        **({"dropped": ["id"]} if key is None else {"key": key}),
    }
    document = {
        "series": "towns",
        "roles": roles,
        "privacy": {"k": 5, "e": 2, "p_max": 0.99},
        "method": {"name": "mondrian", "history": "blind"},
        "gates": {
            "worlds": {"unfollowed": "accept"},
            "err": {"max": 1},
            "ncp": {"max": 1},
            "suppression": {"max": 1},
        },
        **sections,
    }
    path = folder / "towns.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def warned(folder: Path, now: pd.DataFrame, period: str = "2", **policy: Any) -> list[str]:
    """Publish the first table as period 1, and return what a check says of the next one under a policy."""
    store, first = folder / "store", folder / "1.csv"
    if not store.exists():
        table(SIZES).to_csv(first, index=False)
        ReleaseStore.create(store)
        made = release(policy_file(folder, policy.get("key")), store=store, period="1", input_path=first)
        assert made.state == "published"
    now.to_csv(folder / "2.csv", index=False)
    found = check(policy_file(folder, **policy), store=store, period=period, input_path=folder / "2.csv")
    about = ("population", "the people of the last release")
    return [one.message for one in found.findings if any(word in one.field + one.message for word in about)]


@pytest.mark.parametrize("population", ["overlapping", "independent"])
def test_rows_that_only_grow_are_told_as_the_gate_tells_them(tmp_path: Path, population: str) -> None:
    grown = table(SIZES + np.arange(16) % 4)
    (said,) = warned(tmp_path, grown, population=population)
    assert said.startswith("beside towns-1-r1, 12 of 16 equal cells grew by under 5 records")
    assert "set `population: cumulative`" in said
    made = release(
        tmp_path / "towns.yaml", store=tmp_path / "store", period="2", input_path=tmp_path / "2.csv"
    )
    (pairwise,) = [one for one in made.gates if one.gate == "pairwise"]
    assert said.split("beside towns-1-r1, ")[1] in pairwise.detail
    assert warned(tmp_path, grown, population="cumulative") == []
    assert warned(tmp_path, grown, period="1", population=population) == []  # the same period's table


def test_rows_of_other_people_and_the_same_table_are_not_told(tmp_path: Path) -> None:
    assert warned(tmp_path, table(np.random.default_rng(3).poisson(SIZES))) == []
    assert warned(tmp_path, table(SIZES)) == []


def test_fewer_rows_than_the_last_release_are_not_cumulative(tmp_path: Path) -> None:
    (said,) = warned(tmp_path, table(SIZES - 1), population="cumulative")
    assert said == f"{SIZES.sum() - 16} rows are fewer than the {SIZES.sum()} of towns-1-r1: not cumulative"


@pytest.mark.parametrize(("population", "is_told"), [("independent", True), ("overlapping", False)])
def test_people_who_come_again_contradict_independent(
    tmp_path: Path, population: str, *, is_told: bool
) -> None:
    said = warned(tmp_path, table(SIZES), key="id", population=population)
    assert (
        said
        == ["100% of the people of the last release are in it, and `population` is independent"] * is_told
    )


def test_other_people_are_what_independent_says(tmp_path: Path) -> None:
    others = table(SIZES).assign(id=lambda rows: rows.id + 10_000)
    assert warned(tmp_path, others, key="id", population="independent") == []


@pytest.mark.parametrize(("staying", "is_told"), [(0.95, False), (0.7, True)])
def test_fewer_of_the_first_people_in_the_second_table_are_told(
    tmp_path: Path, staying: float, *, is_told: bool
) -> None:
    rows = table(SIZES)
    others = rows.assign(id=rows.id + np.where(np.arange(len(rows)) < staying * len(rows), 0, 10_000))
    said = warned(tmp_path, others, key="id")
    assert (
        said == ["only 70% of the people of the last release are in it: the others count as gone"] * is_told
    )
