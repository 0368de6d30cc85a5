"""What it costs a data steward to get from a file to a published release, by the README's commands alone.

    python -m benchmarks.steward [--tables NAME ...] [--rows N] [--write]

The untidy tables of `benchmarks.untidy`, of students and of a hospital, and a table of the size and the
columns of a survey on heart disease. Each is drafted, checked, released with the policy as it was drafted,
and approved; beside that, the commands that a steward waits for. Each command is a process of its own,
imports included.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

from benchmarks import report, untidy
from benchmarks.child import run_child
from policy.errors import AwaitingApproval

SEED = 318
HEART_ROWS = 300_000
PERIOD = "2020"
REASON = "roles and limits agreed with the data owner"
AGES = ("18-24", *(f"{low}-{low + 4}" for low in range(25, 80, 5)), "80 or older")
RACES = ("White", "Hispanic", "Black", "Other", "Asian", "American Indian/Alaskan Native")
HEALTH = ("Poor", "Fair", "Good", "Very good", "Excellent")
DIABETIC = ("No", "Yes", "No, borderline diabetes", "Yes (during pregnancy)")
# Shares of people who say yes.
YES = {
    "Smoking": 0.41, "AlcoholDrinking": 0.07, "Stroke": 0.04, "DiffWalking": 0.14, "PhysicalActivity": 0.78,
    "Asthma": 0.13, "KidneyDisease": 0.04, "SkinCancer": 0.09,
}  # fmt: skip
COLUMNS = (
    "HeartDisease", "BMI", "Smoking", "AlcoholDrinking", "Stroke", "PhysicalHealth", "MentalHealth",
    "DiffWalking", "Sex", "AgeCategory", "Race", "Diabetic", "PhysicalActivity", "GenHealth", "SleepTime",
    "Asthma", "KidneyDisease", "SkinCancer",
)  # fmt: skip
STEPS = ("init", "draft", "check", "run", "people add", "approve")
OTHERS = ("--help", "history", "assess")
HEADER = ("table", "rows", "columns", "commands", "from file to release", *STEPS, *OTHERS, "classes", "NCP")


@dataclass(frozen=True)
class Released:
    """A table that was published: the CPU seconds of each command, and what the release has lost."""

    table: str
    rows: int
    columns: int
    seconds: dict[str, float]  # of each of STEPS and OTHERS
    classes: int
    ncp: float

    @property
    def to_release(self) -> float:
        """The CPU seconds of all commands from the file to the release."""
        return sum(self.seconds[step] for step in STEPS)

    def cells(self) -> list[str]:
        """Return a row of the results."""
        seconds = [f"{self.seconds[step]:.2f}" for step in (*STEPS, *OTHERS)]
        shown = [self.table, f"{self.rows:,}", str(self.columns), str(len(STEPS)), f"{self.to_release:.1f}"]
        return [*shown, *seconds, f"{self.classes:,}", f"{self.ncp:.3f}"]


def heart(rows: int = HEART_ROWS, seed: int = SEED) -> pd.DataFrame:
    """Return a table of people who do not exist, with 18 columns as in a telephone survey on health."""
    draw = np.random.default_rng(seed)

    def days() -> NDArray[np.int64]:  # of the last 30 on which somebody felt ill: most say none, and some all
        return np.where(draw.random(rows) < 0.65, 0, np.minimum(30, draw.geometric(0.12, rows)))

    found: dict[str, object] = {
        name: np.where(draw.random(rows) < share, "Yes", "No") for name, share in YES.items()
    }
    age = draw.choice(len(AGES), rows, p=_shares([6, 5, 6, 6, 7, 7, 8, 9, 11, 11, 10, 7, 7]))
    found |= {
        "HeartDisease": np.where(draw.random(rows) < 0.01 + 0.012 * age, "Yes", "No"),
        "BMI": np.round(np.clip(12 + draw.gamma(7.0, 2.33, rows), 12, 95), 2),
        "PhysicalHealth": days(),
        "MentalHealth": days(),
        "Sex": draw.choice(["Female", "Male"], rows, p=[0.525, 0.475]),
        "AgeCategory": np.array(AGES)[age],
        "Race": draw.choice(RACES, rows, p=_shares([767, 86, 72, 34, 25, 16])),
        "Diabetic": draw.choice(DIABETIC, rows, p=_shares([843, 128, 21, 8])),
        "GenHealth": draw.choice(HEALTH, rows, p=_shares([35, 108, 291, 357, 209])),
        "SleepTime": np.clip(np.round(draw.normal(7.1, 1.4, rows)), 1, 24).astype(int),
    }
    return pd.DataFrame(found)[list(COLUMNS)]


def _shares(weights: Sequence[int]) -> NDArray[np.float64]:
    return np.array(weights) / sum(weights)


def write_heart(folder: Path, rows: int) -> Path:
    """Write the table of the heart survey's size, and return its file."""
    path = folder / "heart.csv"
    heart(rows).to_csv(path, index=False)
    return path


