"""OpenLineage: which table a run read and which release came of it, told to a file or a server.

`RELEASEGATE_OPENLINEAGE` is a file, to which each event is added as one line of JSON, or the address of a
server. Datasets are told by name, digest, columns and counts; an error by its kind. The events are those of
https://openlineage.io/spec (2-0-2), made by the project's own client.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from policy.errors import ReleaseGateError
from release_store.canonical import iso, utc_now
from services.observability.limit import run_with_timeout
from services.observability.logs import log_event
from services.observability.web import check_web_address, request_json, secret_of

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset
    from openlineage.client.facet_v2 import RunFacet

VARIABLE = "RELEASEGATE_OPENLINEAGE"
KEY_VARIABLE = "RELEASEGATE_OPENLINEAGE_KEY_FILE"
NAMESPACE = "releasegate"
PRODUCER = "urn:releasegate:0.1"
_ENDPOINT = "/api/v1/lineage"
_LIMIT = 12.0  # seconds for one event, whatever it waits for


@dataclass(frozen=True)
class Dataset:
    """A table as lineage names it: its name, its version, and its columns with what they are."""

    name: str
    version: str
    columns: dict[str, str] = field(default_factory=dict)  # name to role
    rows: int | None = None
    n_bytes: int | None = None
    n_files: int | None = None


@dataclass(frozen=True)
class Parent:
    """The flow run that a run is part of: its id, and the name of its deployment or flow."""

    run_id: str
    name: str


class Lineage:
    """The events of one run: START, then COMPLETE, FAIL or ABORT. No method raises."""

    def __init__(self, job: str, parent: Parent | None = None) -> None:
        self.job, self.parent = job, parent
        self.asked = bool(os.environ.get(VARIABLE))
        self.inputs: list[Dataset] = []
        self.outputs: list[Dataset] = []
        self._told = False
        self._run_id = ""

    def start(self) -> None:
        """Tell that the run begins."""
        if self.asked:
            from openlineage.client.uuid import generate_new_uuid

            self._run_id = str(generate_new_uuid())
            self._emit("START")

    def end(self, kind: str, error: str = "") -> None:
        """Tell how it ended: COMPLETE, FAIL or ABORT, with the kind of the error."""
        if self.asked:
            self._emit(kind, error)

    def _emit(self, kind: str, error: str = "") -> None:
        try:
            event = run_event(
                kind, self._run_id, self.job, self.inputs, self.outputs, parent=self.parent, error=error
            )
            _send(event)
        except Exception as failure:  # a server that is away is no reason to fail a release
            kind = type(failure).__name__
            log_event("lineage.failed", level="error", error=kind)
            if not self._told:
                why = failure.message if isinstance(failure, ReleaseGateError) else kind
                told = f"releasegate: the lineage could not be sent to {VARIABLE}: {why}"
                print(told, file=sys.stderr, flush=True)
            self._told = True


def _send(event: Any) -> None:
    """Send one event. The client's own settings, of the environment and of files, are not asked.

    Its way to a server is not taken either: it reads answers of any length, sends the key through a proxy to
    this machine, and in its place whatever ~/.netrc has for the host.
    """
    wanted = os.environ[VARIABLE]
    if is_address(wanted):
        from openlineage.client.serde import Serde

        document = json.loads(Serde.to_json(event))
        request_json(_endpoint(wanted), document, headers=_headers(), timeout=_LIMIT)
        return
    from openlineage.client.transport.file import FileConfig, FileTransport

    transport = FileTransport(FileConfig(log_file_path=wanted, append=True))
    run_with_timeout(_LIMIT, lambda: transport.emit(event))


def run_event(
    kind: str,
    run_id: str,
    job: str,
    inputs: Sequence[Dataset],
    outputs: Sequence[Dataset],
    *,
    parent: Parent | None = None,
    error: str = "",
) -> Any:
    """Return one event of a run. `kind` is START, COMPLETE, FAIL or ABORT, `error` words of ours alone."""
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import error_message_run, job_type_job

    facets: dict[str, RunFacet] = {}
    if parent is not None:
        facets["parent"] = _parent(parent)
    if error:
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(error, "python", producer=PRODUCER)
    job_type = job_type_job.JobTypeJobFacet("BATCH", "RELEASEGATE", "FLOW", producer=PRODUCER)
    return RunEvent(
        eventTime=iso(utc_now()),
        eventType=RunState[kind],
        run=Run(run_id, facets),
        job=Job(NAMESPACE, job, {"jobType": job_type}),
        inputs=[_input(one) for one in inputs],
        outputs=[_output(one) for one in outputs],
        producer=PRODUCER,
    )


def check_target() -> None:
    """Raise UsageError for an address or a key that cannot be used; nothing is sent."""
    wanted = os.environ.get(VARIABLE, "")
    if is_address(wanted):
        check_web_address(wanted, VARIABLE)
        _headers()


def is_address(wanted: str) -> bool:
    """Tell whether the setting is the address of a server; else it is a file."""
    return "://" in wanted


def _endpoint(wanted: str) -> str:
    """Return where events go: the address itself if it has a path. Raises as `check_web_address`."""
    check_web_address(wanted, VARIABLE)
    parts = urlsplit(wanted)
    return parts.geturl() if parts.path.strip("/") else parts._replace(path=_ENDPOINT).geturl()


def _headers() -> dict[str, str]:
    path = os.environ.get(KEY_VARIABLE)
    return {"Authorization": f"Bearer {secret_of(Path(path), KEY_VARIABLE)}"} if path else {}


def _parent(parent: Parent) -> RunFacet:
    from openlineage.client.facet_v2 import parent_run

    return parent_run.ParentRunFacet(
        run=parent_run.Run(parent.run_id), job=parent_run.Job("prefect", parent.name), producer=PRODUCER
    )


def _facets(of: Dataset) -> dict[str, Any]:
    from openlineage.client.facet_v2 import dataset_version_dataset, schema_dataset

    facets: dict[str, Any] = {
        "version": dataset_version_dataset.DatasetVersionDatasetFacet(of.version, producer=PRODUCER)
    }
    if of.columns:
        columns = [
            schema_dataset.SchemaDatasetFacetFields(name=name, description=role, ordinal_position=position)
            for position, (name, role) in enumerate(of.columns.items(), start=1)
        ]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(columns, producer=PRODUCER)
    return facets


def _input(of: Dataset) -> InputDataset:
    from openlineage.client.event_v2 import InputDataset
    from openlineage.client.facet_v2 import input_statistics_input_dataset

    facets: dict[str, Any] = {}
    if of.rows is not None:
        facets["inputStatistics"] = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
            rowCount=of.rows, producer=PRODUCER
        )
    return InputDataset(NAMESPACE, of.name, inputFacets=facets, facets=_facets(of))


def _output(of: Dataset) -> OutputDataset:
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import output_statistics_output_dataset

    facets: dict[str, Any] = {}
    if of.rows is not None:
        facets["outputStatistics"] = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rowCount=of.rows, size=of.n_bytes, fileCount=of.n_files, producer=PRODUCER
        )
    return OutputDataset(NAMESPACE, of.name, outputFacets=facets, facets=_facets(of))
