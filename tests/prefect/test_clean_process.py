"""The command line in a process of its own, whose environment knows nothing of Prefect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.front_desk import Desk
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = """
import flows.runtime.local_run, json, sys
assert "prefect" not in sys.modules, "help and readers would wait for Prefect"
from flows.runtime.prefect_runtime import watched_by
from prefect.settings.context import get_current_settings
found = get_current_settings()
print(json.dumps([
    found.results.persist_by_default, found.tasks.default_persist_result, found.tasks.disable_caching,
    found.tasks.default_no_cache, found.logging.level, found.server.ephemeral.enabled,
]))
"""


def process(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run Python with nothing in its environment but a path, homes in `folder`, and trust in its stores."""
    homes = {"HOME": str(folder / "home"), "PREFECT_HOME": str(folder / "prefect")}
    own = {"PATH": os.environ["PATH"], "RELEASEGATE_TRUST": str(folder), **homes}
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=ROOT,
        env=own,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_TIMEOUT,
    )


@pytest.mark.parametrize(
    "first", ["flows.runtime.local_run", "flows.release", "flows.runtime.prefect_runtime", "cli.__main__"]
)
def test_prefect_has_our_settings_whichever_module_is_first(tmp_path: Path, first: str) -> None:
    script = (
        SETTINGS
        if first == "flows.runtime.local_run"
        else f"import {first}\n{SETTINGS.replace('assert', '#')}"
    )
    done = process(tmp_path, "-c", script)
    assert done.stderr == ""
    assert json.loads(done.stdout) == [False, False, True, True, "CRITICAL", False]


def test_a_server_is_named_by_a_profile_and_prefect_is_not_imported_without_one(tmp_path: Path) -> None:
    script = (
        "import sys; from flows.runtime.local_run import server_is_named; "
        "print(server_is_named(), 'prefect' in sys.modules)"
    )
    assert process(tmp_path, "-c", script).stdout.split() == ["False", "False"]
    (tmp_path / "prefect").mkdir()
    profiles = tmp_path / "prefect" / "profiles.toml"
    profiles.write_text('active = "own"\n[profiles.own]\nPREFECT_API_URL = "http://127.0.0.1:9/api"\n')
    assert process(tmp_path, "-c", script).stdout.split() == ["True", "True"]


@pytest.mark.parametrize(
    ("words", "code", "stages", "finding"),
    [
        (
            ["register.yaml", "--input", "bad.csv"],
            3,
            [],
            "none of its 2 columns is in the roles of the policy",
        ),
        (
            ["register.yaml", "--input", "old.csv"],
            3,
            ["  intake (step 1 of 13) ...", "  validation (step 2 of 13) ..."],
            "old.csv",
        ),
        (["wrong.yaml", "--input", "bad.csv"], 2, [], "wrong.yaml: "),
        (
            ["register.yaml", "--input", "people.csv", "--revise", "a slip"],
            2,
            [],
            "clinic 2026Q1: the revision has no name",
        ),
    ],
    ids=["other columns", "a refused input", "a policy error", "a revision without a name"],
)
def test_an_error_is_told_in_two_lines_after_the_stages(
    desk: Desk, words: list[str], code: int, stages: list[str], finding: str
) -> None:
    desk.policy("register.yaml")
    desk.policy("wrong.yaml", privacy={"k": "many", "e": 2})
    (desk.folder / "bad.csv").write_text("a,b\n1,2\n")
    desk.table()
    desk.table("old.csv", age=999)
    placed = [desk.folder / word if word.endswith((".yaml", ".csv")) else word for word in words]
    done = process(desk.folder, "-m", "cli", "--store", desk.root, "run", *placed, "--period", "2026Q1")
    assert done.returncode == code
    assert done.stdout == ""
    told = done.stderr.splitlines()
    assert told[: len(stages)] == stages
    first, *rest = told[len(stages) :]
    assert first.startswith("releasegate: ")
    assert finding in first
    assert len(rest) <= 1


LEFT_ALIVE = """
{first}import duckdb, sys, threading, time
connection = duckdb.connect()
threading.Thread(target=lambda kept: time.sleep(1_000), args=(connection,), daemon=True).start()
print("told", file=sys.stderr)
sys.exit(3)
"""


def test_what_a_flow_leaves_alive_is_not_listed_as_leaked_at_its_end(tmp_path: Path) -> None:
    """Without our package DuckDB lists it, on as many lines; the words before and the exit code stay."""
    plain = process(tmp_path, "-c", LEFT_ALIVE.format(first=""))
    assert "leaked" in plain.stderr
    done = process(tmp_path, "-c", LEFT_ALIVE.format(first="import flows; "))
    assert (done.stderr, done.returncode) == ("told\n", plain.returncode) == ("told\n", 3)
