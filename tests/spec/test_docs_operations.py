"""docs/operations.md names the deployments of prefect.yaml; `make test-e2e` carries out its commands."""

from __future__ import annotations

import re

import yaml

from tests.spec import docs_pages

PAGE = docs_pages.ROOT / "docs" / "operations.md"
WIDEST, LARGEST = 1200, 150_000
TITLE = "From nothing to a running schedule"


def test_every_deployment_is_described_and_no_other() -> None:
    document = yaml.safe_load((docs_pages.ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    rows = docs_pages.table(docs_pages.section(PAGE, "Deployments"))
    assert [docs_pages.code(row[0]) for row in rows] == [one["name"] for one in document["deployments"]]


def test_twelve_commands_lead_to_a_running_schedule() -> None:
    shown = docs_pages.section(PAGE, TITLE)
    lines = [
        line for block in docs_pages.blocks(PAGE) if block.text in shown for line in block.text.splitlines()
    ]
    assert len(lines) == 12
    assert sum(line.endswith("&") for line in lines) == 2


def test_every_schedule_has_a_slug_and_every_deployment_runs_once_at_a_time() -> None:
    document = yaml.safe_load((docs_pages.ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    for deployment in document["deployments"]:
        assert deployment["concurrency_limit"] == {"limit": 1, "collision_strategy": "ENQUEUE"}
        slugs = [schedule["slug"] for schedule in deployment["schedules"]]
        assert len(set(slugs)) == len(slugs)


def test_the_deployment_for_a_cluster_requires_it_and_has_a_queue_of_its_own() -> None:
    document = yaml.safe_load((docs_pages.ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    engines = {one["name"]: one["parameters"].get("engine") for one in document["deployments"]}
    assert {name: engine for name, engine in engines.items() if engine} == {"clustered-release": "dask"}
    queues = {one["name"]: one["work_pool"].get("work_queue_name") for one in document["deployments"]}
    assert {name: queue for name, queue in queues.items() if queue} == {"clustered-release": "cluster"}
    for deployment in document["deployments"]:
        pool = deployment["work_pool"]
        assert (pool["name"], pool["job_variables"]["env"]) == (
            "release-pool",
            document["definitions"]["environment"],
        )


def test_the_pictures_are_there_and_small() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+\.png)\)", PAGE.read_text(encoding="utf-8"))
    assert len(shown) == 3
    for name in shown:
        path = PAGE.parent / name
        assert path.stat().st_size < LARGEST
        assert int.from_bytes(path.read_bytes()[16:20]) <= WIDEST  # the first field of a PNG's header
