"""The tables of what each enemy tries, of docs/security.md: made of the marks of the tests."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

from tests.kinds import ENEMIES, GAINS
from tests.spec.kinds_generated import plain_environment

ROOT = Path(__file__).parents[2]
COLLECT = """
import json, sys
import pytest

class Collected:
    def pytest_collection_finish(self, session):
        self.found = [
            [*mark.args, item.nodeid.partition("[")[0]]
            for item in session.items for mark in item.iter_markers("enemy")
        ]

collected = Collected()
code = pytest.main(["--collect-only", "-qq", *sys.argv[1:]], plugins=[collected])
print(json.dumps(collected.found))
sys.exit(code)
"""


@functools.cache
def attempts() -> tuple[tuple[str, str, str], ...]:
    """Return each marked test, a row a case of it: who, what that gains, and the test's name."""
    this = Path(__file__).name
    files = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if path.name != this and "mark.enemy(" in path.read_text(encoding="utf-8")
    ]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COLLECT, *files],
        cwd=ROOT,
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple((who, gain, test) for who, gain, test in json.loads(done.stdout.splitlines()[-1]))


def enemies() -> str:
    """Return how many cases there are of each enemy and gain, and the tests that hold them."""
    cases = attempts()
    told = [gain for gain in GAINS if any(gain == found for _, found, _ in cases)]
    lines = [f"| who | {' | '.join(told)} |", f"| --- |{' ---: |' * len(told)}"]
    for who in ENEMIES:
        counts = [sum((who, gain) == case[:2] for case in cases) for gain in told]
        lines.append(f"| {who} | {' | '.join(str(count or '') for count in counts)} |")
    lines.append("")
    for who in ENEMIES:
        lines += [f"### {who[0].upper()}{who[1:]}", ""]
        own = {gain: sorted({test for w, g, test in cases if (w, g) == (who, gain)}) for gain in told}
        lines += [
            f"- {gain}: {', '.join(f'`{test}`' for test in tests)}" for gain, tests in own.items() if tests
        ] or ["- no test of its own"]
        lines.append("")
    return "\n".join(lines)
