"""The deployment for releases on a Dask cluster: what the server is told of it, and where it refuses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples.cluster.certificates import write_certificates
from policy.errors import UsageError
from tests.spec import docs_pages
from tests.support.front_desk import Desk

pytestmark = pytest.mark.usefixtures("prefect_server")
NAME = "clustered-release"


def written() -> dict[str, Any]:
    """Return the deployment as `prefect.yaml` has it."""
    document = yaml.safe_load((docs_pages.ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    (found,) = (one for one in document["deployments"] if one["name"] == NAME)
    return dict(found)


def prefect(*arguments: str) -> None:
    """Carry out a command of Prefect on the server of the tests."""
    from prefect.settings import PREFECT_API_URL

    done = subprocess.run(
        [sys.executable, "-m", "prefect", *arguments],
        cwd=docs_pages.ROOT,
        env={**os.environ, "PREFECT_API_URL": str(PREFECT_API_URL.value())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def ended(desk: Desk) -> Any:
    """Call the flow with the parameters of the deployment, and return its state."""
    from flows.release import release

    parameters = {**written()["parameters"], "store": str(desk.root)}
    return release(
        policy=str(desk.policy()),
        period="2026Q1",
        input_path=str(desk.table()),
        return_state=True,
        **parameters,
    )


def trust_a_cluster(desk: Desk) -> None:
    """Name a cluster in `trusted.yaml` that is not running: a small table needs none."""
    keys = desk.folder / "certificates"
    write_certificates(keys, ["127.0.0.1"])
    files = f"ca: {keys}/ca.pem, certificate: {keys}/node.pem, key: {keys}/node.key"
    path = desk.folder / "trusted.yaml"
    path.write_text(f"engine: {{name: dask, address: 'tls://127.0.0.1:1', {files}}}\n")
    path.chmod(0o600)


def test_the_server_knows_its_queue_and_its_parameters(tmp_path: Path) -> None:
    from prefect.client.orchestration import get_client
    from prefect.exceptions import PrefectHTTPStatusError

    file = tmp_path / "prefect.yaml"
    shutil.copy(docs_pages.ROOT / "prefect.yaml", file)
    prefect("work-pool", "create", "release-pool", "--type", "process", "--overwrite")
    prefect("--no-prompt", "deploy", "--name", NAME, "--prefect-file", str(file))
    with get_client(sync_client=True) as client:
        found = client.read_deployment_by_name(f"release/{NAME}")
        assert (found.work_pool_name, found.work_queue_name) == ("release-pool", "cluster")
        assert found.parameters == {"store": "store", "engine": "dask"}
        assert found.job_variables == written()["work_pool"]["job_variables"]
        assert (found.global_concurrency_limit.limit, found.schedules) == (1, [])
        parameters = {"policy": "policy.yaml", "period": "2026Q1"}
        made = client.create_flow_run_from_deployment(found.id, parameters=parameters)
        assert made.parameters["engine"] == "dask"
        with pytest.raises(PrefectHTTPStatusError, match="field 'engine'"):
            client.create_flow_run_from_deployment(found.id, parameters={**parameters, "engine": "spark"})
        prefect("work-queue", "set-concurrency-limit", "cluster", "1", "--pool", "release-pool")
        assert client.read_work_queue(found.work_queue_id).concurrency_limit == 1


def test_a_store_that_names_no_engine_is_refused_before_anything_is_read(desk: Desk) -> None:
    state = ended(desk)
    assert state.is_failed()
    error = state.result(raise_on_failure=False)
    assert isinstance(error, UsageError)
    assert str(error).splitlines()[0] == "engine: must be dask, and the store's trusted.yaml names no engine"
    assert not desk.store.candidates("clinic")


def test_a_store_that_names_a_cluster_is_released(desk: Desk) -> None:
    trust_a_cluster(desk)
    assert ended(desk).is_completed()
    assert len(desk.store.releases()) == 1
