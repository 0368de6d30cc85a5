"""`releasegate audit`: today's gates over what a series has published."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.review_tables import show_review
from policy.errors import PolicyError, VerificationFailed
from policy.load import policy_from_document
from policy.model import ReleasePolicy
from release_store.db import connection
from release_store.evidence.bundle import write_evidence
from release_store.evidence.examine import examine
from release_store.publishing.publication import recover
from release_store.records import GateResult, ReleaseState
from release_store.verification.verify import verify
from tasks.risk.registry import GATES
from tests.support import plain_run
from tests.support.at_work import withdraw
from tests.support.front_desk import Desk, people

Capture = pytest.CaptureFixture[str]
LIMITS = {"gates": {"err": {"max": 0.5}, "umr": {"max": 1}, "sadr": {"max": 1}, "ncp": {"max": 1}}}
FIRST, REVISED, SECOND, THIRD = (
    "clinic-2026Q1-r1",
    "clinic-2026Q1-r2",
    "clinic-2026Q2-r1",
    "clinic-2026Q3-r1",
)
INPUTS = ("2026Q1=1.csv", "2026Q1=2.csv", "2026Q2=3.csv", "2026Q3=4.csv")
NEED_THE_SOURCE = ["truth", "leak", "err", "umr", "sadr", "whole_history", "ncp"]


@pytest.fixture(scope="module")
def series_folder(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four releases of `clinic`, the first superseded, the third withdrawn; a blocked one of `ward`."""
    folder = tmp_path_factory.mktemp("audit") / "folder"
    shutil.copytree(fresh_store, folder)
    desk = Desk(folder)
    policy = desk.policy(**LIMITS)
    for seed in (1, 2, 3, 4):
        people(seed).iloc[40 * seed : 40 * seed + 240].to_csv(folder / f"{seed}.csv", index=False)
    published = [
        plain_run.run(desk.store, policy, folder / f"{number}.csv", period)
        for number, period in ((1, "2026Q1"), (2, "2026Q1"), (3, "2026Q2"), (4, "2026Q3"))
    ]
    assert published == [FIRST, REVISED, SECOND, THIRD]
    withdraw(desk.store, SECOND, by="bob", reason="wrong")
    ward = desk.policy("ward.yaml", series="ward", gates={"ncp": {"max": 0.0}})
    assert plain_run.run(desk.store, ward, folder / "1.csv", "2026Q1") == "ward-2026Q1-c1"
    desk.policy(**LIMITS)
    desk.policy("stricter.yaml", **LIMITS, privacy={"k": 10, "e": 2})
    states = [release.state for release in desk.store.releases("clinic")]
    assert states == [
        ReleaseState.SUPERSEDED,
        ReleaseState.PUBLISHED,
        ReleaseState.WITHDRAWN,
        ReleaseState.PUBLISHED,
    ]
    return folder


@pytest.fixture
def series(series_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name in ("RELEASEGATE_STORE", "RELEASEGATE_SIGNING_KEY", "RELEASEGATE_ACTOR"):
        monkeypatch.delenv(name, raising=False)
    shutil.copytree(series_folder, tmp_path, dirs_exist_ok=True, symlinks=True)
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path)


def audited(desk: Desk, capsys: Capture, *words: object, code: int = 0) -> Any:
    assert desk.say("audit", "clinic", "--by", "eve", *words, "--json") == code
    return json.loads(capsys.readouterr().out)


def with_inputs() -> list[str]:
    return [word for text in INPUTS for word in ("--input", text)]


def failing(release: dict[str, Any]) -> list[str]:
    return [gate["gate"] for gate in release["gates"] if gate["verdict"] not in ("pass", "not_run")]


def not_run(release: dict[str, Any]) -> list[str]:
    return [gate["gate"] for gate in release["gates"] if gate["verdict"] == "not_run"]


