"""The release flow through the command line: each end's exit code, words, files and history."""

from __future__ import annotations

import html
import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from flows.release import release
from policy.errors import UsageError
from release_store.records import CandidateState, Verdict
from release_store.store import ReleaseStore
from services.steps import pace_of
from tasks.risk.registry import GATES, Gate
from tests.support.front_desk import Desk

Capture = pytest.CaptureFixture[str]

PUBLISHED_FILES = {"data.parquet", "data.csv", "datapackage.json", "manifest.json", "report.html"}
ALL_GATES = [
    "files",
    "truth",
    "leak",
    "unique",
    "k",
    "p_max",
    "h_min",
    "e",
    "pairwise",
    "whole_history",
    "person",
    "person_difference",
    "worlds",
    "suppression",
    "ncp",
]
GATE_KEYS = {
    "gate",
    "verdict",
    "value",
    "relation",
    "threshold",
    "attacker",
    "detail",
    "seconds",
    "witness",
}


def said(capsys: Capture) -> str:
    return capsys.readouterr().out


def complaint(capsys: Capture) -> list[str]:
    """The lines of the error, without the stages that are told as they begin."""
    lines = capsys.readouterr().err.splitlines()
    return lines[next(i for i, line in enumerate(lines) if line.startswith("releasegate: ")) :]


def document(capsys: Capture) -> Any:
    return json.loads(said(capsys))


# Published -------------------------------------------------------------------------------------------


def test_a_published_release_has_its_files_checkpoint_link_and_catalog(published: Desk) -> None:
    series = published.root / "releases" / "clinic"
    release = series / "clinic-2026Q1-r1"
    assert {path.name for path in release.iterdir()} == PUBLISHED_FILES
    assert (series / "clinic-2026Q1-r1.checkpoint.json").is_file()
    assert str((series / "latest").readlink()) == "clinic-2026Q1-r1"
    catalog = json.loads((published.root / "releases" / "catalog.json").read_text())
    assert [one["release_id"] for one in catalog["series"]["clinic"]] == ["clinic-2026Q1-r1"]
    header = (release / "data.csv").read_text().splitlines()[0]
    assert header == "age_min,age_max,income_min,income_max,city,disease,ward"


def test_a_run_shows_every_gate_and_where_the_files_are(desk: Desk, capsys: Capture) -> None:
    assert desk.run(desk.policy(), desk.table()) == 0
    shown = said(capsys)
    for gate in ALL_GATES:
        assert re.search(rf"^{gate} +✓ pass", shown, re.MULTILINE)
    assert "400 rows in" in shown
    assert f"published: {desk.root}/releases/clinic/clinic-2026Q1-r1/" in shown


def test_the_steps_of_a_run_are_counted_to_the_last(desk: Desk, capsys: Capture) -> None:
    """The number of steps is known from the first on; the next run knows how long this one took."""
    assert desk.run(desk.policy(), desk.table()) == 0
    told = re.findall(r"^  (.+) \(step (\d+) of (\d+)\) \.\.\.$", capsys.readouterr().err, re.MULTILINE)
    assert [int(number) for _, number, _ in told] == list(range(1, len(told) + 1))
    assert {int(total) for *_, total in told} == {len(told)}
    assert (told[0][0], told[-1][0]) == ("intake", "publication")
    pace = pace_of(desk.store, "clinic")
    assert pace is not None
    assert pace.rows == 400
    assert min(pace.making, pace.judging) > 0


ATTACKED = ("sadr", "sadr_excess", "pr_dr", "pr_dr_excess")


