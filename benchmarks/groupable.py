"""By what an analyst can group a default release: drafted policies beside free sets of values.

python -m benchmarks.groupable --write
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import report
from benchmarks.meter import Meter
from benchmarks.pipeline import make
from policy.categorical import NominalQuasiIdentifier
from policy.load import parse_policy
from policy.model import ReleasePolicy
from policy.roles import QuasiIdentifier
from services.drafting.draft import draft
from tasks.intake.read import read_table
from tasks.utility.groupable import MOST_LABELS, Groupable, groupable_columns
from tasks.utility.ncp import penalties, scale_of

TABLES = {
    "adult": "adult/adult_train.csv",
    "bank": "bank_marketing/bank_full.csv",
    "diabetes": "diabetes130/diabetic_data.csv.gz",
}
MOST_RATIO = 1.3
HEADER = ["column", "cells", "labels", "exact rows", "values", "NCP", "labels, sets", "NCP, sets"]


@dataclass(frozen=True)
class Column:
    """One published quasi-identifier: by what it can be grouped, and its NCP."""

    by: Groupable
    ncp: float


def columns_of(policy: ReleasePolicy, file: Path) -> tuple[dict[str, Column], float]:
    """Make a release and return its columns, and its NCP."""
    source = read_table(policy, input_path=file, period="", base=report.ROOT)
    with tempfile.TemporaryDirectory() as folder:
        made = make(source, policy, Path(folder) / "staged", Meter())
    classes, size = made.classes, made.classes.size
    cost = penalties(classes, scale_of(made.table, policy))
    ncp = {name: float((each * size).sum() / size.sum()) for name, each in cost.items()}
    found = groupable_columns(classes, policy)
    return {name: Column(one, ncp[name]) for name, one in found.items()}, sum(ncp.values()) / len(ncp)


def free(policy: ReleasePolicy) -> ReleasePolicy:
    """Return the policy with free sets: no hierarchy, and no order that a cell keeps to."""
    columns: dict[str, QuasiIdentifier] = dict(policy.roles.quasi_identifiers)
    for name, qi in policy.roles.categorical.items():
        values = qi.order or tuple(sorted(qi.allowed or ()))
        others = getattr(qi, "others", None)
        columns[name] = NominalQuasiIdentifier(type="categorical", values=values, others=others)
    roles = policy.roles.model_copy(update={"quasi_identifiers": columns})
    method = policy.method.model_copy(update={"recoding": "sets"})
    return policy.model_copy(update={"roles": roles, "method": method})


def section(name: str, file: Path) -> str:
    """Return the table of one data set, and whether the goal is met."""
    policy = parse_policy(draft(file), file)
    nodes, cost = columns_of(policy, file)
    sets, cost_of_sets = columns_of(free(policy), file)
    rows, lost = [], []
    for column, made in nodes.items():
        qi = policy.roles.quasi_identifiers[column]
        ordered = column in policy.roles.numeric or policy.roles.categorical[column].order is not None
        if not ordered and made.by.labels > MOST_LABELS:
            lost.append(column)
        rows.append(
            [
                column,
                "ranges" if ordered else "prefixes" if qi.type == "code" else "nodes",
                str(made.by.labels),
                f"{made.by.exact:.1%}",
                f"{made.by.median:g}",
                f"{made.ncp:.3f}",
                str(sets[column].by.labels),
                f"{sets[column].ncp:.3f}",
            ]
        )
    ratio = cost / cost_of_sets
    method = policy.method.name
    many = f"; over {MOST_LABELS} labels: {', '.join(lost)}" if lost else ""
    verdict = "met" if ratio <= MOST_RATIO and not lost else "not met"
    words = (
        f"Method {method}. NCP {cost:.4f}, with free sets {cost_of_sets:.4f}: {ratio:.2f} times{many}. "
        f"Goal {verdict}."
    )
    return "\n\n".join([f"## {name.capitalize()}", words, report.table(HEADER, rows)])


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, print and return the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groupable", description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/groupable.md")
    chosen = parser.parse_args(arguments)
    parts = [WORDS, report.measured_with("python -m benchmarks.groupable --write")]
    parts += [section(name, report.datasets() / TABLES[name]) for name in chosen.tables]
    text = "\n\n".join(parts)
    print(text)
    if chosen.write:
        report.write("groupable.md", text)
    return text


WORDS = f"""# By what a default release can be grouped

A policy is drafted from each table (`releasegate draft`) and used as it is. *Labels* are the different cells
of a column, or pairs of ends of a number. *Exact rows* have a single value; *values* is the median number of
values, or the width, of a row's cell. *Sets* is the same policy and method with free sets of values: no
hierarchy, no order. Goal: at most {MOST_LABELS} labels in every column that is no ordered range, and an NCP
at most {MOST_RATIO} times that of free sets."""


if __name__ == "__main__":
    main()
