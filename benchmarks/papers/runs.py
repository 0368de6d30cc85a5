"""One run of a paper's benchmark: a policy carried out on a table, and what stands on its staged rows."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.meter import Cost, Meter
from benchmarks.pipeline import MAKING, Made, make
from policy.model import Method, ReleasePolicy
from tasks.risk.attacks.linkage import Spread, expected_risk, unique_match_rate
from tasks.risk.evidence import Evidence
from tasks.types import FloatArray, SourceTable
from tasks.utility.loss import loss, loss_by_attribute
from tasks.utility.released import Released, released

POLICIES = Path(__file__).parent / "policies"


@dataclass(frozen=True)
class Variant:
    """One row of a table: what its policy has that the table's policy has not.

    `method` takes the place of the policy's; without it `parameters` are added to the policy's own.
    """

    name: str
    method: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    privacy: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = False  # it depends on the seed

    def of(self, policy: ReleasePolicy, seed: int) -> ReleasePolicy:
        """Return the policy of one run."""
        if self.method is None:
            parameters = {**policy.method.parameters, **self.parameters}
            method = policy.method.model_copy(update={"parameters": parameters})
        else:
            method = Method.model_validate(self.method)
        privacy = policy.privacy.model_copy(update=dict(self.privacy))
        return policy.model_copy(update={"method": method, "privacy": privacy, "seed": seed})

    def with_k(self, k: int) -> Variant:
        """Return the same with another k."""
        return replace(self, privacy={**self.privacy, "k": k})

    def seeds(self, wanted: int) -> range:
        """Return the seeds of its runs: one where nothing is drawn."""
        return range(wanted if self.drawn else 1)


@dataclass(frozen=True)
class Done:
    """A run: what the stages made, what they cost, and the staged rows as the gates see them."""

    policy: ReleasePolicy
    made: Made
    cost: Cost

    @cached_property
    def evidence(self) -> Evidence:
        """What the gates look at, beside no earlier release."""
        candidate = self.made.candidate
        return Evidence(
            self.policy, self.made.table, self.made.classes, candidate.folder, candidate.files, []
        )

    @cached_property
    def released(self) -> Released:
        """What the measures of utility look at."""
        rows = self.made.rows
        return released(rows.frame, rows.records, self.made.groups.labels, self.made.table, self.policy)

    @cached_property
    def lost(self) -> dict[str, float]:
        """What each quasi-identifier lost, as the gate `ncp` measures it."""
        return loss_by_attribute(
            self.made.classes, self.made.table, self.policy, self.evidence.noised_numbers
        )

    @property
    def loss(self) -> float:
        """What the gate `ncp` compares with its limit."""
        return loss(self.lost, self.policy)

    def err(self, ext_frac: float) -> Spread:
        """ERR over the draws of the attacker's table."""
        return expected_risk(self.evidence.links, self.evidence.tables(ext_frac))

    def umr(self, ext_frac: float) -> Spread:
        """UMR over the draws of the attacker's table."""
        return unique_match_rate(self.evidence.links, self.evidence.tables(ext_frac))


@contextmanager
def carried_out(source: SourceTable, policy: ReleasePolicy) -> Iterator[Done]:
    """Carry a policy out on `source`; its staged files last as long as the context."""
    meter = Meter()
    with tempfile.TemporaryDirectory() as folder:
        made = make(source, policy, Path(folder) / "staged", meter)
        yield Done(policy, made, meter.total(MAKING))


def sampled(source: SourceTable, rows: int, seed: int) -> SourceTable:
    """Return so many rows of a table, drawn without replacement, in their order; all where it has fewer."""
    n = len(source.frame)
    drawn = np.sort(np.random.default_rng(seed).permutation(n)[:rows])
    return SourceTable(source.frame.iloc[drawn].reset_index(drop=True), source.digest, source.origin)


def told_values(seen: Released) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Yield each quasi-identifier with what is true and what is published of each row, (m,) both.

    Numbers as they are, categories as codes of the table's domain. Every cell must be a single value.
    """
    table = seen.table
    for name, values in zip(table.numeric_names, table.numeric.T, strict=True):
        yield name, values[seen.records], seen.classes.intervals[name][seen.class_of, 0]
    for name, codes in zip(table.categorical_names, table.codes.T, strict=True):
        cells = seen.classes.sets[name]
        place = {value: i for i, value in enumerate(table.domains[name])}
        told = np.array([place[value] for value in cells.values])[cells.member.argmax(axis=1)]
        yield name, codes[seen.records].astype(np.float64), told[seen.class_of].astype(np.float64)


def spread(values: Sequence[float], digits: int) -> str:
    """Return the mean and, of several, the standard deviation (ddof 1)."""
    mean = f"{float(np.mean(values)):.{digits}f}"
    return f"{mean} ± {float(np.std(values, ddof=1)):.{digits}f}" if len(values) > 1 else mean


def parser_of(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return what all these commands take."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.papers.{name}", description=description)
    parser.add_argument("--seeds", type=int, default=5, help="runs of each variant that draws (default: 5)")
    parser.add_argument("--quick", action="store_true", help="few rows, one seed, and nothing is written")
    return parser


def told(name: str, words: str, sections: Sequence[str], *, write: bool) -> str:
    """Print a result and, where asked, write it to `benchmarks/results/NAME.md`; return it."""
    measured = report.measured_with(f"python -m benchmarks.papers.{name}")
    text = "\n\n".join([words.strip(), measured, *sections])
    print("\n\n".join(sections), flush=True)
    if write:
        report.write(f"{name}.md", text)
    return text
