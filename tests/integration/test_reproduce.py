"""`reproduce`: the recorded policy, seed and method over the same input, byte by byte."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import services.reproduction
from tests.support.at_work import withdraw
from tests.support.front_desk import Desk

Capture = pytest.CaptureFixture[str]
RELEASE = "clinic-2026Q1-r1"
FILES = {"data.parquet", "data.csv", "datapackage.json"}


def reproduce(desk: Desk, release: str = RELEASE, table: str = "people.csv", *words: str) -> int:
    return desk.say("reproduce", release, "--input", desk.folder / table, *words)


def told(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)


def test_the_same_bytes_come_out(published: Desk, capsys: Capture) -> None:
    events = published.store.n_events()
    assert reproduce(published, RELEASE, "people.csv", "--json") == 0
    found = told(capsys)
    assert (found["release"], found["same"], found["software"]) == (RELEASE, True, {})
    assert set(found["files"]) == FILES
    recorded = published.store.release(RELEASE).files
    assert {name: one["made"] for name, one in found["files"].items()}.items() <= recorded.items()
    assert published.store.n_events() == events
    assert reproduce(published) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{RELEASE} was reproduced byte for byte"


@pytest.mark.parametrize(
    ("method", "history"), [("mondrian", "repair"), ("mondrian", "sticky"), ("ae-lrhma", "sticky")]
)
@pytest.mark.by_day(1)
def test_a_later_release_comes_out_beside_the_history_of_then(
    published: Desk, capsys: Capture, method: str, history: str
) -> None:
    """It was made beside the first; a third that came after it, and a withdrawal, change nothing."""
    chosen = {"name": method, "history": history}
    # `worlds` is why people keep signatures; without it, records are left out for `totals`.
    gates: dict[str, Any] = {"person": {"compare": history == "sticky"}, "worlds": {"unfollowed": "accept"}}
    if history == "repair":
        gates["suppression"] = {"max": 0.1}
    series = f"{history}-series"
    policy = published.policy(series=series, method=chosen, privacy={"k": 5, "e": 2, "l": 2}, gates=gates)
    for seed, period in ((1, "2026Q1"), (2, "2026Q2"), (3, "2026Q3")):
        table = published.table(f"{period}.csv", seed=seed)
        assert published.run(policy, table, period) == 0
    first, second = (f"{series}-{period}-r1" for period in ("2026Q1", "2026Q2"))
    notes = published.store.release(second).summary.notes
    assert notes["repair"]["failing_groups"] if history == "repair" else notes["sticky"]["stay"]
    withdraw(published.store, first, by="eve", reason="a leak")
    capsys.readouterr()
    assert reproduce(published, second, "2026Q2.csv", "--json") == 0
    assert told(capsys)["same"]
    withdraw(published.store, second, by="eve", reason="another")
    assert reproduce(published, second, "2026Q2.csv") == 0


def test_what_does_not_come_out_is_told(
    published: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method that draws otherwise than it did, and a DuckDB of another version."""
    make_rows = services.reproduction.make_rows

    def shuffled(*args: Any) -> Any:
        made = make_rows(*args)
        frame = made.rows.frame.sample(frac=1, random_state=1)
        return replace(made, rows=replace(made.rows, cells=frame, times=None))

    monkeypatch.setattr(services.reproduction, "make_rows", shuffled)
    versions = services.reproduction.software_versions()
    monkeypatch.setattr(services.reproduction, "software_versions", lambda: {**versions, "duckdb": "9.9"})
    assert reproduce(published, RELEASE, "people.csv", "--json") == 6
    found = told(capsys)
    assert not found["same"]
    assert not found["files"]["data.csv"]["same"]
    assert found["software"] == {"duckdb": {"then": versions["duckdb"], "now": "9.9"}}
    assert reproduce(published) == 6
    shown = capsys.readouterr().out
    assert "data.csv           DIFFERENT" in shown
    assert f"duckdb: {versions['duckdb']} then, 9.9 now" in shown
    assert f"{RELEASE} was not reproduced" in shown


def test_another_input_is_refused(published: Desk, capsys: Capture) -> None:
    published.table("other.csv", seed=2)
    assert reproduce(published, RELEASE, "other.csv") == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"releasegate: other.csv: is not the table of {RELEASE}")
    assert lines[1:] == ["  Give that table with --input."]


def test_an_unknown_release_and_a_missing_input_are_told(published: Desk, capsys: Capture) -> None:
    assert reproduce(published, "clinic-2026Q1-r7") == 2
    assert f"did you mean '{RELEASE}'" in capsys.readouterr().err
    assert published.say("reproduce", RELEASE) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("releasegate: ")
    assert len(lines) <= 2


def test_nothing_stays_behind(published: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    assert reproduce(published) == 0
    assert os.listdir(scratch) == []  # noqa: PTH208


def test_a_disk_that_refuses_the_files_is_told(
    published: Desk, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert reproduce(published) == 1
    error = capsys.readouterr().err.split("releasegate: ")[-1].splitlines()
    assert "the files could not be reproduced (FileNotFoundError)" in error[0]
    assert len(error) == 2
