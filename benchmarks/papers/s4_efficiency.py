"""Riyana (2025), section 4.2.2, experiment 7 on Adult: CPU seconds of lHD-Diversity and of its rivals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations

import numpy as np

from benchmarks import report
from benchmarks.papers.s4 import (
    L_DIVERSITY,
    LHD,
    LKC,
    LS,
    Bench,
    Setting,
    blind,
    earlier_part,
    release_of,
)
from benchmarks.papers.trial import cell, trial, with_method
from policy.model import ReleasePolicy
from tasks.types import SourceTable
from tasks.validation.feasible import feasible

REPEATS = 3
COMPARED = "lhd, beside a first release"
GROWN = "lhd, compared in growth"
SUBSETS = "LKC, each subset"
KINDS = (LHD, COMPARED, L_DIVERSITY, LKC, SUBSETS)

SEEN = """The paper: l-Diversity is the fastest, lHD is slower since it compares with an earlier release,
LKC is the slowest since it must look at every set of at most L quasi-identifiers.

What its text leaves open, and the reading taken:

- The text names one experiment, over the number of quasi-identifiers; the captions of figures
  18 to 20 name that, the number of sensitive attributes, and l. All three are measured, with
  the attributes and l of experiments 1 to 3.
- It gives no unit, nor which work the clock holds. Ours are CPU seconds of one thread
  (`OMP_NUM_THREADS=1`) from the table in memory to the rows to publish: mean ± standard
  deviation of three runs.
- "Released twice": *lhd* is the method beside no release; *beside a first release* is the
  whole second release (`history: repair`), after one of 80% of the people, drawn with seeds
  0 to 2. The first release's own seconds are not counted. *compared in growth* adds
  `history_in_growth`, which compares as Algorithm 1 does, for one first release (seed 0).
- How its LKC looks at sets of quasi-identifiers is not described. *LKC* is Mondrian, as in
  experiment 1, which with L = all needs no other set. *each subset* makes one table for
  each nonempty set of the quasi-identifiers (63 of six), once; the seconds are their sum.

What is seen. l-Diversity is faster than lHD at every setting, as the paper says: several times
faster than the growth of classes alone, and 26 to 185 times faster than a second release.
That lHD is faster than LKC is not seen: LKC costs what l-Diversity does. Even with each
subset as a table of its own it is slower than lHD alone only from five quasi-identifiers on,
and always faster than lHD beside a first release. lHD is thus the slowest of the three here.

Most of its seconds go to the comparison, which the paper calls slight: at six
quasi-identifiers the second release takes over ten times as long as the first, and compared
in growth over 100 times. It also leaves many records out, and all of them with three
sensitive attributes and more or with l from 6 on: seconds that fall with l are those of ever
fewer classes, none of which can be published. Growth that compares leaves out fewer records,
in its one draw, than the repair alone does in the mean of three."""

Run = tuple[float, float]
"""CPU seconds, and the records that were left out."""


@cache
def runs_of(bench: Bench, kind: str, at: Setting) -> list[Run] | None:
    """Return the runs of one kind; None where the table cannot hold the model."""
    source = bench.source(numeric=False)
    model = {COMPARED: LHD, GROWN: LHD, SUBSETS: LKC}.get(kind, kind)
    policy = bench.policy_of(model, at)
    if not all(result.passed for result in feasible(source, policy)):
        return None
    seeds = range(1 if bench.quick or kind == GROWN else REPEATS)
    if kind == SUBSETS:
        return [each_subset(source, policy)]
    if kind in (COMPARED, GROWN):
        return [second_release(source, policy, seed, grown=kind == GROWN) for seed in seeds]
    return [one_release(source, policy) for _ in seeds]


def one_release(source: SourceTable, policy: ReleasePolicy) -> Run:
    """Make the release of a table beside no other."""
    with trial(source, policy) as made:
        return made.cpu, float(made.seen.n_suppressed)


def second_release(source: SourceTable, policy: ReleasePolicy, seed: int, *, grown: bool) -> Run:
    """Make the release of a table beside that of a part of its people, drawn with a seed."""
    first = release_of(earlier_part(source, seed), policy)
    if grown:
        policy = with_method(policy, LHD, "hierarchy", history_in_growth=True)
    with trial(source, blind(policy, aware=True), first) as made:
        return made.cpu, float(made.seen.n_suppressed)


def each_subset(source: SourceTable, policy: ReleasePolicy) -> Run:
    """Make one release for each nonempty set of the quasi-identifiers; the seconds and records are sums."""
    made = [one_release(source, subset) for subset in subsets_of(policy)]
    return sum(cpu for cpu, _ in made), sum(left_out for _, left_out in made)


def subsets_of(policy: ReleasePolicy) -> list[ReleasePolicy]:
    """Return the policy once for each nonempty set of its quasi-identifiers, small sets first."""
    quasi = policy.roles.quasi_identifiers
    return [
        policy.model_copy(
            update={
                "roles": policy.roles.model_copy(
                    update={"quasi_identifiers": {name: quasi[name] for name in names}}
                )
            }
        )
        for size in range(1, len(quasi) + 1)
        for names in combinations(quasi, size)
    ]


HEADER = ["", "CPU s", "times l-diversity", "left out"]


def lines(label: str, found: dict[str, list[Run] | None]) -> list[list[str]]:
    """Return the rows of one setting; `found` holds each kind's runs."""
    base = found[L_DIVERSITY]
    rows = []
    for kind, runs in found.items():
        if runs is None:
            rows.append([f"{label}: {kind}", "impossible", "", ""])
            continue
        cpu = [seconds for seconds, _ in runs]
        ratio = None if base is None else float(np.mean(cpu) / np.mean([seconds for seconds, _ in base]))
        rows.append([f"{label}: {kind}", cell(cpu, 2), cell([ratio], 0), cell([left for _, left in runs], 0)])
    return rows


def table(bench: Bench, settings: Sequence[tuple[str, Setting]], kinds: Sequence[str]) -> str:
    """Return the table of these settings."""
    found = [(label, {kind: runs_of(bench, kind, at) for kind in kinds}) for label, at in settings]
    return report.table(HEADER, [row for label, runs in found for row in lines(label, runs)])


def efficiency(bench: Bench) -> str:
    """Return experiment 7: one table for each of figures 18, 19 and 20."""
    quasi = (1, 3) if bench.quick else range(1, 7)
    sensitive = (1, 2) if bench.quick else range(1, 5)
    ls = (2, 4) if bench.quick else LS
    grown = (1,) if bench.quick else (3, 6)
    few = [kind for kind in KINDS if kind != SUBSETS]
    parts = [
        "## Experiment 7: efficiency",
        SEEN,
        "Number of quasi-identifiers (figure 18):",
        table(bench, [(f"{n} QI", Setting(n_quasi=n)) for n in quasi], KINDS),
        "Number of sensitive attributes (figure 19):",
        table(bench, [(f"{n} sensitive", Setting(n_sensitive=n)) for n in sensitive], few),
        "l (figure 20):",
        table(bench, [(f"l {n}", Setting(l=n)) for n in ls], KINDS),
        "Compared in growth:",
        table(bench, [(f"{n} QI", Setting(n_quasi=n)) for n in grown], (L_DIVERSITY, COMPARED, GROWN)),
    ]
    return "\n\n".join(parts)
