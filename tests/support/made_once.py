"""What is dear to make and only read afterwards is made once in a run of the tests, by the first worker."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from examples.register import demo
from release_store.audit.keys import KEY_VARIABLE
from tests.support.plain_prefect import plain_prefect

DEMO_ROWS = 3000  # of a quarter: the verdicts are those of the demo's 20,000


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder of this run of the tests that `make` has filled; one worker fills it, the rest wait."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # the folder that the workers of this run have in common
    folder, made = base / name, base / f"{name}.made"
    with FileLock(base / f"{name}.lock"):
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
            make(folder)
            made.touch()
    return folder


def make_demo(folder: Path) -> None:
    """Do what `make demo` does, in process and with fewer rows, and write the site with its evidence."""
    from cli.__main__ import main

    with pytest.MonkeyPatch.context() as patch, plain_prefect():
        patch.delenv(KEY_VARIABLE, raising=False)
        assert demo.main(folder, DEMO_ROWS) == 0
        words = ["report", "--out", str(folder / "site"), "--evidence"]
        assert main(["--store", str(folder / "store"), *words]) == 0
