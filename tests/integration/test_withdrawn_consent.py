"""A period revised without one person, in a series that follows nobody."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from tests.support.front_desk import Desk, people

Capture = pytest.CaptureFixture[str]
WHY = "a consent was withdrawn"
UNFOLLOWED = {"person": {"compare": False}, "worlds": {"unfollowed": "accept"}}


def revised(desk: Desk, history: str) -> tuple[int, str]:
    """Release a table, and again without its first person; return the exit code, and the series."""
    series = f"{history}-series"
    policy = desk.policy(
        series=series,
        privacy={"k": 5, "e": 2, "l": 2},
        method={"name": "mondrian", "history": history},
        gates=UNFOLLOWED,
    )
    assert desk.run(policy, desk.table("all.csv"), "2026Q1") == 0
    people()[1:].to_csv(desk.folder / "fewer.csv", index=False)
    return desk.run(policy, desk.folder / "fewer.csv", "2026Q1", "eve", "--revise", WHY), series


def diseases(folder: Path) -> Counter[str]:
    with (folder / "data.csv").open(newline="") as file:
        return Counter(row["disease"] for row in csv.DictReader(file))


@pytest.mark.enemy("reader", "learns a value")
def test_without_a_repair_it_is_held_back(published: Desk, capsys: Capture) -> None:
    code, _ = revised(published, "blind")
    assert code == 4
    assert "totals" in capsys.readouterr().out


@pytest.mark.enemy("reader", "learns a value")
def test_the_repair_hides_who_left_among_others_and_comes_out_again(published: Desk, capsys: Capture) -> None:
    code, series = revised(published, "repair")
    assert code == 0, capsys.readouterr()
    (second,) = [one for one in published.store.releases() if one.release_id == f"{series}-2026Q1-r2"]
    assert second.summary.notes["repair"]["left_out_records"] >= 1
    first = next(one for one in published.store.releases() if one.series == series)
    candidates = published.root / "candidates"
    gone = diseases(candidates / first.candidate_id) - diseases(candidates / second.candidate_id)
    assert len(gone) >= 2
    assert published.say("reproduce", second.release_id, "--input", published.folder / "fewer.csv") == 0