def test_a_run_reads_the_control_group_from_beside_the_policy(desk: Desk, capsys: Capture) -> None:
    limits = {gate: {"max": 1} for gate in ("err", "umr", *ATTACKED)}
    policy = desk.policy(linkage={"control": "outside-{period}.csv"}, gates=limits)
    assert desk.run(policy, desk.table()) == 3
    assert "outside-2026Q1.csv: no such file" in complaint(capsys)[0]
    desk.table("outside-2026Q1.csv", seed=2)
    assert desk.run(policy, desk.table()) == 3
    assert "outside-2026Q1.csv: 400 of its people are also in the source" in complaint(capsys)[0]
    desk.table("outside-2026Q1.csv", seed=2, person=[f"q{i}" for i in range(400)])
    assert desk.run(policy, desk.table(), "2026Q1", "ann", "--json") == 0
    gates = {gate["gate"]: gate for gate in document(capsys)["gates"]}
    assert all(gates[gate]["verdict"] == "pass" for gate in limits)
    assert "tables of people outside 0.05: " in gates["err"]["detail"]
    assert gates["sadr_excess"]["detail"].count("from a control group of 400 people outside; ") == 1
    # An audit has no control group: what needs one is not run, which is no pass.
    desk.say("audit", "clinic", "--by", "ann", "--input", f"2026Q1={desk.table()}", "--json")
    assert document(capsys)["not_run"] == len(limits)


def test_an_audit_attacks_the_people_whom_the_run_attacked(desk: Desk, capsys: Capture) -> None:
    policy = desk.policy(gates={gate: {"max": 1} for gate in ATTACKED})
    assert desk.run(policy, desk.table(), "2026Q1", "ann", "--json") == 0
    of_run = {gate["gate"]: gate["detail"] for gate in document(capsys)["gates"]}
    desk.say("audit", "clinic", "--by", "ann", "--input", f"2026Q1={desk.table()}", "--json")
    (release,) = document(capsys)["releases"]
    of_audit = {gate["gate"]: gate["detail"] for gate in release["gates"]}
    assert [of_audit[gate] for gate in ATTACKED] == [of_run[gate] for gate in ATTACKED]


def test_a_run_as_json_tells_state_ids_counts_and_gates(desk: Desk, capsys: Capture) -> None:
    assert desk.run(desk.policy(), desk.table(), "2026Q1", "ann", "--json") == 0
    found = document(capsys)
    assert list(found) == [
        "series",
        "period",
        "state",
        "candidate",
        "release",
        "message",
        "report",
        "rows",
        "published_rows",
        "classes",
        "ncp",
        "repaired",
        "over_max_group_size",
        "seconds",
        "stages",
        "gates",
        "stale",
        "advice",
    ]
    assert [one["stage"] for one in found["stages"]] == list(found["seconds"])
    assert (found["state"], found["release"], found["candidate"]) == (
        "published",
        "clinic-2026Q1-r1",
        "clinic-2026Q1-c1",
    )
    assert (found["rows"], found["published_rows"]) == (400, 400)
    assert [gate["gate"] for gate in found["gates"]] == ALL_GATES
    assert all(set(gate) == GATE_KEYS and gate["verdict"] == "pass" for gate in found["gates"])


def test_the_same_period_again_changes_nothing(published: Desk, capsys: Capture) -> None:
    before = _bytes_below(published.root)
    assert published.run(published.policy(), published.table(seed=9)) == 0
    assert "clinic-2026Q1-r1 is published already; nothing was done" in said(capsys)
    assert _bytes_below(published.root) == before


def test_the_next_period_is_compared_with_the_one_before(published: Desk, capsys: Capture) -> None:
    assert published.run(published.policy(), published.table(seed=2), "2026Q2", "ann", "--json") == 0
    pairwise = next(gate for gate in document(capsys)["gates"] if gate["gate"] == "pairwise")
    assert "from 1 earlier release (" in pairwise["detail"]
    assert [release.number for release in published.store.releases("clinic")] == [1, 2]
    assert published.say("verify") == 0


def test_the_same_input_policy_and_seed_give_the_same_bytes(desk: Desk, published_folder: Path) -> None:
    assert desk.run(desk.policy(), desk.table()) == 0
    assert _published_bytes(desk.root) == _published_bytes(published_folder / "store")


