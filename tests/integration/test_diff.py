"""`releasegate diff`: two releases side by side."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from tests.support import plain_run
from tests.support.front_desk import Desk

Capture = pytest.CaptureFixture[str]
FIRST, SECOND, BLOCKED = "clinic-2026Q1-r1", "clinic-2026Q2-r1", "clinic-2026Q3-c1"
CELLS = ["age_min", "age_max", "income_min", "income_max", "city"]


@pytest.fixture(scope="module")
def series_folder(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store has two releases of other policies, one blocked candidate, and another series."""
    folder = tmp_path_factory.mktemp("diff") / "folder"
    shutil.copytree(fresh_store, folder)
    desk = Desk(folder)
    stricter = desk.policy(
        "stricter.yaml",
        privacy={"k": 8, "e": 2},
        method={"name": "mondrian", "parameters": {"leaf_size": 20}},
        gates={"err": {"max": 0.5}},
    )
    tight = desk.policy("tight.yaml", gates={"ncp": {"max": 0.0001}})
    other = desk.policy("other.yaml", series="ward", roles=_roles_without_age())
    tables = [desk.table(f"{seed}.csv", seed=seed) for seed in (1, 2, 3, 4)]
    assert plain_run.run(desk.store, desk.policy(), tables[0], "2026Q1") == FIRST
    assert plain_run.run(desk.store, stricter, tables[1], "2026Q2", by="bob") == SECOND
    assert plain_run.run(desk.store, tight, tables[2], "2026Q3") == BLOCKED
    assert plain_run.run(desk.store, other, tables[3], "2026Q1") == "ward-2026Q1-r1"
    return folder


def _roles_without_age() -> dict[str, Any]:
    from tests.support.front_desk import POLICY

    roles = json.loads(json.dumps(POLICY["roles"]))
    del roles["quasi_identifiers"]["age"]
    return {**roles, "dropped": [*roles["dropped"], "age"]}


