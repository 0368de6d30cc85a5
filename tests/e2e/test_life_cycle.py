"""Releases as an agency runs them: a real server with a password, a real worker, a real browser.

One story is lived once (`story.py`), in minutes; each test asks one thing of what it left.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
import yaml

from release_store.records import CandidateState, ReleaseState
from release_store.verification.verify import verify
from tests.e2e.browser import lacking
from tests.e2e.site import Site
from tests.e2e.story import (
    APPROVERS,
    CONTENT,
    FIGURES,
    METHODS,
    MISSED,
    PAGES_PERIOD,
    PUBLIC,
    SECRET,
    SERIES,
    Document,
    Facts,
    Story,
)
from tests.support import canary_search
from tests.support.prefect_site import one_artifact

BROWSER_VARIABLE = "RELEASEGATE_E2E_BROWSER"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if os.environ.get(BROWSER_VARIABLE) == "required":
        assert not lacking(), f"{BROWSER_VARIABLE} is required, and {' and '.join(lacking())} are not here"
    made = Site(tmp_path_factory.mktemp("e2e") / "site")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def facts(site: Site) -> Facts:
    told = Story(site).tell()
    print({name: round(seconds) for name, seconds in told.seconds.items()})
    return told


def _artifact(facts: Facts, key: str, run: Document) -> Document:
    """Return what a run left under a key."""
    return one_artifact(
        [one for one in facts.artifacts if one["key"] == key and one["flow_run_id"] == run["id"]]
    )


def test_twelve_commands_of_the_page_lead_to_a_running_schedule(facts: Facts, site: Site) -> None:
    assert len(facts.commands) == 12
    document = yaml.safe_load((site.project / "prefect.yaml").read_text())
    assert facts.deployments.keys() == {one["name"] for one in document["deployments"]}
    assert facts.runs["first"]["state_type"] == "COMPLETED", facts.runs["first"]["state"]
    for name, deployment in facts.deployments.items():
        assert bool(facts.scheduled[name]) == bool(deployment["schedules"]), name
    mondays = [datetime.fromisoformat(r["expected_start_time"]) for r in facts.scheduled["audit-review"]]
    assert {(moment.isoweekday(), moment.hour) for moment in mondays} == {(1, 5)}


def test_the_commands_of_the_page_leave_doctor_content(facts: Facts) -> None:
    """Nothing is wrong with the store, the people, the settings, the server and its automations."""
    assert "automation marks crashed runs" in facts.doctor
    assert facts.doctor.rstrip().endswith(CONTENT)


def test_without_the_password_the_server_tells_nothing(facts: Facts) -> None:
    assert facts.no_password == 401


def test_the_server_listens_on_this_machine_alone(facts: Facts) -> None:
    assert facts.listens == {"127.0.0.1"}


def test_a_run_shows_its_stages_and_its_gates(facts: Facts) -> None:
    table = one_artifact(facts.gates)
    assert {row["verdict"] for row in json.loads(table["data"])} == {"pass"}
    stages = {run["name"].partition("-")[0] for run in facts.task_runs}
    assert any(name.startswith("intake: read the period's table") for name in stages), stages


def test_the_verdict_and_risk_against_utility_are_seen_in_prefects_pages(facts: Facts, site: Site) -> None:
    verdict = one_artifact(facts.verdict)
    assert f"`{facts.runs['first']['state']['message'].partition(' ')[0]}`" in verdict["data"]
    assert "[this run](" in verdict["data"]
    drawn = [one for one in facts.artifacts if one["key"] == f"risk-utility-{SERIES}"]
    assert drawn
    assert all(len(one["data"]) < 60_000 for one in drawn)
    if lacking():
        pytest.skip(f"no {' and no '.join(lacking())} here: apt-get install chromium chromium-driver")
    assert "# " not in facts.verdict_page.partition("Next steps")[0], "Markdown is shown as it is written"
    assert "releasegate show" in facts.verdict_page
    assert facts.picture_size[0] == 840


def test_a_release_that_a_gate_holds_back_is_a_failed_run_and_no_release(facts: Facts, site: Site) -> None:
    run = facts.runs["blocked"]
    assert run["state_type"] == "FAILED"
    assert "is blocked" in run["state"]["message"]
    (candidate,) = site.store.candidates("strict")
    assert candidate.state is CandidateState.BLOCKED
    assert site.store.releases("strict") == []


def test_a_refused_input_is_a_failed_run_that_names_no_value(facts: Facts) -> None:
    run = facts.runs["refused"]
    assert run["state_type"] == "FAILED"
    assert "diagnosis" in run["state"]["message"]


def test_a_candidate_waits_while_server_and_worker_are_dead(facts: Facts) -> None:
    assert facts.after_the_kill == CandidateState.AWAITING_APPROVAL
    assert facts.killed.keys() == {"server", "worker"}
    assert all(number >= 1 for number in facts.killed.values())


def test_two_people_publish_it(facts: Facts, site: Site) -> None:
    release = site.store.last_release_of(SERIES, facts.quarters[-1])
    assert release is not None
    assert release.candidate_id == facts.candidate
    given = site.store.decisions(facts.candidate)
    assert [(one.by, one.decision) for one in given] == [(name, "approve") for name in APPROVERS]
    assert facts.runs["one"]["state"]["message"] == f"{facts.candidate} has 1 of 2 approvals"
    assert facts.runs["two"]["state"]["message"] == f"{release.release_id} is published"


def test_one_person_is_not_two(facts: Facts, site: Site) -> None:
    run = facts.runs["again"]
    assert run["state_type"] == "FAILED"
    assert "has decided on it before" in run["state"]["message"]
    refused = [one for one in site.store.events() if one.action == "decision.refused"]
    assert [(one.actor, one.object) for one in refused] == [(APPROVERS[0], facts.candidate)]


def test_one_of_them_decided_in_a_browser(facts: Facts) -> None:
    if lacking():
        pytest.skip(f"no {' and no '.join(lacking())} here: apt-get install chromium chromium-driver")
    assert facts.by_form == facts.runs["one"]["id"]
    assert facts.runs["one"]["state_type"] == "COMPLETED"


def test_a_decision_that_is_none_makes_no_run(facts: Facts) -> None:
    assert facts.bad_decision in (409, 422)


def test_late_ticks_make_one_release_a_period(facts: Facts, site: Site) -> None:
    assert len(facts.missed) == 4
    assert [run["state_type"] for _, run in facts.missed] == ["COMPLETED"] * 4
    releases = site.store.releases(MISSED)
    assert sorted(one.release_id for one in releases) == [f"{MISSED}-{name}-r1" for name in facts.quarters]
    assert len(site.store.candidates(MISSED)) == 3


def test_a_run_that_waited_for_another_is_for_the_period_of_its_schedule(facts: Facts, site: Site) -> None:
    waited = [(period, run) for period, run in facts.missed if run["id"] in facts.queued]
    assert waited, "no run had to wait: one at a time is not what happened"
    for period, run in waited:
        assert f"{MISSED}-{period}-r1 is published" in run["state"]["message"]


def test_methods_are_laid_side_by_side_from_a_form(facts: Facts, site: Site) -> None:
    run = facts.runs["evaluated"]
    assert run["state"]["message"] == f"{len(METHODS)} runs, 0 failed; figures in {FIGURES}/"
    table = _artifact(facts, "evaluation", run)
    assert sorted(row["method"] for row in json.loads(table["data"])) == sorted(METHODS)
    assert list((site.project / FIGURES).glob("*.csv"))


def test_a_release_is_withdrawn_from_a_form(facts: Facts, site: Site) -> None:
    release = site.store.last_release_of(SERIES, PAGES_PERIOD)
    assert release is not None
    run = facts.runs["withdrawn"]
    assert run["state_type"] == "COMPLETED", run["state"]
    assert run["state"]["message"].startswith(f"{release.release_id} is withdrawn")
    assert release.state is ReleaseState.WITHDRAWN
    withdrawn = [one for one in site.store.events() if one.action == "release.withdrawn"]
    assert [(one.actor, one.object) for one in withdrawn] == [(APPROVERS[0], release.release_id)]


def test_verify_and_the_review_find_nothing(facts: Facts, site: Site) -> None:
    assert verify(site.store) == []
    assert "OK, no tampering found" in facts.verified
    assert facts.runs["review"]["state_type"] == "COMPLETED", facts.runs["review"]["state"]
    page = _artifact(facts, "audit-review", facts.runs["review"])
    for release in site.store.releases():
        assert f"| {release.release_id} |" in page["data"]
    reviews = [one.object for one in site.store.events() if one.action == "series.audited"]
    assert sorted(reviews) == sorted({one.series for one in site.store.releases()})


# What must not be found -----------------------------------------------------------------------------------


def _inputs(site: Site) -> set[Path]:
    return set((site.project / "demo").rglob("*.csv"))


def test_nothing_that_identifies_a_person_is_anywhere(facts: Facts, site: Site) -> None:
    assert len(_inputs(site)) >= 4
    assert canary_search.find(site.folder, SECRET, but=_inputs(site)) == {}
    assert canary_search.find(site.project / "demo", SECRET).keys() == SECRET.keys()


def test_published_cells_are_in_published_files_and_their_classes_alone(facts: Facts, site: Site) -> None:
    found = canary_search.find(site.folder, PUBLIC, but=_inputs(site))
    assert found.keys() == PUBLIC.keys()
    store = site.store.root
    data = {str(path.relative_to(site.folder)) for path in store.rglob("data.*")}
    history = f"{(store / 'history.duckdb').relative_to(site.folder)}: class_"
    for places in found.values():
        assert places & data
        reports = {str(Path(place).parent / "report.html") for place in places & data}  # with ten of its rows
        elsewhere = places - data - reports
        assert all(place.startswith(history) for place in elsewhere), elsewhere


def test_what_was_searched_is_what_the_runs_left(facts: Facts, site: Site) -> None:
    """The server's database with what is not yet written back, its logs, and its events."""
    prefect = site.folder / "prefect"
    assert (prefect / "prefect.db").is_file()
    assert (prefect / "prefect.db-wal").is_file()
    with closing(sqlite3.connect(prefect / "prefect.db")) as con:
        counts = {
            table: con.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("flow_run", "task_run", "artifact", "log", "events")
        }
    assert counts["flow_run"] >= len(facts.runs) + len(facts.missed)
    assert all(counts.values()), counts
