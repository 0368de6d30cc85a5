"""Releases of tables that are counted as they are read, by commands, beside those of the same rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.intake import frame
from tests.support.front_desk import CITIES, DISEASES, Desk

Capture = pytest.CaptureFixture[str]
N_ROWS, N_KINDS, FEW, MANY = 2_000, 60, 100, 10**9
FIRST, SECOND = "clinic-2026Q1-r1", "clinic-2026Q2-r1"
ROLES: dict[str, Any] = {
    "quasi_identifiers": {
        "age": {"type": "integer", "bounds": [0, 110]},
        "city": {"type": "categorical", "values": [*CITIES]},
    },
    "sensitive": {"disease": {"stability": "stable", "values": [*DISEASES]}},
}
GATES: dict[str, Any] = {
    "err": {"max": 0.5},
    "umr": {"max": 1},
    "sadr": {"max": 1},
    "forced": {"max": 1},
    "suppression": {"max": 0.5},
    "worlds": {"unfollowed": "accept"},
}


def write_table(desk: Desk, name: str, seed: int, n_rows: int = N_ROWS) -> Path:
    """Rows of few kinds: some kinds of people are there once, most many times."""
    rng = np.random.default_rng(seed)
    ages, cities = rng.integers(18, 95, N_KINDS), rng.choice(CITIES, N_KINDS)
    kind = (N_KINDS * rng.random(n_rows) ** 2).astype(int)
    table = {"age": ages[kind], "city": cities[kind], "disease": rng.choice(DISEASES, n_rows)}
    path = desk.folder / name
    pd.DataFrame(table).to_csv(path, index=False)
    return path


def policy_of(desk: Desk, **sections: Any) -> Path:
    return desk.policy(roles=ROLES, gates=GATES, linkage={"ext_frac": [0.5]}, **sections)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Tables of 100 rows and more are counted as they are read."""
    monkeypatch.setattr(frame, "FIRST_ROWS", FEW)
    return monkeypatch


def files_of(desk: Desk, release: str) -> dict[str, str]:
    """The digests of a release's data."""
    return {name: digest for name, digest in desk.store.release(release).files.items() if "data" in name}


@pytest.mark.parametrize(
    "method",
    [{"name": "mondrian"}, {"name": "full-domain", "recoding": "full-domain"}],
    ids=["free", "levels"],
)
def test_two_releases_are_those_of_the_rows(
    desk: Desk, tmp_path: Path, counted: pytest.MonkeyPatch, method: dict[str, Any], capsys: Capture
) -> None:
    policy = policy_of(desk, method=method, privacy={"k": 5, "e": 2, "l": 2})
    tables = [write_table(desk, f"{seed}.csv", seed, N_ROWS + seed) for seed in (1, 2)]
    empty = tmp_path / "rows"
    shutil.copytree(desk.root, empty / "store", symlinks=True)
    for extra in desk.root.parent.glob("store.*"):
        (shutil.copytree if extra.is_dir() else shutil.copy)(extra, empty / extra.name)
    by_rows = Desk(empty)
    found: list[list[dict[str, str]]] = []
    for each, first_rows in ((desk, FEW), (by_rows, MANY)):
        counted.setattr(frame, "FIRST_ROWS", first_rows)
        for period, table in zip(("2026Q1", "2026Q2"), tables, strict=True):
            assert each.run(policy, table, period) == 0, capsys.readouterr().err
        found.append([files_of(each, name) for name in (FIRST, SECOND)])
        assert [one.summary.n_source for one in each.store.releases()] == [N_ROWS + 1, N_ROWS + 2]
    assert found[0] == found[1]
    counted.setattr(frame, "FIRST_ROWS", FEW)
    capsys.readouterr()
    for name, table in ((FIRST, tables[0]), (SECOND, tables[1])):
        assert desk.say("reproduce", name, "--input", table, "--json") == 0
        assert json.loads(capsys.readouterr().out)["same"]
    words = ["--input", f"2026Q1={tables[0]}", "--input", f"2026Q2={tables[1]}"]
    audits = []
    for each, first_rows in ((desk, FEW), (by_rows, MANY)):
        counted.setattr(frame, "FIRST_ROWS", first_rows)
        each.say("audit", "clinic", "--by", "bob", "--json", *words)
        told = json.loads(capsys.readouterr().out)
        assert told["passes"]
        audits.append(
            [[(gate["gate"], gate["verdict"]) for gate in release["gates"]] for release in told["releases"]]
        )
    assert audits[0] == audits[1]
    assert [dict(each)["sadr"] for each in audits[0]] == ["pass", "pass"]


def test_a_candidate_is_judged_again(desk: Desk, counted: pytest.MonkeyPatch, capsys: Capture) -> None:
    del counted
    gates = {**GATES, "forced": None}  # whose rows the files are the run alone knows
    asked: dict[str, Any] = {"roles": ROLES, "gates": gates, "privacy": {"k": 5, "e": 3, "l": 2}}
    waiting = desk.policy(approval={"approvers": 1}, **asked)
    table = write_table(desk, "1.csv", 1)
    assert desk.run(waiting, table) == 5
    quick = desk.policy("quick.yaml", **asked)
    assert desk.run(quick, write_table(desk, "2.csv", 2), "2026Q2") == 0
    capsys.readouterr()
    code = desk.say("rejudge", "clinic-2026Q1-c1", "--input", table, "--by", "cyd", "--json")
    assert code in (4, 5), capsys.readouterr().err  # whether it still passes beside the new one
    told = json.loads(capsys.readouterr().out)
    record = desk.store.candidate(told["candidate"])
    assert record.summary.n_source == N_ROWS
    assert all(one.verdict.value in ("pass", "fail") for one in desk.store.gates(told["candidate"]))


def test_what_is_wrong_with_cells_is_told_as_of_the_rows(
    desk: Desk, counted: pytest.MonkeyPatch, capsys: Capture
) -> None:
    table = write_table(desk, "1.csv", 1)
    text = table.read_text()
    wrong = text.replace("Brno", "Bern").replace("flu", "").replace("\n3", "\n3x", 20)
    table.write_text(wrong)
    policy = policy_of(desk, privacy={"k": 5, "e": 2})
    said = []
    for first_rows in (FEW, MANY):
        counted.setattr(frame, "FIRST_ROWS", first_rows)
        assert desk.run(policy, table) == 3
        said.append(capsys.readouterr().err.split("releasegate: ")[-1])
    assert said[0] == said[1]
    assert "of 2000 rows in 'age'" in said[0].replace(",", "")