def test_a_trained_method_gives_the_same_bytes_in_two_stores(desk: Desk, capsys: Capture) -> None:
    policy = desk.policy(method={"name": "ae-lrhma", "parameters": {"epochs": 2}})
    table = desk.table()
    found = []
    for name in ("one", "two"):
        desk.root = desk.folder / name
        ReleaseStore.create(desk.root)
        assert desk.run(policy, table, "2026Q1", "ann", "--json") == 0
        assert document(capsys)["classes"] > 10
        found.append(_published_bytes(desk.root))
    assert found[0] == found[1]


def _published_bytes(root: Path) -> dict[str, bytes]:
    """The files of the release, but for the manifest, which tells the time."""
    release = root / "releases/clinic/clinic-2026Q1-r1"
    return {
        file: (release / file).read_bytes() for file in PUBLISHED_FILES - {"manifest.json", "report.html"}
    }


def _bytes_below(folder: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_relative_to(folder / "locks") and path.name != "history.duckdb"
    }


# Blocked ---------------------------------------------------------------------------------------------


def test_a_gate_that_fails_holds_the_candidate_back(desk: Desk, capsys: Capture) -> None:
    assert desk.run(desk.policy(gates={"ncp": {"max": 0.0}}), desk.table()) == 4
    shown = said(capsys)
    assert re.search(r"^ncp +✗ fail", shown, re.MULTILINE)
    assert "clinic-2026Q1-c1 is blocked: ncp fail (" in shown
    (advice,) = re.findall(r"^to pass ncp: (.*)$", shown, re.MULTILINE)
    assert re.match(r"passes only with gates\.ncp\.max: 0\.\d+, this candidate's own value", advice)
    assert re.search(r"releasegate evaluate \S+\.yaml --goal 'ncp lowest'$", advice)
    assert "nothing was published; releasegate show clinic-2026Q1-c1" in shown
    assert list((desk.root / "releases").iterdir()) == []
    assert desk.store.candidate("clinic-2026Q1-c1").state is CandidateState.BLOCKED

    assert desk.say("show", "clinic-2026Q1-c1") == 0
    shown = said(capsys)
    assert re.search(r"^ncp +✗ fail .*at most 0% ", shown, re.MULTILINE)
    assert advice.partition(";")[0] in shown
    page = (desk.root / "candidates/clinic-2026Q1-c1/report.html").read_text()
    assert advice.partition(";")[0] in html.unescape(page)
    assert desk.say("history", "--json") == 0
    (kept,) = document(capsys)["candidates"]
    assert (kept["state"], kept["failing"]) == ("blocked", ["ncp"])


def test_a_release_that_looks_away_from_the_history_is_held_back_by_it(
    published: Desk, capsys: Capture
) -> None:
    """The same people with other diseases: an earlier class and a later one share too few values."""
    blind = published.policy(
        method={"name": "mondrian", "history": "blind"}, privacy={"k": 2, "e": 1, "p_max": 1.0}
    )
    assert published.run(blind, published.table(seed=1), "2026Q2", "ann", "--json") == 4
    failing = {gate["gate"]: gate for gate in document(capsys)["gates"] if gate["verdict"] != "pass"}
    assert failing.keys() & {"pairwise", "whole_history"}
    local = [gate for name, gate in failing.items() if name != "worlds"]
    assert all(gate["witness"]["disease"]["failing_classes"] > 0 for gate in local)
    assert [release.period for release in published.store.releases()] == ["2026Q1"]


def test_a_blocked_period_can_be_tried_again(desk: Desk) -> None:
    assert desk.run(desk.policy(gates={"ncp": {"max": 0.0}}), desk.table()) == 4
    assert desk.run(desk.policy(), desk.table()) == 0
    assert [(one.candidate_id, one.state) for one in desk.store.candidates()] == [
        ("clinic-2026Q1-c1", "blocked"),
        ("clinic-2026Q1-c2", "published"),
    ]


