"""Figures and reports through the command line: kept with the gates, beside the candidate, in the release."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from release_store.canonical import sha256_hex
from release_store.checkup import Condition, check_store
from release_store.records import CandidateState
from release_store.verification.verify import verify
from tests.support.front_desk import Desk
from tests.support.plain_prefect import plain_prefect

Capture = pytest.CaptureFixture[str]
C1, RELEASE = "clinic-2026Q1-c1", "clinic-2026Q1-r1"
ASKING = {"approvers": 1}
ALL_THREE = {"k": 5, "e": 3}
STRICT = {"ncp": {"max": 0.0}}


def candidate_page(desk: Desk, name: str = C1) -> Path:
    return desk.root / "candidates" / name / "report.html"


def release_page(desk: Desk, name: str = RELEASE) -> Path:
    return desk.root / "releases/clinic" / name / "report.html"


def told(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)


def shown_report(desk: Desk, capsys: Capture, name: str) -> str | None:
    capsys.readouterr()
    assert desk.say("show", name, "--json") == 0
    named: str | None = told(capsys)["report"]
    assert desk.say("show", name) == 0
    assert (f"report  {named}\n" in capsys.readouterr().out) is (named is not None)
    return named


def fine(desk: Desk) -> bool:
    wrong = [one for one in check_store(desk.root) if one.condition is not Condition.FINE]
    return (verify(desk.store), wrong) == ([], [])


def test_a_run_keeps_figures_and_writes_the_page_of_candidate_and_release(
    published: Desk, capsys: Capture
) -> None:
    figures = published.store.figures(C1)
    assert figures is not None
    assert (figures["format"], figures["least"]) == ("releasegate/figures/1", 5)
    assert figures["classes"]["records"] == 400
    assert figures["attributes"]
    assert "latent" in figures
    assert published.store.all_figures() == {C1: figures}
    page = candidate_page(published)
    assert page.stat().st_mode & 0o777 == 0o600
    assert page.read_text().startswith("<!doctype html>")
    assert "report.html" not in published.store.files(C1)
    public = release_page(published)
    assert public.stat().st_mode & 0o777 == 0o644
    assert RELEASE in public.read_text()
    assert published.store.release(RELEASE).files["report.html"] == sha256_hex(public.read_bytes())
    assert shown_report(published, capsys, C1) == str(page)
    assert shown_report(published, capsys, RELEASE) == str(public)
    assert fine(published)


def test_a_run_names_its_report_at_its_end(desk: Desk, capsys: Capture) -> None:
    asking = desk.policy(approval=ASKING)
    assert desk.run(asking, desk.table()) == 5
    assert f"report: {candidate_page(desk)}\n" in capsys.readouterr().out
    candidate_page(desk).unlink()  # as if the run had been killed before it was written
    assert desk.run(asking, desk.table(), "2026Q1", "ann", "--json") == 5  # it waits already
    assert told(capsys)["report"] == str(candidate_page(desk))
    assert candidate_page(desk).is_file()
    blocked = desk.policy(gates=STRICT)
    assert desk.run(blocked, desk.table(seed=2), "2026Q2", "ann", "--json") == 4
    name = "clinic-2026Q2-c1"
    assert told(capsys)["report"] == str(candidate_page(desk, name))
    assert "ncp" in candidate_page(desk, name).read_text()
    assert fine(desk)


def test_a_run_that_publishes_names_the_report_of_the_release(desk: Desk, capsys: Capture) -> None:
    assert desk.run(desk.policy(), desk.table(), "2026Q1", "ann", "--json") == 0
    assert told(capsys)["report"] == str(release_page(desk))
    assert desk.run(desk.policy(), desk.table(), "2026Q1", "ann", "--json") == 0  # it is left alone
    assert told(capsys)["report"] == str(release_page(desk))


def test_a_release_that_people_approve_carries_its_report(desk: Desk, capsys: Capture) -> None:
    assert desk.run(desk.policy(approval=ASKING), desk.table()) == 5
    before = candidate_page(desk).read_bytes()
    capsys.readouterr()
    assert desk.say("approve", C1, "--by", "bob", "--reason", "looked at it", "--json") == 0
    assert told(capsys)["report"] == str(release_page(desk))
    assert RELEASE in release_page(desk).read_text()
    assert candidate_page(desk).read_bytes() == before
    assert fine(desk)


def test_a_release_by_override_carries_a_report_that_says_so(desk: Desk, capsys: Capture) -> None:
    assert desk.run(desk.policy(gates=STRICT), desk.table()) == 4
    assert desk.store.figures(C1) is not None
    assert desk.say("override", C1, "--by", "bob", "--reason", "it cannot wait") == 5
    assert desk.say("override", C1, "--by", "eve", "--reason", "it cannot wait") == 0
    page = release_page(desk).read_text()
    assert re.search("override", page, re.I)
    assert "ncp" in page
    assert fine(desk)
    out = desk.folder / "b.zip"
    assert desk.say("evidence", RELEASE, "--out", out) == 0
    assert desk.say("verify", out) == 0


@pytest.fixture(scope="module")
def stale_folder(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose first candidate became stale since 2026Q2 was published."""
    folder = tmp_path_factory.mktemp("stale") / "folder"
    shutil.copytree(fresh_store, folder)
    desk = Desk(folder)
    with plain_prefect():
        # With the wards, which are kept, two releases that do not know of each other would pin somebody.
        asked = {"privacy": ALL_THREE, "gates": {"worlds": {"kept": "accept"}}}
        assert desk.run(desk.policy(approval=ASKING, **asked), desk.table()) == 5
        quick = desk.policy("quick.yaml", approval={"approvers": 0}, **asked)
        assert desk.run(quick, desk.table("later.csv", seed=0), "2026Q2") == 0
    assert desk.store.candidate(C1).state is CandidateState.STALE
    return folder


