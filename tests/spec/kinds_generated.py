"""The table of the promises in docs/development.md and of the kinds of tests that hold them."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.kinds import KINDS

ROOT = Path(__file__).parents[2]
COLLECT = """
import json, sys
import pytest
from tests.kinds import kinds_of

class Collected:
    def pytest_collection_finish(self, session):
        self.found = [[item.nodeid.partition("[")[0], *kinds_of(item)] for item in session.items]

collected = Collected()
code = pytest.main(["--collect-only", "-qq", *sys.argv[1:]], plugins=[collected])
print(json.dumps(collected.found))
sys.exit(code)
"""


def plain_environment() -> dict[str, str]:
    """Return the environment without what pytest and the tests put into it; tests can be imported."""
    ours = ("PYTEST_", "RELEASEGATE_")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**plain, "PYTHONPATH": str(ROOT)}


@functools.cache
def kinds_of_tests(*files: str) -> dict[str, list[str]]:
    """Return the kinds of each test of the files, "" for the fast one, as pytest collects them."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COLLECT, *files],
        cwd=ROOT,
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, set[str]] = {}
    for name, *kinds in json.loads(done.stdout.splitlines()[-1]):
        found.setdefault(name, set()).update(kinds or [""])
    return {name: sorted(kinds, key=["", *KINDS].index) for name, kinds in found.items()}


def promises() -> str:
    """Return the table of each security property in docs/development.md and the kinds of its test."""
    page = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| `((tests/[\w/]+\.py)::\w+)` \|$", page, re.MULTILINE)
    of_tests = kinds_of_tests(*sorted({path for _, _, path in rows}))
    lines = ["| property | kind | command |", "| --- | --- | --- |"]
    for property_, test, _ in rows:
        named = ", ".join(kind or "fast" for kind in of_tests[test])
        commands = ", ".join(f"`make test{kind and f'-{kind}'}`" for kind in of_tests[test])
        lines.append(f"| {property_} | {named} | {commands} |")
    return "\n".join(lines) + "\n"
