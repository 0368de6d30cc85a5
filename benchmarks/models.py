"""What each privacy model costs in NCP: where methods know it, and where k is raised until its gate passes.

python -m benchmarks.models --write
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks import report
from benchmarks.meter import Meter
from benchmarks.pipeline import make
from policy.gates import Gates
from policy.load import load_policy
from policy.model import Method, ReleasePolicy
from policy.privacy_models import Models
from release_store.records import GateResult, Verdict
from tasks.intake.read import read_table
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES
from tasks.types import SourceTable
from tasks.utility.ncp import ncp, scale_of

POLICIES = Path(__file__).parent / "papers" / "policies"
TABLES = {
    "adult": ("s0_adult.yaml", "ae_lrhma_samples/adult_10k.csv"),
    "bank": ("s0_bank.yaml", "ae_lrhma_samples/bank_10k.csv"),
    "diabetes": ("s2_diabetes.yaml", "diabetes130/diabetic_data.csv.gz"),
}
METHODS = ("mondrian", "ae-narrow")
STRENGTHS: dict[str, tuple[dict[str, Any], ...]] = {
    "distinct_l": ({"min": 2}, {"min": 4}, {"min": 6}),
    "entropy_l": ({"min": 1.5}, {"min": 2}, {"min": 3}),
    "recursive_cl": ({"c": 4, "l": 2}, {"c": 2, "l": 2}, {"c": 2, "l": 3}),
    "t_closeness": ({"max": 0.5}, {"max": 0.4}, {"max": 0.2}),
    "alpha_k": ({"alpha": 0.6, "k": 8}, {"alpha": 0.5, "k": 8}, {"alpha": 0.4, "k": 8}),
    "beta_likeness": ({"max": 8}, {"max": 4}, {"max": 2}),
    "delta_disclosure": ({"max": 3}, {"max": 2}, {"max": 1}),
}
RAISED = (8, 10, 12, 16, 24, 32, 48, 64, 100, 150, 200, 300, 500, 750, 1_000, 1_500, 2_500, 5_000)


@dataclass(frozen=True)
class Figure:
    """One release: its k, its classes, their NCP, the gate's result and the method's CPU seconds."""

    k: int
    classes: int
    ncp: float
    result: GateResult
    cpu: float


def source_of(name: str, rows: int | None) -> tuple[ReleasePolicy, SourceTable]:
    """Return a table, or its first rows, with the policy of the paper that uses it; k is 8."""
    file, data = TABLES[name]
    policy = load_policy(POLICIES / file)
    policy = policy.model_copy(update={"privacy": policy.privacy.model_copy(update={"k": 8})})
    source = read_table(policy, input_path=report.datasets() / data, period="", base=POLICIES)
    if rows is not None:
        source = replace(source, frame=source.frame.iloc[:rows].reset_index(drop=True))
    return policy, source


def made(
    source: SourceTable, policy: ReleasePolicy, method: str, k: int, models: Models, asked: Models, gate: str
) -> Figure:
    """Make a release whose method knows `models`, and ask a gate about `asked`."""
    privacy = policy.privacy.model_copy(update={"k": k})
    parameters = {"max_group_size": 3 * k}
    chosen = policy.model_copy(
        update={
            "privacy": privacy,
            "method": Method(name=method, parameters=parameters),
            "gates": Gates(models=models),
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        start = process_time()
        found = make(source, chosen, Path(folder) / "staged", Meter())
        cpu = process_time() - start
        judged = chosen.model_copy(update={"gates": Gates(models=asked)})
        evidence = Evidence(judged, found.table, found.classes, Path(folder), {}, [])
        result = GATES[gate].ask(evidence)
    loss = ncp(found.classes, scale_of(found.table, chosen))
    return Figure(k, found.classes.n_classes, loss, result, cpu)


def rows_of(name: str, method: str, model: str, rows: int | None) -> list[str]:
    """Return the lines of the table for one model, its strengths one after the other."""
    policy, source = source_of(name, rows)
    lines = []
    for strength in STRENGTHS[model]:
        asked = Models.model_validate({model: strength})
        inside = made(source, policy, method, 8, asked, asked, model)
        before = None
        for k in RAISED:
            before = made(source, policy, method, k, Models(), asked, model)
            if before.result.verdict is Verdict.PASS:
                break
        said = " ".join(f"{key} {value:g}" for key, value in strength.items())
        lines.append(
            f"| {name} | {method} | {model} | {said} | {_figure(inside)} | {before.k if before else ''} | "
            f"{_figure(before)} | {inside.cpu:.1f} |"
        )
        print(lines[-1], flush=True)
    return lines


def _figure(one: Figure | None) -> str:
    return f"{one.ncp:.4f}" if one is not None and one.result.verdict is Verdict.PASS else "does not pass"


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, and write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--models", nargs="+", choices=STRENGTHS, default=list(STRENGTHS))
    parser.add_argument("--rows", type=int, help="the first rows alone")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args(arguments)
    lines = [
        line
        for name in chosen.tables
        for method in chosen.methods
        for model in chosen.models
        for line in rows_of(name, method, model, chosen.rows)
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