@pytest.fixture
def stale(stale_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.delenv("RELEASEGATE_SIGNING_KEY", raising=False)
    shutil.copytree(stale_folder, tmp_path, dirs_exist_ok=True, symlinks=True)
    return Desk(tmp_path)


def test_files_that_are_judged_again_have_the_same_figures_of_the_table(stale: Desk) -> None:
    rejudge = ("rejudge", C1, "--input", stale.folder / "people.csv", "--by", "cyd")
    assert stale.say(*rejudge) == 5
    first, second = stale.store.figures(C1), stale.store.figures("clinic-2026Q1-c2")
    assert first is not None
    assert second is not None
    for name in ("attributes", "latent"):
        assert second[name] == first[name]
    assert candidate_page(stale, "clinic-2026Q1-c2").is_file()
    assert fine(stale)


def test_files_that_were_first_judged_without_figures_have_none_of_the_table(
    stale: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("release_store.reading.read_figures", lambda *_: None)  # as in a store of before
    assert stale.say("rejudge", C1, "--input", stale.folder / "people.csv", "--by", "cyd") == 5
    monkeypatch.undo()
    second = stale.store.figures("clinic-2026Q1-c2")
    assert second is not None
    assert (second["attributes"], second["latent"]) == ([], None)
    assert second["classes"]["records"] == 400


def broken(*_args: object, **_kwargs: object) -> None:
    raise ValueError("CANARY of somebody's row")


BREAKING: dict[str, tuple[str, Callable[[CandidateState], bool]]] = {
    "services.release.table_figures": (
        "the stage 'figures: what a report shows of the table'",
        lambda state: state is CandidateState.FAILED,
    ),
    "services.assessment.figures_of": (
        "the stage 'risk gate: assess the staged files'",
        lambda state: state is CandidateState.FAILED,
    ),
    "release_store.publishing.candidate_report.replace_file": (
        "the stage 'report: write the candidate's page'",
        lambda state: state is CandidateState.APPROVED,
    ),
}


@pytest.mark.parametrize("name", BREAKING)
def test_what_breaks_in_figures_or_report_blocks_and_tells_nothing_of_the_data(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    what, ended = BREAKING[name]
    monkeypatch.setattr(name, broken)
    assert desk.run(desk.policy(), desk.table()) == 1
    out, err = capsys.readouterr()
    assert "CANARY" not in out + err + repr(desk.store.events())
    assert f"releasegate: {what} failed (ValueError at " in err
    (candidate,) = desk.store.candidates()
    assert ended(candidate.state)
    assert desk.store.releases() == []
    assert desk.store.figures(C1) is None or candidate.state is CandidateState.APPROVED
    assert verify(desk.store) == []
    monkeypatch.undo()
    assert desk.run(desk.policy(), desk.table()) == 0
    assert release_page(desk).is_file()
    assert verify(desk.store) == []


def broken_report(desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    """Carry out what publishes, while no release can have a report: it is told, and nothing is public."""
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr("reports.releasing.release_report", broken)
        assert desk.say(*words) == 1
    out, err = capsys.readouterr()
    said = [line for line in err.splitlines() if not line.endswith(" ...")]
    assert re.fullmatch(
        rf"releasegate: {C1}: its report cannot be written \(ValueError at reports/\S+\); nothing is public",
        said[0],
    )
    assert (
        "The decisions are stored; please report this bug. After the fix, run the period or approve "
        "the candidate again to publish it."
    ) in said[1]
    assert len(said) == 2
    assert "CANARY" not in out + err + repr(desk.store.events())
    assert desk.store.releases() == []
    assert desk.store.candidate(C1).state is CandidateState.APPROVED
    assert "publication.started" not in {one.action for one in desk.store.events()}
    assert fine(desk)


def run_words(desk: Desk, policy: Path) -> tuple[object, ...]:
    return ("run", policy, "--input", desk.table(), "--period", "2026Q1", "--by", "ann")


def test_a_run_whose_release_can_have_no_report_is_ended_by_the_next(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = run_words(desk, desk.policy())
    broken_report(desk, capsys, monkeypatch, *words)
    assert desk.say(*words) == 0
    assert [one.candidate_id for one in desk.store.candidates()] == [C1]
    assert release_page(desk).is_file()
    assert fine(desk)


def test_an_approval_is_kept_though_no_report_can_be_made_and_published_by_the_next(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = run_words(desk, desk.policy(approval=ASKING))
    assert desk.say(*words) == 5
    broken_report(desk, capsys, monkeypatch, "approve", C1, "--by", "bob", "--reason", "looked at it")
    assert [(one.by, one.reason) for one in desk.store.decisions(C1)] == [("bob", "looked at it")]
    assert desk.say(*words) == 5  # a run does not publish what people decide on, and says who does
    assert (
        "is approved, but its publication was interrupted; approve it again to publish it"
    ) in capsys.readouterr().out
    assert desk.say("approve", C1, "--by", "eve", "--reason", "it was only the page") == 0
    assert [one.by for one in desk.store.decisions(C1)] == ["bob"]
    assert "looked at it" in release_page(desk).read_text()
    assert fine(desk)


def test_overrides_are_kept_though_no_report_can_be_made(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert desk.run(desk.policy(gates=STRICT), desk.table()) == 4
    assert desk.say("override", C1, "--by", "bob", "--reason", "it cannot wait") == 5
    broken_report(desk, capsys, monkeypatch, "override", C1, "--by", "eve", "--reason", "it cannot wait")
    assert desk.say("approve", C1, "--by", "eve", "--reason", "it was only the page") == 0
    assert [(one.by, one.decision) for one in desk.store.decisions(C1)] == [
        ("bob", "override"),
        ("eve", "override"),
    ]
    assert fine(desk)


@pytest.mark.parametrize(
    ("gates", "state"),
    [({}, "awaiting_approval"), (STRICT, "blocked")],
)
def test_a_candidate_without_its_page_is_judged_all_the_same(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, gates: dict[str, Any], state: str
) -> None:
    words = run_words(desk, desk.policy(approval=ASKING, gates=gates))
    with monkeypatch.context() as patch:
        patch.setattr("reports.releasing.candidate_report", broken)
        assert desk.say(*words) == 1
    said = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" ...")]
    assert said[0].startswith(
        "releasegate: the stage 'report: write the candidate's page' failed (ValueError at "
    )
    assert str(desk.store.candidate(C1).state) == state
    assert not candidate_page(desk).exists()
    assert desk.say("report", C1, "--out", desk.folder / "one.html") == 0
    if gates:
        assert desk.say("override", C1, "--by", "bob", "--reason", "it cannot wait") == 5
        assert desk.say("override", C1, "--by", "eve", "--reason", "it cannot wait") == 0
    else:
        assert desk.say(*words) == 5
        assert candidate_page(desk).is_file()  # the next run wrote it
        assert desk.say("approve", C1, "--by", "bob", "--reason", "looked at it") == 0
    assert release_page(desk).is_file()
    assert fine(desk)


def test_altered_figures_are_not_published_over(desk: Desk, capsys: Capture) -> None:
    import duckdb

    assert desk.run(desk.policy(approval=ASKING), desk.table()) == 5
    with duckdb.connect(str(desk.root / "history.duckdb")) as con:
        triggers = con.execute(
            "SELECT trigger_name, sql FROM duckdb_triggers() WHERE table_name = 'candidate_figures'"
        ).fetchall()
        for name, _ in triggers:
            con.execute(f"DROP TRIGGER {name} ON candidate_figures")
        con.execute("UPDATE candidate_figures SET document = replace(document, '400', '4000')")
        for _, sql in triggers:
            con.execute(sql)
    capsys.readouterr()
    assert desk.say("approve", C1, "--by", "bob", "--reason", "looked at it") == 6
    assert "its figures differ from the logged ones" in capsys.readouterr().err
    assert desk.store.releases() == []
