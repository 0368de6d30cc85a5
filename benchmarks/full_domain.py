"""What one level a column costs: full-domain generalization of Adult and Bank beside Mondrian.

python -m benchmarks.full_domain --write
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import report
from benchmarks.meter import Meter
from benchmarks.pipeline import Made, make
from policy.gates import Limit
from policy.load import load_policy
from policy.model import Method, ReleasePolicy
from policy.recoding import Recoding
from tasks.intake.read import read_table
from tasks.types import SourceTable
from tasks.utility.ncp import ncp, scale_of

FILES = {"adult": "adult/adult_train.csv", "bank": "bank_marketing/bank_full.csv"}
STRENGTHS = (5, 8)
RUNS: tuple[tuple[str, Recoding, float], ...] = (
    ("mondrian", "sets", 0.0),
    ("mondrian", "hierarchy", 0.0),
    ("full-domain", "full-domain", 0.0),
    ("full-domain", "full-domain", 0.02),
    ("full-domain", "full-domain", 0.05),
)
HEADER = [
    "method",
    "recoding",
    "k",
    "may leave out",
    "left out",
    "classes",
    "NCP",
    "levels",
    "checked",
    "CPU s",
]


def source_of(name: str, rows: int | None) -> tuple[ReleasePolicy, SourceTable]:
    """Return a table, or its first rows, with its example policy."""
    policy = load_policy(report.ROOT / "examples" / "policies" / f"{name}.yaml")
    source = read_table(policy, input_path=report.datasets() / FILES[name], period="", base=report.ROOT)
    if rows is not None:
        source = replace(source, frame=source.frame.iloc[:rows].reset_index(drop=True))
    return policy, source


def row_of(policy: ReleasePolicy, source: SourceTable) -> list[str]:
    """Return what one run made and cost."""
    meter = Meter()
    with tempfile.TemporaryDirectory() as folder:
        made: Made = make(source, policy, Path(folder) / "c", meter)
    cost = ncp(made.classes, scale_of(made.table, policy))
    notes, method = made.groups.notes, policy.method
    levels = notes.get("levels")
    checked = notes.get("lattice_nodes_checked")
    return [
        method.name,
        method.recoding,
        str(policy.privacy.k),
        f"{policy.gates.suppression.max:.0%}" if method.name == "full-domain" else "",
        f"{made.candidate.n_source - made.candidate.n_published:,}",
        f"{made.classes.n_classes:,}",
        f"{cost:.3f}",
        " ".join(str(level) for level in levels.values()) if isinstance(levels, dict) else "",
        f"{checked:,} of {notes['lattice_nodes']:,}" if checked else "",
        f"{meter.total(('partitioning', 'aggregation')).cpu:.2f}",
    ]


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, print and return the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.full_domain", description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=list(FILES), default=list(FILES))
    parser.add_argument("--rows", type=int, help="the first rows of each table only")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/full_domain.md")
    chosen = parser.parse_args(arguments)
    parts = [WORDS, report.measured_with("python -m benchmarks.full_domain --write")]
    for name in chosen.tables:
        base, source = source_of(name, chosen.rows)
        rows = []
        for k in STRENGTHS:
            for method, recoding, most in RUNS:
                update = {
                    "method": Method(name=method, recoding=recoding, history="blind"),
                    "gates": base.gates.model_copy(update={"suppression": Limit(max=most)}),
                    "privacy": base.privacy.model_copy(update={"k": k}),
                }
                rows.append(row_of(base.model_copy(update=update), source))
        parts += [f"## {name.capitalize()}", report.table(HEADER, rows)]
    text = "\n\n".join(parts)
    print(text)
    if chosen.write:
        report.write("full_domain.md", text)
    return text


WORDS = """# Full-domain generalization beside Mondrian

The quasi-identifiers and the model of the example policies (e 3, p_max 0.8), with k 5 and 8. NCP is that of
the published classes. *Levels* are those of the quasi-identifiers, numbers first, 0 for values as they are.
*Checked* are the nodes of the lattice whose classes were counted until the optimum was proven. CPU seconds
are those of partitioning and aggregation."""


if __name__ == "__main__":
    main()
