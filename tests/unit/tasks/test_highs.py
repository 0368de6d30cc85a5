"""What the solver prints does not stand between the lines of a document."""

from __future__ import annotations

import subprocess
import sys

import pytest

NOISY = """
import ctypes, json, os, sys
from tasks.history import highs

def milp(aim, **asked):
    ctypes.CDLL(None).puts(b"a line of the solver")
    return len(aim) + asked["more"]

highs.optimize.milp = milp
print("[")
{before}
print(json.dumps(highs.milp([1, 2], more=1)), "]")
"""


@pytest.mark.parametrize(
    ("before", "told"), [("", "a line of the solver\n"), ("os.close(2)", ""), ("sys.stdout.flush()", None)]
)
def test_a_line_of_the_solver_goes_to_the_error_output(before: str, told: str | None) -> None:
    code = NOISY.replace("{before}", before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    if before != "os.close(2)":
        assert done.stdout == "[\n3 ]\n"
    if told is not None:
        assert done.stderr == told


def test_without_an_output_the_solver_is_asked_all_the_same() -> None:
    code = NOISY.replace("{before}", "sys.stdout.flush(); os.close(1); sys.stdout = sys.stderr")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "3 ]" in done.stderr
