"""What each privacy model costs in NCP: where methods know it, and where k is raised until its gate passes.

python -m benchmarks.models --write
"""

from __future__ import annotations

import argparse
import sys
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
from release_store.records import Verdict
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
TITLES = {
    "adult": "The authors' sample of Adult, 10,000 rows",
    "bank": "The authors' sample of Bank, 10,000 rows",
    "diabetes": "Diabetes, 101,766 rows",
}
METHODS = ("mondrian", "ae-narrow")
ABOUT = """# What the privacy models cost

Each row is one model at one strength, k = 8, without e and p_max. On the left, the method knows the model, as
all methods do: its cuts, groups and merges keep it, or its merges alone (km and lkc). On the right, it does
not, and k is raised until the gate passes, as was necessary before. NCP is that of the published rows,
intervals for numbers and sets for categories. The CPU seconds are those of the run on the left, from
preprocessing to reading the staged rows back."""
STRENGTHS: dict[str, tuple[dict[str, Any], ...]] = {
    "distinct_l": ({"min": 2}, {"min": 4}, {"min": 6}),
    "entropy_l": ({"min": 1.5}, {"min": 2}, {"min": 3}),
    "recursive_cl": ({"c": 4, "l": 2}, {"c": 2, "l": 2}, {"c": 2, "l": 3}),
    "t_closeness": ({"max": 0.5}, {"max": 0.4}, {"max": 0.2}),
    "alpha_k": ({"alpha": 0.6, "k": 8}, {"alpha": 0.5, "k": 8}, {"alpha": 0.4, "k": 8}),
    "beta_likeness": ({"max": 8}, {"max": 4}, {"max": 2}),
    "delta_disclosure": ({"max": 3}, {"max": 2}, {"max": 1}),
    "km": ({"k": 20, "m": 2}, {"k": 50, "m": 2}, {"k": 20, "m": 3}),
    "lkc": ({"l": 2, "k": 20, "c": 0.5}, {"l": 2, "k": 8, "c": 0.4}, {"l": 2, "k": 8, "c": 0.3}),
}
RAISED = (8, 10, 12, 16, 24, 32, 48, 64, 100, 150, 200, 300, 500, 1_000, 2_000, 5_000)
HEADER = ("model", "strength", "NCP", "classes", "k raised to", "NCP then", "classes then", "CPU s")


@dataclass(frozen=True)
class Release:
    """One release: the k that its method was given, what its gates look at, and the CPU seconds it took."""

    k: int
    evidence: Evidence
    ncp: float
    cpu: float

    def passes(self, models: Models) -> bool:
        """Tell whether the gates of some models pass."""
        policy = self.evidence.policy.model_copy(update={"gates": Gates(models=models)})
        asked = replace(self.evidence, policy=policy)
        names = [name for name in STRENGTHS if getattr(models, name) is not None]
        return all(GATES[name].ask(asked).verdict is Verdict.PASS for name in names)


def source_of(name: str, rows: int | None) -> tuple[ReleasePolicy, SourceTable]:
    """Return a table, or its first rows, with the policy of the paper that uses it; k is 8, and e 1."""
    file, data = TABLES[name]
    policy = load_policy(POLICIES / file)
    privacy = policy.privacy.model_copy(update={"k": 8, "e": 1, "p_max": 1.0})
    policy = policy.model_copy(update={"privacy": privacy})
    source = read_table(policy, input_path=report.datasets() / data, period="", base=POLICIES)
    if rows is not None:
        source = replace(source, frame=source.frame.iloc[:rows].reset_index(drop=True))
    return policy, source


def release(source: SourceTable, policy: ReleasePolicy, method: str, k: int, models: Models) -> Release:
    """Make a release by a method that knows some models."""
    sections = {
        "privacy": policy.privacy.model_copy(update={"k": k}),
        "method": Method(name=method, parameters={"max_group_size": 3 * k}),
        "gates": Gates(models=models),
    }
    chosen = policy.model_copy(update=sections)
    with tempfile.TemporaryDirectory() as folder:
        start = process_time()
        found = make(source, chosen, Path(folder) / "staged", Meter())
        cpu = process_time() - start
    evidence = Evidence(chosen, found.table, found.classes, Path(), {}, [])
    return Release(k, evidence, ncp(found.classes, scale_of(found.table, chosen)), cpu)


def rows_of(name: str, method: str, models: Sequence[str], rows: int | None) -> list[list[str]]:
    """Return a row for each model and strength: the method that knows it, and the least k that passes."""
    policy, source = source_of(name, rows)
    raised = [release(source, policy, method, k, Models()) for k in RAISED if 2 * k <= len(source.frame)]
    found = []
    for model in models:
        for strength in STRENGTHS[model]:
            asked = Models.model_validate({model: strength})
            inside = release(source, policy, method, 8, asked)
            before = next((one for one in raised if one.passes(asked)), None)
            said = " ".join(f"{key} {value:g}" for key, value in strength.items())
            found.append(
                [
                    model,
                    said,
                    *(_figures(inside) if inside.passes(asked) else ("does not pass", "")),
                    *(("none passes", "", "") if before is None else (f"{before.k:,}", *_figures(before))),
                    f"{inside.cpu:.1f}",
                ]
            )
            print(name, method, *found[-1], flush=True)
    return found


def _figures(one: Release) -> tuple[str, str]:
    return f"{one.ncp:.4f}", f"{one.evidence.classes.n_classes:,}"


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, and return the page; write it where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--models", nargs="+", choices=STRENGTHS, default=list(STRENGTHS))
    parser.add_argument("--rows", type=int, help="the first rows alone")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args(arguments)
    sections = []
    for name in chosen.tables:
        # The largest table is measured with the quick method alone.
        for method in chosen.methods if name != "diabetes" else chosen.methods[:1]:
            found = rows_of(name, method, chosen.models, chosen.rows)
            sections.append(f"## {TITLES[name]}, {method}\n\n{report.table(HEADER, found)}")
    words = sys.argv[1:] if arguments is None else arguments
    command = " ".join(["python -m benchmarks.models", *words])
    page = "\n\n".join([ABOUT, report.measured_with(command), *sections]) + "\n"
    if chosen.write:
        (report.RESULTS / "models.md").write_text(page, encoding="utf-8")
    return page


if __name__ == "__main__":
    main()
