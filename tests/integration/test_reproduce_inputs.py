"""`reproduce` without Prefect: which input it takes, and a history whose candidates name each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policy.errors import VerificationFailed
from release_store.store import ReleaseStore
from tests.support import plain_run
from tests.support.front_desk import Desk, people

Capture = pytest.CaptureFixture[str]
RELEASE = "clinic-2026Q1-r1"


@pytest.fixture
def tabbed(desk: Desk) -> Desk:
    """A store whose release was made of a table with tabs, which its name tells."""
    people().to_csv(desk.folder / "people.tsv", sep="\t", index=False)
    assert plain_run.run(desk.store, desk.policy(), desk.folder / "people.tsv", "2026Q1") == RELEASE
    return desk


def test_a_table_with_tabs_is_read_again(tabbed: Desk, capsys: Capture) -> None:
    assert tabbed.say("reproduce", RELEASE, "--input", tabbed.folder / "people.tsv") == 0
    assert capsys.readouterr().out.endswith(f"{RELEASE} was reproduced byte for byte\n")


def test_another_file_is_refused_by_its_digest_whatever_its_columns(tabbed: Desk, capsys: Capture) -> None:
    (tabbed.folder / "other.csv").write_text("a,b\n1,2\n")
    assert tabbed.say("reproduce", RELEASE, "--input", tabbed.folder / "other.csv") == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"releasegate: other.csv: is not the table of {RELEASE}: its digest")
    assert second == "  Give that table with --input."


def test_candidates_that_name_each_other_end_in_a_finding(
    tabbed: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tabbed.store.candidate("clinic-2026Q1-c1")
    circle = {
        name: replace(one, candidate_id=name, summary=one.summary.reassessed(of, "eve"))
        for name, of in (("c1", "c2"), ("c2", "c3"), ("c3", "c2"), ("self", "self"))
    }
    monkeypatch.setattr(ReleaseStore, "candidate", lambda _store, name: circle[name])
    for name in ("c1", "c2", "self"):
        with pytest.raises(VerificationFailed, match="is its own predecessor"):
            tabbed.store.first_judged(circle[name])
    monkeypatch.setattr(ReleaseStore, "candidate", lambda _store, name: circle.get(name, circle["c1"]))
    assert tabbed.say("reproduce", RELEASE, "--input", tabbed.folder / "people.tsv") == 6
    assert "is its own predecessor" in capsys.readouterr().err
