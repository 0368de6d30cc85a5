"""Whoever writes policies, queries, tables and folders gains nothing: many of them, from seeds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from tests.support.hostile.watch import Watch
from tests.support.timeouts import HANG_TIMEOUT, LONG_TIMEOUT

ROOT = Path(__file__).resolve().parents[2]
EACH = 500  # cases of one process
PARTS = 4  # of a night


def carried_out(
    first: int, count: int, home: Path, timeout: float = HANG_TIMEOUT
) -> dict[str, dict[str, object]]:
    """Carry out cases in a process of their own, which the audit hook does not leave."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.support.hostile.attempts",
            "--first",
            str(first),
            "--count",
            str(count),
        ],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout + 2 * count,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, dict[str, object]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("sabotage", "seen", "cases"),
    [
        # Without the rule on where a policy's files lie, the same cases gain a file.
        ("from policy.trusted import Trusted; Trusted.check = lambda *_: None", "opened outside/", 100),
        (
            (
                "import tasks.intake.load as r; files = r.files_of\n"
                "r.files_of = lambda source: (open('/etc/passwd').close(), files(source))[1]"
            ),
            "opened /etc/passwd",
            10,
        ),
    ],
    ids=["no rule on paths", "a file of the system"],
)
def test_a_way_out_of_the_folder_is_seen(tmp_path: Path, sabotage: str, seen: str, cases: int) -> None:
    code = (
        f"{sabotage}\n"
        "from tests.support.hostile.attempts import attempts\n"
        f"import json; print(json.dumps(attempts(0, {cases})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=True,
    )
    gained = [one for found in json.loads(done.stdout)["gained"].values() for one in found]
    assert [one for one in gained if one.startswith(seen)]


def test_what_a_library_opens_and_writes_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("x\n1\n")
    watch = Watch(tmp_path)
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM '{tmp_path / 'a.csv'}') TO '{tmp_path / 'made.csv'}'")
    opened, written = watch.close()
    assert opened - written == {tmp_path / "a.csv"}
    assert tmp_path / "made.csv" in written


@pytest.mark.enemy("policy author", "reads a file")
@pytest.mark.enemy("policy author", "writes a file")
@pytest.mark.enemy("policy author", "runs code")
@pytest.mark.enemy("policy author", "learns a value")
@pytest.mark.enemy("policy author", "stops the work")
@pytest.mark.enemy("data supplier", "reads a file")
@pytest.mark.enemy("data supplier", "stops the work")
@pytest.mark.enemy("owner of the folder", "runs code")
@pytest.mark.enemy("owner of the folder", "reads a file")
def test_three_hundred_writers_gain_nothing(tmp_path: Path) -> None:
    found = carried_out(0, 300, tmp_path)
    assert found["gained"] == {}
    assert {"0", "2", "3", "4"} <= set(found["codes"])  # each kind of refusal is met
    assert int(str(found["published"])) >= 3


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(PARTS))
def test_two_thousand_writers_gain_nothing(tmp_path: Path, part: int) -> None:
    """Other ones every night, 20,000 in ten: the seeds go on from the day."""
    first = (datetime.now(UTC).toordinal() * PARTS + part) * EACH
    assert carried_out(first, EACH, tmp_path, LONG_TIMEOUT)["gained"] == {}
