"""A full disk, and folders that cannot be written: a run says so in two lines, and the next one works."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from release_store.connection import DATABASE
from release_store.verification import verify
from tests.faults.site import ROOT, Site
from tests.flows.front_desk import Desk
from tests.timeouts import HANG_TIMEOUT

pytestmark = [pytest.mark.prefect, pytest.mark.slow]
# Root may write anywhere, unless it lays that right down.
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]


def run(
    desk: Desk, site: Site, prefix: list[str] | None = None, before: Callable[[], None] | None = None
) -> tuple[int, str]:
    """Run the flow by the command; return its exit code and the error that it tells."""
    words = ["run", str(desk.policy()), "--input", str(desk.table()), "--period", "2026Q1"]
    done = subprocess.run(
        [*(prefix or []), sys.executable, "-m", "flows", "--store", str(desk.root), *words],
        cwd=ROOT,
        env=site.environment,
        preexec_fn=before,
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, "".join(done.stderr.partition("releasegate: ")[1:])


def publishes(desk: Desk, site: Site) -> bool:
    """Tell whether a run publishes now, and the store is as it should be."""
    code, _ = run(desk, site)
    found = [one.release_id for one in desk.store.releases()]
    return code == 0 and found == ["clinic-2026Q1-r1"] and verify(desk.store) == []


@pytest.mark.parametrize(
    ("share", "codes"),
    [(0.002, {1}), (0.1, {0, 1}), (0.9, {0, 1})],
    ids=["no file", "some files", "less than the database"],
)
def test_a_full_disk_is_told_and_nothing_is_half_done(
    desk: Desk, site: Site, share: float, codes: set[int]
) -> None:
    """By the limit on the size of a file that the system lets a process write: the same refusals.

    What there is room for is published; whatever is refused, it is told, and the next run publishes.
    """
    limit = int(share * (desk.root / DATABASE).stat().st_size)
    logged = desk.store.events()

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    code, said = run(desk, site, before=full)
    assert code in codes, said
    assert len(desk.store.releases()) == (code == 0)
    assert desk.store.events()[: len(logged)] == logged
    if code:
        assert len(said.splitlines()) == 2, said
        assert "disk" in said.splitlines()[1], said
    assert publishes(desk, site)


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write anywhere, without setpriv"
)
@pytest.mark.parametrize("folder", ["candidates", "releases", "locks", "."])
def test_a_folder_that_cannot_be_written_is_told(desk: Desk, site: Site, folder: str) -> None:
    path = desk.root / folder
    path.chmod(0o500)
    try:
        code, said = run(desk, site, WITHOUT_RIGHTS if os.geteuid() == 0 else None)
    finally:
        path.chmod(0o700)
    assert code == 1, said
    told = [line for line in said.splitlines() if not line.startswith("releasegate: notices wait")]
    assert len(told) == 2, said
    assert "rights" in told[1], said
    assert len(said.splitlines()) - len(told) <= 1, said
    assert desk.store.releases() == []
    assert publishes(desk, site)
