"""A run killed with -9 in any of its stages, through the flow and the command line, loses nothing."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cli.__main__ import main
from release_store.checkup import Condition, check_store
from release_store.publishing.publication import unsettled
from release_store.records import CandidateState
from release_store.verification.verify import verify
from tests.faults.site import ROOT, Site
from tests.support.front_desk import Desk
from tests.support.plain_prefect import plain_prefect

STAGES = {
    "reading": ("intake", "validation", "preprocessing"),
    "making": ("representation", "partitioning", "aggregation", "repair", "recoding"),
    "keeping": ("staging", "figures", "risk gate", "report", "publication"),
}


def words(desk: Desk) -> list[str]:
    """The words of a run."""
    told = ["run", str(desk.policy()), "--input", str(desk.table()), "--period", "2026Q1", "--by", "ann"]
    return ["--store", str(desk.root), *told]


def run(desk: Desk, environment: dict[str, str], kill_in: str | None = None) -> tuple[int, str]:
    """Run the flow by the command, killed where a stage begins; return how it ended and what it said."""
    command = ["cli"] if kill_in is None else ["tests.faults.held_run", kill_in]
    with subprocess.Popen(
        [sys.executable, "-m", *command, *words(desk)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        assert child.stdout is not None
        for line in child.stderr:
            if kill_in is not None and line.strip().startswith(kill_in):
                child.kill()
        return child.wait(), child.stdout.read()


def killed(desk: Desk, environment: dict[str, str], stage: str) -> None:
    """Kill a run in a stage, and see that what it leaves is settled and nothing is lost."""
    before = desk.store.events()
    code, _ = run(desk, environment, stage)
    assert code == -9, f"the run was over before {stage}"
    logged = desk.store.events()
    assert logged[: len(before)] == before, stage
    found = check_store(desk.root)
    assert [one for one in found if one.condition is Condition.WRONG] == [], stage
    assert unsettled(desk.store) == [], stage
    assert desk.store.events()[: len(logged)] == logged, stage
    assert verify(desk.store) == [], stage
    states = {one.state for one in desk.store.candidates()}
    open_ones = {CandidateState.APPROVED} if stage in ("report", "publication") else set()
    assert states <= {CandidateState.FAILED} | open_ones | {CandidateState.PUBLISHED}, stage


def only_one_is_published(desk: Desk) -> bool:
    """Tell whether the period has its one release, and the store is as it should be."""
    assert verify(desk.store) == []
    states = [one.state for one in desk.store.candidates()]
    released = [one.release_id for one in desk.store.releases()]
    return released == ["clinic-2026Q1-r1"] and states.count(CandidateState.PUBLISHED) == 1


def test_what_a_run_leaves_at_the_gate_is_settled_and_the_next_one_publishes(
    desk: Desk, tmp_path: Path
) -> None:
    with closing(Site(tmp_path / "site")) as nobody:
        killed(desk, nobody.serverless, "risk gate")
    assert [one.state for one in desk.store.candidates()] == [CandidateState.FAILED]
    with plain_prefect():
        assert main(words(desk)) == 0
    assert only_one_is_published(desk)


@pytest.mark.nightly
@pytest.mark.parametrize("part", STAGES)
def test_what_a_run_leaves_in_each_stage_is_settled_and_the_next_one_publishes(
    desk: Desk, site: Site, part: str
) -> None:
    for stage in STAGES[part]:
        killed(desk, site.environment, stage)
    code, said = run(desk, site.environment)
    assert code == 0, said
    assert only_one_is_published(desk)