@pytest.fixture
def series(series_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.delenv("RELEASEGATE_STORE", raising=False)
    shutil.copytree(series_folder, tmp_path, dirs_exist_ok=True, symlinks=True)
    return Desk(tmp_path)


def difference(desk: Desk, capsys: Capture, one: str, other: str) -> Any:
    assert desk.say("diff", one, other, "--json") == 0
    return json.loads(capsys.readouterr().out)


def named(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"]: row for row in rows}


def groups(desk: Desk, release: str) -> pd.Series:
    """The sizes of a release's classes, counted from its CSV."""
    frame = pd.read_csv(desk.root / "releases" / "clinic" / release / "data.csv")
    return frame.groupby(CELLS).size()


def test_a_release_does_not_differ_from_itself(series: Desk, capsys: Capture) -> None:
    found = difference(series, capsys, FIRST, FIRST)
    assert found["policy"] == []
    rows = [row for name in ("facts", "method", "gates", "classes", "utility") for row in found[name]]
    assert all(row["same"] for row in rows)
    assert found["equal_classes"] == named(found["classes"])["number"]["a"] == len(groups(series, FIRST))
    assert series.say("diff", FIRST, FIRST) == 0
    shown = capsys.readouterr().out
    assert "nothing differs" in shown
    assert "≠" not in shown


def test_two_releases_are_laid_side_by_side(series: Desk, capsys: Capture) -> None:
    found = difference(series, capsys, FIRST, SECOND)
    store = series.store
    facts = named(found["facts"])
    assert facts["series"] == {"name": "series", "a": "clinic", "b": "clinic", "same": True}
    assert facts["made_by"] == {"name": "made_by", "a": "ann", "b": "bob", "same": False}
    records = [store.candidate(f"clinic-2026Q{n}-c1") for n in (1, 2)]
    assert [facts["input_digest"][side] for side in "ab"] == [one.input_digest for one in records]
    assert named(found["policy"]) == {
        "privacy.k": {"name": "privacy.k", "a": 5, "b": 8, "same": False},
        "gates.err.max": {"name": "gates.err.max", "b": 0.5, "same": False},
        "method.parameters.leaf_size": {"name": "method.parameters.leaf_size", "b": 20, "same": False},
    }
    method = named(found["method"])
    assert method["method"] == {"name": "method", "a": "mondrian", "b": "mondrian", "same": True}
    assert (method["leaf_size"]["a"], method["leaf_size"]["b"]) == (None, 20)
    assert method["seed"]["same"]
    assert set(method) >= {"history", "max_group_size"}


def test_every_gate_of_both_is_there_with_value_and_threshold(series: Desk, capsys: Capture) -> None:
    gates = named(difference(series, capsys, FIRST, SECOND)["gates"])
    for side, candidate in (("a", "clinic-2026Q1-c1"), ("b", "clinic-2026Q2-c1")):
        kept = {one.gate: one for one in series.store.gates(candidate)}
        assert {name for name, row in gates.items() if side in row} == set(kept)
        for name, one in kept.items():
            assert gates[name][side] == {
                "verdict": str(one.verdict),
                "value": one.value,
                "relation": one.relation,
                "threshold": one.threshold,
            }
    assert "a" not in gates["err"]
    assert not gates["err"]["same"]
    assert list(gates).index("err") < list(gates).index("pairwise")
    assert not gates["k"]["same"]
    assert gates["files"]["same"]


def test_the_sizes_are_those_of_the_published_files(series: Desk, capsys: Capture) -> None:
    found = difference(series, capsys, FIRST, SECOND)
    classes = named(found["classes"])
    for side, release in (("a", FIRST), ("b", SECOND)):
        size = groups(series, release)
        told = {name: row[side] for name, row in classes.items()}
        assert told == {
            "number": len(size),
            "smallest": size.min(),
            "median": size.median(),
            "largest": size.max(),
            "records published": size.sum(),
            "records left out": 400 - size.sum(),
        }
    equal = set(groups(series, FIRST).index) & set(groups(series, SECOND).index)
    assert found["equal_classes"] == len(equal)


def test_a_candidate_that_was_blocked_is_read_from_its_staged_files(series: Desk, capsys: Capture) -> None:
    found = difference(series, capsys, BLOCKED, FIRST)
    assert named(found["facts"])["state"] == {
        "name": "state",
        "a": "blocked",
        "b": "published",
        "same": False,
    }
    assert named(found["gates"])["ncp"]["a"]["verdict"] == "fail"
    assert named(found["classes"])["smallest"]["a"] >= 5
    assert found["equal_classes"] is not None
    staged = series.root / "candidates" / BLOCKED / "data.parquet"
    staged.write_bytes(staged.read_bytes()[:-1])
    found = difference(series, capsys, BLOCKED, FIRST)
    assert "a" not in named(found["classes"])["smallest"]
    assert found["equal_classes"] is None


def test_releases_of_two_series_can_be_compared(series: Desk, capsys: Capture) -> None:
    found = difference(series, capsys, FIRST, "ward-2026Q1-r1")
    assert not named(found["facts"])["series"]["same"]
    assert found["equal_classes"] is None
    policy = named(found["policy"])
    assert policy["roles.quasi_identifiers.age.bounds"] == {
        "name": "roles.quasi_identifiers.age.bounds",
        "a": [0, 110],
        "same": False,
    }
    assert policy["roles.quasi_identifiers.(order)"]["b"] == ["income", "city"]


@pytest.mark.parametrize("width", [80, 140])
def test_a_person_reads_what_differs(
    series: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr("cli.difference_tables.console", lambda: Console(highlight=False, width=width))
    assert series.say("diff", FIRST, SECOND) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert max(map(len, lines)) <= width
    cells = {tuple(line.split()) for line in lines}
    assert ("≠", "privacy.k", "5", "8") in cells
    assert ("≠", "made", "by", "ann", "bob") in cells
    assert ("series", "clinic", "clinic") in cells
    (err,) = [line for line in lines if line.startswith("≠  err ")]
    assert "not run" in err
    assert "rows differ, marked ≠" in lines[-1]


@pytest.mark.parametrize("words", [(FIRST, "clinic-2026Q2-r2"), ("clinic-2026Q2-r2", FIRST)])
def test_an_unknown_id_brings_the_nearest(series: Desk, capsys: Capture, words: tuple[str, str]) -> None:
    assert series.say("diff", *words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"releasegate: no release or candidate 'clinic-2026Q2-r2' (did you mean '{SECOND}'?)",
        "  Run `releasegate history` to list them.",
    ]
