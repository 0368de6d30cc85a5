"""Running a stale period again: by another run of the deployment that made its candidate.

The server knows which deployment released the period, and with which parameters. The run is asked for once
for each stale candidate, so that no two decisions begin it twice; it makes a candidate of its own, which
people decide on anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas import filters
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.sorting import FlowRunSort

from policy.errors import ReleaseGateError
from policy.load import load_policy
from policy.location import location_of
from release_store.records import CandidateRecord
from release_store.store import ReleaseStore
from services.observability.logs import log_event
from services.stale_periods import command_to_run_again
from services.trust import trusted_in
from tasks.intake.source import source_paths

FLOW = "release"
OF_A_LOOK = ("wait_until", "look", "seen")  # parameters that a run sets for the next look at its input
_MOST_RUNS = 50


def run_again(store: ReleaseStore, stale: CandidateRecord) -> str:
    """Schedule a run of a stale candidate's period now; return in a few words what happens to it.

    Nothing is scheduled where no deployment made the candidate, or its input is gone; the words then say what
    a person has to do. Never raises: the decision that made it stale has been taken.
    """
    name, period = stale.candidate_id, stale.period
    try:
        with get_client(sync_client=True) as client:
            for made_by, deployment in _runs_of(client, store, stale):
                client.create_flow_run_from_deployment(
                    deployment,
                    parameters={**_parameters(made_by), "period": period},
                    idempotency_key=f"{store.store_id}/again/{name}",
                )
                log_event("period.run_again", series=stale.series, period=period, candidate=name)
                return f"{name} is stale, and its period {period} runs again"
        why = "no deployment can run its period again"
    except Exception as error:  # the client's errors have no common base
        log_event(
            "period.not_run_again",
            level="error",
            series=stale.series,
            period=period,
            candidate=name,
            error=type(error).__name__,
        )
        why = f"Prefect did not schedule its period again ({type(error).__name__})"
    return f"{name} is stale, and {why}: {command_to_run_again(store, stale)}"


def _runs_of(
    client: SyncPrefectClient, store: ReleaseStore, stale: CandidateRecord
) -> Iterator[tuple[FlowRun, UUID]]:
    """Give the runs that can make the stale period again, with their deployments, the newest first."""
    found = client.read_flow_runs(
        flow_filter=filters.FlowFilter(name=filters.FlowFilterName(any_=[FLOW])),
        flow_run_filter=filters.FlowRunFilter(
            name=filters.FlowRunFilterName(any_=[f"{FLOW}-{stale.period}"]),
            deployment_id=filters.FlowRunFilterDeploymentId(is_null_=False),
        ),
        sort=FlowRunSort.EXPECTED_START_TIME_DESC,
        limit=_MOST_RUNS,
    )
    for run in found:
        if run.deployment_id is not None and _makes(run.parameters, store, stale):
            yield run, run.deployment_id


def _parameters(run: FlowRun) -> dict[str, Any]:
    given = {name: value for name, value in run.parameters.items() if value is not None}
    return {name: value for name, value in given.items() if name not in OF_A_LOOK}


def _makes(given: dict[str, Any], store: ReleaseStore, stale: CandidateRecord) -> bool:
    """Tell whether a run with these parameters releases the stale period into this store, if it has its
    input.
    """
    if Path(given.get("store") or "store").resolve() != store.root.resolve() or not given.get("policy"):
        return False
    trusted, path = trusted_in(store.root), Path(given["policy"])
    try:
        policy = load_policy(path, trusted)
        if policy.series != stale.series:
            return False
        if policy.source.wait is not None:  # the run looks for its input again and again
            return True
        written = given.get("input_path")
        files = source_paths(
            policy,
            input_path=location_of(written, "input_path") if written else None,
            period=stale.period,
            base=path.resolve().parent,
            trusted=trusted,
        )
    except ReleaseGateError:
        return False
    return all(file.is_file() for file in files if isinstance(file, Path))