def test_every_release_is_judged_again_in_order_whatever_became_of_it(series: Desk, capsys: Capture) -> None:
    found = audited(series, capsys)
    assert [(one["release"], one["state"], one["number"]) for one in found["releases"]] == [
        (FIRST, "superseded", 1),
        (REVISED, "published", 2),
        (SECOND, "withdrawn", 3),
        (THIRD, "published", 4),
    ]
    assert all(one["passes"] and not_run(one) == NEED_THE_SOURCE for one in found["releases"])
    assert (found["passes"], found["not_run"], found["logged"], found["by"]) == (True, 28, True, "eve")
    policies = {one.policy_digest for one in series.store.candidates("clinic")}
    assert {one["policy_digest"] for one in found["releases"]} == policies
    assert found["policy_digest"] is None


def test_with_its_input_a_release_gets_the_verdicts_of_its_publication(series: Desk, capsys: Capture) -> None:
    """By the recorded policy and the same input: every value, threshold, detail and witness."""
    found = audited(series, capsys, *with_inputs())
    assert found["not_run"] == 0
    for one, release in zip(found["releases"], series.store.releases("clinic"), strict=True):
        recorded = [_document(gate) for gate in series.store.gates(release.candidate_id)]
        assert [{**gate, "seconds": 0} for gate in one["gates"]] == recorded
        assert one["had_source"]
    compared = [g for g in found["releases"][3]["gates"] if g["gate"] == "whole_history"]
    assert "from 3 earlier releases (" in compared[0]["detail"]


