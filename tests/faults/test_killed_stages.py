"""A run killed with -9 in any of its stages, through the flow and the command line, loses nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from release_store.checkup import Condition, checkup
from release_store.publication import unsettled
from release_store.records import CandidateState
from release_store.verification import verify
from tests.faults.site import ROOT, Site
from tests.flows.front_desk import Desk

pytestmark = [pytest.mark.prefect, pytest.mark.slow]
STAGES = {
    "reading": ("intake", "validation", "preprocessing"),
    "making": ("representation", "partitioning", "aggregation", "repair", "recoding"),
    "keeping": ("staging", "figures", "risk gate", "report", "publication"),
}


def run(desk: Desk, site: Site, kill_in: str | None = None) -> tuple[int, str]:
    """Run the flow by the command, killed when it tells of a stage; return how it ended and what it said."""
    table = desk.folder / "people.csv"
    words = ["run", str(desk.policy()), "--input", str(table), "--period", "2026Q1", "--by", "ann"]
    with subprocess.Popen(
        [sys.executable, "-m", "flows", "--store", str(desk.root), *words],
        cwd=ROOT,
        env=site.environment,
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


@pytest.mark.parametrize("part", STAGES)
def test_what_a_run_leaves_in_each_stage_is_settled_and_the_next_one_publishes(
    desk: Desk, site: Site, part: str
) -> None:
    desk.table()
    for stage in STAGES[part]:
        before = desk.store.events()
        code, _ = run(desk, site, stage)
        assert code == -9, f"the run was over before {stage}"
        logged = desk.store.events()
        assert logged[: len(before)] == before, stage
        found = checkup(desk.root)
        assert [one for one in found if one.condition is Condition.WRONG] == [], stage
        assert unsettled(desk.store) == [], stage
        assert desk.store.events()[: len(logged)] == logged, stage
        assert verify(desk.store) == [], stage
        states = {one.state for one in desk.store.candidates()}
        open_ones = {CandidateState.APPROVED} if stage in ("report", "publication") else set()
        assert states <= {CandidateState.FAILED} | open_ones | {CandidateState.PUBLISHED}, stage
    code, said = run(desk, site)
    assert code == 0, said
    assert [one.release_id for one in desk.store.releases()] == ["clinic-2026Q1-r1"]
    assert len([one for one in desk.store.candidates() if one.state is CandidateState.PUBLISHED]) == 1
    assert verify(desk.store) == []