def write_students(folder: Path, rows: int) -> Path:
    """Write the first period of the students, and return its file."""
    return untidy.students(rows)[0].write(folder)


def write_hospital(folder: Path, rows: int) -> Path:
    """Write the hospital's table, and return its file."""
    return untidy.hospital(rows).write(folder)


TABLES: dict[str, tuple[Callable[[Path, int], Path], int]] = {
    "students": (write_students, untidy.STUDENTS),
    "hospital": (write_hospital, untidy.PATIENTS),
    "heart": (write_heart, HEART_ROWS),
}


def release(name: str, folder: Path, rows: int) -> Released:
    """Publish a table in a new store in `folder`, with the policy as it is drafted.

    Raises RuntimeError if a command ends otherwise than the README says.
    """
    file = TABLES[name][0](folder, rows)
    store, policy, key = folder / "store", folder / "policy.yaml", folder / "ada.pem"
    given = ("--period", PERIOD, "--input", str(file))
    seconds: dict[str, float] = {}

    def say(step: str, *words: str, exit_code: int = 0) -> str:
        command = [sys.executable, "-m", "cli", "--store", str(store), *step.split(), *words]
        cost, printed = run_child(command, exit_code)
        seconds[step] = cost.cpu
        print(name, step, f"{cost.cpu:.2f}", file=sys.stderr, flush=True)
        return printed

    say("init")
    policy.write_text(say("draft", str(file)), encoding="utf-8")
    say("check", str(policy), *given)
    made = json.loads(say("run", str(policy), *given, "--json", exit_code=AwaitingApproval.exit_code))
    say("people add", "Ada Archer", "--role", "approver", "--make-key", str(key))
    say("approve", made["candidate"], "--by", "Ada Archer", "--reason", REASON, "--key", str(key))
    say("--help")
    say("history")
    (published,) = (store / "releases").glob("*/*-r1/data.csv")
    roles = yaml.safe_load(policy.read_text(encoding="utf-8"))["roles"]
    known, sensitive = ",".join(roles["quasi_identifiers"]), ",".join(roles["sensitive"])
    say("assess", str(published), "--qi", known, "--sensitive", sensitive)
    n_columns = sum(len(roles.get(role, [])) for role in ("identifiers", "kept", "dropped"))
    n_columns += len(roles["quasi_identifiers"]) + len(roles["sensitive"]) + ("key" in roles)
    return Released(name, made["rows"], n_columns, seconds, made["classes"], made["ncp"])


WORDS = """# From a file to a published release

What the commands of the README cost from a file to a published release: `init`, `draft`, `check`, `run`,
`people add` and `approve`, each once, with the policy as it was drafted. Below, CPU seconds of each command
and of these six together, each a process of its own, imports included; then those of `--help`, of `history`
in the store with this release, and of `assess` on the published table.

*students* and *hospital* are untidy tables of `benchmarks/untidy.py`. *heart* has the size and the columns of
a public survey on heart disease, drawn for this benchmark: no person is in it. The project aims at 120 CPU
seconds from draft to release for *heart*, 0.3 for `--help`, 2 for `check` and 1 for `history`."""


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure the commands, and return the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.steward", description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=[*TABLES], default=[*TABLES])
    parser.add_argument("--rows", type=int, help="rows of each table, in place of its own number")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/steward.md")
    chosen = parser.parse_args(arguments)
    found = []
    for name in chosen.tables:
        with tempfile.TemporaryDirectory() as folder:
            found.append(release(name, Path(folder), chosen.rows or TABLES[name][1]).cells())
    command = report.measured_with("python -m benchmarks.steward --write")
    page = "\n\n".join([WORDS, command, report.table(HEADER, found)])
    print(page)
    if chosen.write:
        report.write("steward.md", page)
    return page


if __name__ == "__main__":
    main()
