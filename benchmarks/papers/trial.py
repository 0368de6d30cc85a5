"""One method on one table: the rows that it would publish, beside the source that they come from."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.cluster  # noqa: F401 -- its import is no part of any run

from benchmarks import report
from benchmarks.meter import Meter
from policy.load import parse_policy
from policy.model import Method, ReleasePolicy
from release_store.records import EquivalenceClasses, Release, ReleaseState
from services.pipeline import make_rows
from tasks.composition import History
from tasks.intake.read import read_table
from tasks.methods.registry import bound_method
from tasks.methods.registry import methods as methods_by_name
from tasks.risk.evidence import Evidence
from tasks.risk.published import read_classes
from tasks.staging.stage import stage
from tasks.types import SourceTable
from tasks.utility.measures import MEASURES
from tasks.utility.released import Released, released

POLICIES = Path(__file__).parent / "policies"
PERIOD = "benchmark"

Figures = dict[str, float | None]


@dataclass(frozen=True)
class Trial:
    """What one run made: its published rows for measures, its staged files for attacks, and its CPU seconds
    from the source in memory to the rows that would be published.
    """

    policy: ReleasePolicy
    seen: Released
    evidence: Evidence
    cpu: float

    def figures(self, *measures: str) -> Figures:
        """Return the figures of these measures of utility."""
        found: Figures = {}
        for name in measures:
            found |= MEASURES[name].take(self.seen)
        return found


def paper_policy(name: str, folder: Path) -> ReleasePolicy:
    """Return a policy of `policies/`; hierarchies that are files stand in the data's `folder`."""
    return parse_policy((POLICIES / name).read_text(encoding="utf-8"), folder / name)


def with_method(
    policy: ReleasePolicy, name: str, recoding: str | None = None, **parameters: object
) -> ReleasePolicy:
    """Return the policy with another method; without a `recoding` with the method's own."""
    chosen: Any = recoding or methods_by_name()[name].recoding
    return policy.model_copy(update={"method": Method(name=name, recoding=chosen, parameters=parameters)})


def with_privacy(policy: ReleasePolicy, **privacy: object) -> ReleasePolicy:
    """Return the policy with another model."""
    return policy.model_copy(update={"privacy": policy.privacy.model_copy(update=privacy)})


def with_seed(policy: ReleasePolicy, seed: int) -> ReleasePolicy:
    """Return the policy with another seed."""
    return policy.model_copy(update={"seed": seed})


def table_of(policy: ReleasePolicy, file: Path, rows: int | None = None) -> SourceTable:
    """Read the table; of more than `rows` records so many, drawn with seed 0."""
    source = read_table(policy, input_path=file, period=PERIOD, base=POLICIES)
    return source if rows is None else drawn(source, rows, 0)


def drawn(source: SourceTable, rows: int, seed: int) -> SourceTable:
    """Return so many records of a table, drawn with a seed, in their order; all where there are no more."""
    n = len(source.frame)
    if n <= rows:
        return source
    chosen = np.sort(np.random.default_rng(seed).choice(n, size=rows, replace=False))
    frame = source.frame.iloc[chosen].reset_index(drop=True)
    return SourceTable(frame, source.digest, f"{rows} rows of {source.origin}")


@contextmanager
def trial(source: SourceTable, policy: ReleasePolicy, history: History = ()) -> Iterator[Trial]:
    """Run the policy on the table, beside earlier releases if any; the staged files live inside the block."""
    meter = Meter()
    method = bound_method(policy)
    all_made = make_rows(source, policy, method, history, PERIOD, stages=meter)
    rows, table, groups = all_made.rows, all_made.table, all_made.groups
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "staged"
        made = stage(
            rows,
            policy,
            candidate_id="benchmark",
            period=PERIOD,
            folder=folder,
            n_source=table.n_records,
        )
        classes = read_classes(folder / "data.parquet", policy)
        seen = released(rows.frame, rows.records, groups.labels, table, policy)
        if sorted(seen.classes.size.tolist()) != sorted(classes.size.tolist()):
            raise RuntimeError("the classes of the staged rows are not those of the rows in memory")
        earlier = [(release.release_id, before) for release, before in history]
        evidence = Evidence(policy, table, classes, folder, made.files, earlier)
        yield Trial(policy, seen, evidence, meter.total().cpu)


def as_history(policy: ReleasePolicy, classes: EquivalenceClasses) -> History:
    """Return classes as the one earlier release of the policy's series."""
    release = Release(
        "r1", policy.series, PERIOD, 1, "c1", ReleaseState.PUBLISHED, datetime(2000, 1, 1, tzinfo=UTC), {}, {}
    )
    return [(release, classes)]


def cell(values: Sequence[float | None], digits: int) -> str:
    """Return mean ± standard deviation (ddof 1), or the value alone; nothing where one has no meaning."""
    known = [value for value in values if value is not None and not np.isnan(value)]
    if len(known) < len(values) or not known:
        return ""
    mean = f"{float(np.mean(known)):,.{digits}f}"
    if len(known) == 1 or max(known) == min(known):
        return mean
    return f"{mean} ± {float(np.std(known, ddof=1)):,.{digits}f}"


def written(name: str, words: str, sections: Sequence[str], *, quick: bool) -> str:
    """Print the result and write it to `results/`, unless it is a quick look; return it."""
    text = "\n\n".join([words, report.measured_with(f"python -m benchmarks.papers.{name}"), *sections])
    print(text, flush=True)
    if not quick:
        report.write(f"{name}.md", text)
    return text
