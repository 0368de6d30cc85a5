"""A full disk, and folders that cannot be written: a run says so in two lines, and the next one works."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from cli.__main__ import main
from release_store.db.connection import DATABASE
from release_store.verification.verify import verify
from tests.faults.site import ROOT, Site
from tests.support.front_desk import Desk
from tests.support.plain_prefect import plain_prefect
from tests.support.timeouts import HANG_TIMEOUT

# Root may write anywhere, unless it lays that right down.
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
needs_setpriv = pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write anywhere, without setpriv"
)


def words(desk: Desk) -> list[str]:
    """The words of a run."""
    told = ["run", str(desk.policy()), "--input", str(desk.table()), "--period", "2026Q1"]
    return ["--store", str(desk.root), *told]


def run(
    desk: Desk,
    site: Site | None,
    prefix: list[str] | None = None,
    before: Callable[[], None] | None = None,
) -> tuple[int, str]:
    """Run the flow by the command, in process where no site is given; return its exit code and the error."""
    module = "cli" if site else "tests.faults.plain_command"
    done = subprocess.run(
        [*(prefix or []), sys.executable, "-m", module, *words(desk)],
        cwd=ROOT,
        env=site.environment if site else {**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=before,
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, "".join(done.stderr.partition("releasegate: ")[1:])


def command(prefix: list[str], *said: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, sys.executable, "-m", "cli", *said],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=False,
    )


def publishes(desk: Desk, site: Site | None) -> bool:
    """Tell whether a run publishes now, and the store is as it should be."""
    if site is None:
        with plain_prefect():
            code = main(words(desk))
    else:
        code, _ = run(desk, site)
    found = [one.release_id for one in desk.store.releases()]
    return code == 0 and found == ["clinic-2026Q1-r1"] and verify(desk.store) == []


def refused_for_room(desk: Desk, site: Site | None, share: float) -> bool:
    """Run with room for files of a share of the database's size; tell whether the run was refused.

    By the limit on the size of a file that the system lets a process write: the same refusals.
    What there is room for is published; whatever is refused, it is told, and the next run publishes.
    """
    limit = int(share * (desk.root / DATABASE).stat().st_size)
    logged = desk.store.events()

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    code, said = run(desk, site, before=full)
    assert code in {0, 1}, said
    assert len(desk.store.releases()) == (code == 0)
    assert desk.store.events()[: len(logged)] == logged
    if code:
        assert len(said.splitlines()) == 2, said
        assert "disk" in said.splitlines()[1], said
    assert publishes(desk, site)
    return code == 1


def told_of_its_rights(desk: Desk, site: Site | None, folder: str) -> None:
    """Run with a folder of the store that cannot be written, and see that the run says so."""
    path = desk.root / folder
    path.chmod(0o500)
    try:
        code, said = run(desk, site, WITHOUT_RIGHTS if os.geteuid() == 0 else None)
    finally:
        path.chmod(0o700)
    assert code == 1, said
    told = [line for line in said.splitlines() if not line.startswith("releasegate: notices wait")]
    assert len(told) == 2, said
    assert "permissions" in told[1], said
    assert len(said.splitlines()) - len(told) <= 1, said
    assert desk.store.releases() == []
    assert publishes(desk, site)


def test_a_disk_without_room_for_a_file_is_told_and_nothing_is_half_done(desk: Desk) -> None:
    assert refused_for_room(desk, None, 0.1)


@needs_setpriv
def test_releases_that_cannot_be_written_are_told(desk: Desk) -> None:
    told_of_its_rights(desk, None, "releases")


@pytest.mark.enemy("operator", "stops the work")
@needs_setpriv
def test_a_store_that_can_only_be_read_is_read_and_a_run_is_refused(desk: Desk) -> None:
    inside = [desk.root, *desk.root.rglob("*")]
    rights = {path: path.stat().st_mode for path in inside}
    before = {path: path.read_bytes() for path in inside if path.is_file()}
    for path in inside:
        path.chmod(rights[path] & 0o500)
    laid_down = WITHOUT_RIGHTS if os.geteuid() == 0 else []
    try:
        read = [command(laid_down, "--store", str(desk.root), word) for word in ("history", "verify")]
        code, said = run(desk, None, laid_down)
    finally:
        for path in inside:
            path.chmod(rights[path])
    assert [done.returncode for done in read] == [0, 0], [done.stderr for done in read]
    assert code == 1
    assert "permissions" in said.splitlines()[1], said
    assert {path: path.read_bytes() for path in before} == before
    assert publishes(desk, None)


@pytest.mark.nightly
@pytest.mark.parametrize("share", [0.1, 0.9], ids=["some files", "less than the database"])
def test_a_full_disk_is_told_and_nothing_is_half_done(desk: Desk, site: Site, share: float) -> None:
    refused_for_room(desk, site, share)


@pytest.mark.nightly
def test_a_disk_without_room_for_any_file_is_told(desk: Desk, site: Site) -> None:
    assert refused_for_room(desk, site, 0.002)


@pytest.mark.nightly
@needs_setpriv
@pytest.mark.parametrize("folder", ["candidates", "releases", "locks", "."])
def test_a_folder_that_cannot_be_written_is_told(desk: Desk, site: Site, folder: str) -> None:
    told_of_its_rights(desk, site, folder)