def test_what_the_flow_published_gets_the_flows_verdicts(
    published: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(published.folder)
    (one,) = audited(published, capsys, "--input", "2026Q1=people.csv")["releases"]
    recorded = [_document(gate) for gate in published.store.gates("clinic-2026Q1-c1")]
    assert [{**gate, "seconds": 0} for gate in one["gates"]] == recorded


def _document(result: GateResult) -> dict[str, Any]:
    return {**vars(result), "verdict": str(result.verdict), "seconds": 0}


def test_an_input_serves_the_release_that_was_made_of_it(series: Desk, capsys: Capture) -> None:
    """Two releases of one period were made of two inputs."""
    found = audited(series, capsys, "--input", "2026Q1=2.csv")
    assert [one["had_source"] for one in found["releases"]] == [False, True, False, False]
    assert found["not_run"] == 21


def test_a_stricter_policy_tells_what_would_not_pass_now(series: Desk, capsys: Capture) -> None:
    found = audited(series, capsys, "--policy", "stricter.yaml", "--input", "2026Q3=4.csv", code=4)
    assert [failing(one) for one in found["releases"]] == [["k"]] * 4
    assert not found["passes"]
    assert not_run(found["releases"][3]) == []
    for one in found["releases"]:
        (gate,) = [gate for gate in one["gates"] if gate["gate"] == "k"]
        assert (5 <= gate["value"] < 10, gate["threshold"]) == (True, 10)
    assert {one["policy_digest"] for one in found["releases"]} == {found["policy_digest"]}


def test_a_person_reads_what_would_not_pass(
    series: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.review_tables.console", lambda: Console(highlight=False, width=80))
    assert series.say("audit", "clinic", "--policy", "stricter.yaml") == 4
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[:3] for line in lines if "✗ would not" in line] == [
        [FIRST, "2026Q1", "superseded"],
        [REVISED, "2026Q1", "published"],
        [SECOND, "2026Q2", "withdrawn"],
        [THIRD, "2026Q3", "published"],
    ]
    assert sum(line.startswith("k     ✗ fail") for line in lines) == 4
    assert lines[-2:] == [
        "4 of 4 releases would not pass now",
        "28 gates were not run because the input is missing; pass --input PERIOD=FILE",
    ]
    assert err.split() == [f for name in (FIRST, REVISED, SECOND, THIRD) for f in (name, "...")]


def test_a_person_reads_that_all_passes(series: Desk, capsys: Capture) -> None:
    assert series.say("audit", "clinic", *with_inputs()) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "4 releases: every gate passes now"
    assert "not run:" not in out
    assert "would not" not in out


def test_a_policy_that_does_not_fit_is_no_crash(series: Desk, capsys: Capture) -> None:
    roles = {
        "quasi_identifiers": {"age": {"type": "integer", "bounds": [0, 110]}},
        "sensitive": {"disease": {"stability": "stable"}},
    }
    other = series.policy("other.yaml", roles=roles)
    found = audited(series, capsys, "--policy", other, code=4)
    assert {gate["verdict"] for one in found["releases"] for gate in one["gates"]} == {"unknown"}
    assert series.say("audit", "clinic", "--policy", other) == 4
    shown = " ".join(capsys.readouterr().out.split())
    told = "? unknown: its columns are not the published columns of the policy (files, truth, leak,"
    assert shown.count(told) == 4


@pytest.fixture
def one_unreadable(series: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The first release's policy is of a program that this one does not understand."""
    calls = []

    def reader(document: dict[str, Any]) -> ReleasePolicy:
        calls.append(document)
        if len(calls) == 1:
            raise PolicyError("the stored policy cannot be read (ValidationError)")
        return policy_from_document(document)

    monkeypatch.setattr("services.review.policy_from_document", reader)
    return series


def test_a_policy_that_cannot_be_read_leaves_its_release_unknown_and_the_audit_goes_on(
    one_unreadable: Desk, capsys: Capture
) -> None:
    first, *others = audited(one_unreadable, capsys, *with_inputs(), code=4)["releases"]
    assert (first["release"], first["passes"]) == (FIRST, False)
    assert [gate["gate"] for gate in first["gates"]] == list(GATES)
    assert {(gate["verdict"], gate["detail"]) for gate in first["gates"]} == {
        ("unknown", "the stored policy cannot be read (ValidationError)")
    }
    # The others are judged as ever, beside the first one's classes.
    for one, release in zip(others, one_unreadable.store.releases("clinic")[1:], strict=True):
        recorded = [_document(gate) for gate in one_unreadable.store.gates(release.candidate_id)]
        assert [{**gate, "seconds": 0} for gate in one["gates"]] == recorded
    assert verify(one_unreadable.store) == []


def test_a_person_reads_which_release_has_no_readable_policy(one_unreadable: Desk, capsys: Capture) -> None:
    assert one_unreadable.say("audit", "clinic") == 4
    out = " ".join(capsys.readouterr().out.split())
    assert f"{FIRST} would not pass now: ? unknown: the stored policy cannot be read" in out
    assert "1 of 4 releases would not pass now" in out


def test_a_release_without_readable_policy_is_judged_by_the_one_that_is_given(
    one_unreadable: Desk, capsys: Capture
) -> None:
    found = audited(one_unreadable, capsys, "--policy", "clinic.yaml")
    assert [one["passes"] for one in found["releases"]] == [True] * 4


# The log ---------------------------------------------------------------------------------------------


def test_the_log_tells_who_looked_and_what_did_not_pass(series: Desk, capsys: Capture) -> None:
    found = audited(series, capsys, "--policy", "stricter.yaml", code=4)
    event = series.store.events()[-1]
    assert (event.action, event.actor, event.object) == ("series.audited", "eve", "clinic")
    assert event.payload["policy_digest"] == found["policy_digest"]
    assert event.payload["releases"] == [
        {"release": name, "gates": 18, "not_passed": ["k"], "not_run": NEED_THE_SOURCE}
        for name in (FIRST, REVISED, SECOND, THIRD)
    ]
    assert verify(series.store) == []


def test_evidence_of_a_release_that_was_audited_holds(series: Desk, capsys: Capture) -> None:
    audited(series, capsys)
    policy = series.policy(**LIMITS)
    assert plain_run.run(series.store, policy, series.table(seed=5), "2026Q4") == "clinic-2026Q4-r1"
    audited(series, capsys)
    for release in series.store.releases("clinic"):
        bundle = write_evidence(series.store, release.release_id, series.folder / "e.zip")
        assert examine(bundle, None, None).findings == []
    assert recover(series.store) == []


def test_the_systems_user_audits_where_nobody_is_named(
    series: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELEASEGATE_ACTOR", "the auditor")
    assert series.say("audit", "clinic") == 0
    assert series.store.events()[-1].actor == "the auditor"
    assert series.say("audit", "clinic", "--by", " ") == 2


def test_a_copy_that_can_only_be_read_is_audited_and_not_logged(
    series: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_events = series.store.n_events()
    with monkeypatch.context() as patch:
        patch.setattr(connection, "_open", lambda path, _timeout: connection._open_to_read(path))
        assert audited(series, capsys, *with_inputs())["logged"] is False
        assert series.say("audit", "clinic") == 0
        assert capsys.readouterr().out.splitlines()[-1] == "not logged: the store is read-only"
    assert series.store.n_events() == n_events


# What cannot be audited ------------------------------------------------------------------------------


def test_an_altered_release_is_told_before_anything(series: Desk, capsys: Capture) -> None:
    for folder, name in (("releases", FIRST), ("withdrawn", SECOND)):
        file = series.root / folder / "clinic" / name / "data.csv"
        content = file.read_bytes()
        file.write_bytes(content.replace(b"flu", b"hiv", 1))
        n_events = series.store.n_events()
        assert series.say("audit", "clinic") == 6
        out, err = capsys.readouterr()
        assert (out, err.splitlines()[0]) == (
            "",
            f"releasegate: {name}: altered since it was published: data.csv",
        )
        assert series.store.n_events() == n_events
        file.write_bytes(content)
    assert series.say("audit", "clinic") == 0


def test_a_foreign_file_beside_a_release_fails_the_gate_on_files(series: Desk, capsys: Capture) -> None:
    (series.root / "releases" / "clinic" / FIRST / "raw.csv").write_text("id")
    found = audited(series, capsys, code=4)
    assert [failing(one) for one in found["releases"]] == [["files"], [], [], []]


def test_a_policy_that_was_changed_in_the_store_is_told(
    series: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = series.store.policy
    monkeypatch.setattr(
        "release_store.store.ReleaseStore.policy", lambda _store, digest: {**kept(digest), "seed": 7}
    )
    assert series.say("audit", "clinic") == VerificationFailed.exit_code
    assert f"{FIRST}: the stored policy is not the policy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("clinics",), 2, "unknown series 'clinics' (did you mean 'clinic'?)"),
        (("ward",), 2, "nothing has been released in the series 'ward'"),
        (
            ("clinic", "--policy", "ward.yaml"),
            2,
            "ward.yaml: is a policy of the series 'ward', not of 'clinic'",
        ),
        (("clinic", "--policy", "none.yaml"), 2, "none.yaml: no such file"),
        (("clinic", "--input", "2026Q1"), 2, "--input 2026Q1: is not PERIOD=FILE"),
        (
            ("clinic", "--input", "2026Q4=1.csv"),
            2,
            "--input 2026Q4=1.csv: no release of the period '2026Q4' (did you mean '2026Q3'?)",
        ),
        (("clinic", "--input", "2026Q1=none.csv"), 3, "none.csv: no such file"),
    ],
)
def test_what_cannot_be_audited_is_told(
    series: Desk, capsys: Capture, words: tuple[str, ...], code: int, told: str
) -> None:
    n_events = series.store.n_events()
    assert series.say("audit", *words) == code
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == ("", f"releasegate: {told}")
    assert len(err.splitlines()) == 2
    assert series.store.n_events() == n_events


def test_another_input_than_the_recorded_one_is_told(series: Desk, capsys: Capture) -> None:
    assert series.say("audit", "clinic", "--input", "2026Q2=1.csv") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"releasegate: 1.csv: is not the input of {SECOND}: its digest differs")
    assert len(err.splitlines()) == 2


def test_one_sentence_says_what_passes_and_what_was_not_run(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a release that counts households, some gates are not run even where its input is given."""
    monkeypatch.setattr("cli.review_tables.console", lambda: Console(highlight=False, width=200))
    gates = [{"gate": name, "verdict": verdict} for name, verdict in (("k", "not_run"), ("leak", "pass"))]
    release = {
        "release": FIRST,
        "period": "2026Q1",
        "state": "published",
        "published_at": "2026-04-01T00:00:00",
        "gates": gates,
        "not_run": ["k"],
        "not_passed": [],
        "overridden": [],
        "override": None,
        "purged": False,
        "passes": True,
    }
    said = []
    for had_source in (True, False):
        document = {"releases": [release | {"had_source": had_source}], "not_run": 1, "logged": True}
        show_review(document)
        said.append(capsys.readouterr().out.splitlines()[-1])
    passes = "1 release: every gate that was run passes now; 1 gate was not run because "
    assert said == [
        passes + "the store does not keep what is needed; --json says what",
        passes + "the input is missing; pass --input PERIOD=FILE",
    ]
