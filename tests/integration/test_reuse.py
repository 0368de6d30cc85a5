"""The cells of one release used for the next: two periods, what is told of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from policy.errors import VerificationFailed
from policy.load import load_policy
from release_store.records import CandidateState
from services.reuse import cells_reused, find_release_to_reuse
from tests.support.at_work import restore, withdraw, write_people
from tests.support.front_desk import Desk

Capture = pytest.CaptureFixture[str]
FIRST, SECOND = "clinic-2026Q1-r1", "clinic-2026Q2-r1"
GATES: dict[str, Any] = {
    "person": {"compare": False},
    "worlds": {"unfollowed": "accept"},
    "suppression": {"max": 0.3},
    "ncp": {"max": 1},
}
COLUMNS = ["age_min", "age_max", "income_min", "income_max", "city"]


def policy(
    desk: Desk,
    release: str | None = "last",
    others: str = "cut",
    population: str = "independent",
    **method: Any,
) -> Path:
    reuse = {} if release is None else {"reuse": {"release": release, "others": others}}
    chosen = {"name": "mondrian", "history": "repair", **method, **reuse}
    privacy = {"k": 5, "e": 2, "l": 2}
    return desk.policy(method=chosen, gates=GATES, privacy=privacy, population=population)


def cells(desk: Desk, release_id: str) -> set[tuple[Any, ...]]:
    frame = pd.read_csv(desk.root / "releases/clinic" / release_id / "data.csv")
    return set(frame[COLUMNS].drop_duplicates().itertuples(index=False, name=None))


def refused(desk: Desk, capsys: Capture, chosen: Path, period: str = "2026Q3") -> str:
    """Run a period that cannot be made, and return the two lines of its error."""
    before = len(desk.store.candidates())
    capsys.readouterr()
    assert desk.run(chosen, desk.table("third.csv", seed=3), period) == 2
    assert len(desk.store.candidates()) == before
    told = capsys.readouterr().err.split("releasegate: ")[-1]
    assert len(told.splitlines()) == 2
    return told.splitlines()[0]


def two_periods(desk: Desk, population: str = "independent", **method: Any) -> Path:
    """Publish two periods under one policy, whose second uses the cells of the first."""
    chosen = policy(desk, population=population, **method)
    assert desk.run(chosen, desk.table()) == 0
    assert desk.run(chosen, desk.table("next.csv", seed=2), "2026Q2") == 0
    return chosen


@pytest.mark.parametrize(("history", "population"), [("blind", "independent"), ("repair", "overlapping")])
@pytest.mark.by_day(1)
def test_the_next_period_has_the_cells_of_the_first_and_is_reproduced(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, history: str, population: str
) -> None:
    events = desk.folder / "lineage.jsonl"
    monkeypatch.setenv("RELEASEGATE_OPENLINEAGE", str(events))
    two_periods(desk, population, history=history)
    inputs = json.loads(events.read_text().splitlines()[-1])["inputs"]
    digest = desk.store.candidate(desk.store.release(FIRST).candidate_id).candidate_digest
    assert [one["name"] for one in inputs] == ["clinic/input/next.csv", "clinic/releases"]
    assert inputs[1]["facets"]["version"]["datasetVersion"] == f"{FIRST}:{digest}"
    notes = desk.store.release(SECOND).summary.notes
    assert "reused_release" not in desk.store.release(FIRST).summary.notes
    assert notes["reused_release"] == FIRST
    both = cells(desk, FIRST) & cells(desk, SECOND)
    assert len(both) == notes["reused_classes"] > 0
    assert notes["reusable_cells"] == len(cells(desk, FIRST))
    capsys.readouterr()
    assert desk.say("show", SECOND) == 0
    told = f"  reuses  {len(both)} of {notes['reusable_cells']} cells of {FIRST}, for "
    assert told in capsys.readouterr().out
    assert desk.say("verify") == 0
    table = desk.folder / "next.csv"
    assert desk.say("reproduce", SECOND, "--input", table) == 0
    withdraw(desk.store, FIRST, by="eve", reason="a leak")  # what was made with it can still be made again
    assert desk.say("reproduce", SECOND, "--input", table) == 0
    capsys.readouterr()
    inputs = [f"2026Q1={desk.folder / 'people.csv'}", f"2026Q2={table}"]
    given = [word for one in inputs for word in ("--input", one)]
    assert desk.say("audit", "clinic", *given, "--json") in (0, 6)
    assert SECOND in capsys.readouterr().out


def test_what_no_cell_takes_is_left_out_if_the_policy_says_so(desk: Desk) -> None:
    assert desk.run(policy(desk, None), desk.table()) == 0
    assert desk.run(policy(desk, FIRST, "left_out"), desk.table("next.csv", seed=2), "2026Q2") == 0
    made = desk.store.candidates()[-1]
    notes = made.summary.notes
    assert len(cells(desk, SECOND)) == notes["reused_classes"] > 0
    assert cells(desk, SECOND) <= cells(desk, FIRST)
    assert made.summary.left_out == notes["records_of_no_cell"] > 0


def test_a_release_that_cannot_be_used_is_told_in_one_line(desk: Desk, capsys: Capture) -> None:
    two_periods(desk)
    field = "method.reuse.release"
    said = refused(desk, capsys, policy(desk, "2025Q4"))
    assert said.startswith(f"{field}: the series clinic has no release '2025Q4'")
    said = refused(desk, capsys, policy(desk, "clinic-2026Q1-r9"))
    assert said.endswith(f"has no release 'clinic-2026Q1-r9' (did you mean '{FIRST}'?)")
    withdraw(desk.store, SECOND, by="eve", reason="a leak")
    assert refused(desk, capsys, policy(desk, SECOND)) == f"{field}: {SECOND} was withdrawn"
    assert refused(desk, capsys, policy(desk, "2026Q2")) == f"{field}: {SECOND} was withdrawn"
    restore(desk.store, SECOND, by="eve", reason="it was right")  # the same release, and its cells, again
    found = find_release_to_reuse(desk.store, load_policy(policy(desk, SECOND)), "2026Q3")
    assert found == desk.store.release(SECOND)
    for name in (FIRST, SECOND):
        withdraw(desk.store, name, by="eve", reason="a leak")
    said = refused(desk, capsys, policy(desk))
    assert said == f"{field}: no release of another period than 2026Q3 is published any more"


def test_cells_of_other_columns_are_refused(desk: Desk, capsys: Capture) -> None:
    assert desk.run(policy(desk), desk.table()) == 0
    again = f"when {FIRST} was made: its cells cannot be used again"
    said = refused(desk, capsys, policy(desk, recoding="hierarchy"))
    assert said == f"method.recoding: it was sets {again}"
    text = policy(desk).read_text()
    other = policy(desk)
    other.write_text(text.replace("- 110", "- 120"))
    assert refused(desk, capsys, other) == f"roles.quasi_identifiers.age.bounds: it was another {again}"
    other.write_text(
        text.replace("  identifiers:\n  - name\n", "  identifiers: []\n")
        .replace("  - street", "  - street\n  - name")
        .replace("  kept:\n  - ward\n", "")
        .replace("    city:", "    ward:\n      type: categorical\n    city:")
    )
    said = refused(desk, capsys, other)
    assert said == f"roles.quasi_identifiers: 'ward' is in one of the two policies {again}"


def test_a_release_of_another_series_is_refused(desk: Desk, capsys: Capture) -> None:
    assert desk.run(policy(desk), desk.table()) == 0
    other = policy(desk, FIRST)
    other.write_text(other.read_text().replace("series: clinic", "series: ward"))
    said = refused(desk, capsys, other)
    assert said == f"method.reuse.release: {FIRST} is of the series clinic, not of ward"


def test_an_altered_source_is_not_used(desk: Desk, capsys: Capture) -> None:
    assert desk.run(policy(desk), desk.table()) == 0
    path = desk.root / "releases/clinic" / FIRST / "data.parquet"
    path.chmod(0o600)
    path.write_bytes(path.read_bytes() + b" ")
    capsys.readouterr()
    assert desk.run(policy(desk), desk.table("next.csv", seed=2), "2026Q2") == 6
    assert "altered since it was published: data.parquet" in capsys.readouterr().err


def test_a_history_without_the_source_is_told(desk: Desk) -> None:
    two_periods(desk)
    release = desk.store.release(SECOND)
    record = desk.store.candidate(release.candidate_id)
    assert record.state is CandidateState.PUBLISHED
    own = load_policy(policy(desk))
    with pytest.raises(VerificationFailed, match="the history lacks the release whose cells"):
        cells_reused(record, own, [])


def test_a_revision_uses_the_cells_of_the_period_before(desk: Desk) -> None:
    chosen = two_periods(desk)
    table = desk.table("mended.csv", seed=4)
    words = ("2026Q2", "eve", "--revise", "three rows were of another ward")
    assert desk.run(chosen, table, *words) in (0, 4)
    assert desk.store.candidates()[-1].summary.notes["reused_release"] == FIRST


def test_cells_of_a_release_that_was_withdrawn_are_not_published(desk: Desk, capsys: Capture) -> None:
    write_people(desk.root)
    assert desk.run(policy(desk), desk.table()) == 0
    chosen = policy(desk)
    document = yaml.safe_load(chosen.read_text())
    chosen.write_text(yaml.safe_dump({**document, "approval": {"approvers": 1}}, sort_keys=False))
    assert desk.run(chosen, desk.table("next.csv", seed=2), "2026Q2") == 5
    waiting = desk.store.candidates()[-1].candidate_id
    withdraw(desk.store, FIRST, by="eve", reason="a leak")
    capsys.readouterr()
    assert desk.say("approve", waiting, "--by", "bob", "--reason", "fine") == 4
    assert f"{waiting}: uses cells of {FIRST}, which was withdrawn" in capsys.readouterr().err
    assert [one.release_id for one in desk.store.releases()] == [FIRST]
    restore(desk.store, FIRST, by="eve", reason="it was right")
    assert desk.say("approve", waiting, "--by", "bob", "--reason", "fine") == 0