def test_a_gate_that_breaks_blocks_and_tells_the_kind_only(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GATES, "k", Gate(_broken))
    assert desk.run(desk.policy(), desk.table(), "2026Q1", "ann", "--json") == 4
    out, err = capsys.readouterr()
    assert "CANARY" not in out + err
    gate = next(gate for gate in json.loads(out)["gates"] if gate["gate"] == "k")
    assert (gate["verdict"], gate["detail"]) == ("error", "the gate failed (ValueError)")
    assert [gate.verdict for gate in desk.store.gates("clinic-2026Q1-c1")].count(Verdict.ERROR) == 1
    assert not (desk.root / "releases" / "clinic").exists()


def _broken(*_arguments: Any, **_named: Any) -> Any:
    raise ValueError("CANARY of a person's row")


# Refused input ---------------------------------------------------------------------------------------


def test_a_table_against_its_expectations_is_refused_before_any_training(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.pipeline.prepare_table", _broken)
    table = desk.table(disease=["CANARY"] * 3 + ["flu"] * 397)
    assert desk.run(desk.policy(), table) == 3
    assert complaint(capsys) == [
        (
            "releasegate: people.csv: 3 of 400 rows in 'disease' hold a value that the policy does not "
            "allow; the most frequent value of 'disease' is 99.2% of the rows, over privacy.p_max"
        ),
        "  Correct the input, or change roles.sensitive.disease.",
    ]
    assert desk.store.candidates() == []
    (kept,) = desk.store.validations("clinic")
    assert not kept.passed
    assert "CANARY" not in json.dumps(kept.results)


def test_a_refused_input_is_shown_by_the_history(desk: Desk, capsys: Capture) -> None:
    assert desk.run(desk.policy(), desk.table(age=200)) == 3
    capsys.readouterr()
    assert desk.say("history", "clinic", "--json") == 0
    found = document(capsys)
    assert (found["releases"], found["candidates"]) == ([], [])
    (refused,) = found["refused_inputs"]
    assert (refused["series"], refused["period"]) == ("clinic", "2026Q1")
    assert [failed.partition(":")[0] for failed in refused["failed"]] == ["age"]
    assert desk.say("history") == 0
    assert re.search(r"^clinic +2026Q1 .* age: expect_", said(capsys), re.MULTILINE)


def test_a_table_that_is_none_is_refused_with_its_line(desk: Desk, capsys: Capture) -> None:
    table = desk.table()
    table.write_text(table.read_text() + "CANARY,1\n")
    assert desk.run(desk.policy(), table) == 3
    told = complaint(capsys)
    assert told[0] == f"releasegate: {table}: line 402 has 2 cells where line 1 has 8"
    assert len(told) == 2


def test_a_period_that_cannot_name_a_folder_is_refused(desk: Desk, capsys: Capture) -> None:
    assert desk.run(desk.policy(), desk.table(), "../x") == 2
    assert complaint(capsys)[0] == (
        "releasegate: --period: the period '../x' is no quarter, and the policy's period is quarterly"
    )
    assert not (desk.root.parent / "x").exists()
    assert desk.store.candidates() == []


def test_a_period_that_has_not_begun_is_refused_before_its_work(desk: Desk, capsys: Capture) -> None:
    logged = desk.store.n_events()
    assert desk.run(desk.policy(), desk.table(), "2099Q1") == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("releasegate: --period: the period 2099Q1 has not begun: it is 2")
    assert told[1].startswith("  Name a period that has ended, such as 2")
    assert len(told) == 2
    assert desk.store.n_events() == logged


def test_the_running_period_is_told_in_a_line_and_released(desk: Desk, capsys: Capture) -> None:
    day = datetime.now(UTC).date()
    running = f"{day.year}Q{(day.month + 2) // 3}"
    assert desk.run(desk.policy(), desk.table(), running) == 0
    assert f"releasegate: the period {running} has not ended yet\n" in capsys.readouterr().err
    with pytest.raises(UsageError, match="the period 2099Q1 has not begun"):
        release.fn(
            policy=str(desk.policy()), period="2099Q1", input_path=str(desk.table()), store=str(desk.root)
        )


def test_a_run_without_the_name_of_who_makes_it_is_refused_before_its_work(
    desk: Desk, capsys: Capture
) -> None:
    assert desk.run(desk.policy(), desk.table(), by=" ") == 2
    told = capsys.readouterr().err
    assert "releasegate: --by: the candidate has no name\n  Say who makes it.\n" in told
    assert "intake" not in told
    assert not list((desk.root / "candidates").iterdir())


def test_the_period_follows_from_the_policy_where_it_is_not_given(desk: Desk) -> None:
    from policy.period import period_at

    before = period_at("quarterly", datetime.now(UTC).date())
    assert desk.say("run", desk.policy(), "--input", desk.table(), "--by", "ann") == 0
    after = period_at("quarterly", datetime.now(UTC).date())
    assert next(one.period for one in desk.store.releases()) in (before, after)


# Unforeseen ------------------------------------------------------------------------------------------

STAGES = {
    "services.pipeline.prepare_table": "the stage 'preprocessing: convert columns to arrays'",
    "services.assessment.read_classes": "the stage 'risk gate: assess the staged files'",
    "services.release.period_of": "the run",
}


@pytest.mark.parametrize(("broken", "what"), STAGES.items(), ids=STAGES)
def test_what_nobody_foresaw_is_told_by_its_kind_and_place_alone(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, broken: str, what: str
) -> None:
    monkeypatch.setattr(broken, _broken)
    assert desk.run(desk.policy(), desk.table()) == 1
    out, err = capsys.readouterr()
    assert "CANARY" not in out + err
    assert "Traceback" not in err
    first, second = err.splitlines()[-2:]
    file = broken.rpartition(".")[0].replace(".", "/")
    assert re.fullmatch(rf"releasegate: {re.escape(what)} failed \(ValueError at {file}\.py:\d+\)", first)
    assert second == "  This is a bug in releasegate: please report it with this line."
    assert desk.store.releases() == []


def test_a_candidate_whose_gates_could_not_be_asked_has_failed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.assessment.assess", _broken)
    assert desk.run(desk.policy(), desk.table()) == 1
    (candidate,) = desk.store.candidates()
    assert candidate.state is CandidateState.FAILED
    assert desk.say("verify") == 0


def test_two_runs_of_one_period_at_once_make_one_release(desk: Desk) -> None:
    # Whoever comes second to the series' lock finds the period published.
    policy, table = desk.policy(), desk.table()
    assert desk.run(policy, table, "2026Q1", "ann") == 0
    unseen = ReleaseStore.last_release_of
    calls = []

    def late(store: ReleaseStore, series: str, period: str) -> object:
        calls.append(period)
        return None if len(calls) == 1 else unseen(store, series, period)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReleaseStore, "last_release_of", late)
        assert desk.run(policy, table, "2026Q1", "bob") == 0
    assert [release.state for release in desk.store.releases()] == ["published"]
    assert len(calls) == 2


def test_an_input_that_is_not_there_or_no_table_is_logged_and_told(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    program = tmp_path / "tell.py"
    program.write_text(f"import sys\nopen({str(told)!r}, 'a').write(sys.stdin.read() + '\\n')\n")
    monkeypatch.setenv("RELEASEGATE_NOTICE_COMMAND", f"{sys.executable} {program}")
    (desk.folder / "bad.csv").write_bytes(b"\x00\x01cnryvalue")
    for name in ("none.csv", "bad.csv"):
        before = desk.store.n_events()
        assert desk.run(desk.policy(), desk.folder / name, "2026Q1") in (2, 3)
        (event,) = desk.store.events(before)
        assert (event.action, event.object, event.payload) == ("input.refused", "clinic/2026Q1", {})
    text = told.read_text()
    assert text.count("is missing, or cannot be read: nothing was published") == 2
    assert "cnryvalue" not in text
    assert desk.say("verify") == 0
