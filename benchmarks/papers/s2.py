"""What the tables of the curriculum scheme (Majeed, Lee and Hwang, 2025, doi:10.3390/app152111849) share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks import report
from benchmarks.papers.trial import (
    Figures,
    Trial,
    paper_policy,
    table_of,
    trial,
    with_method,
    with_privacy,
    with_seed,
)
from policy.model import ReleasePolicy
from tasks.types import SourceTable

DATASETS = {
    "A": ("Adult, income sensitive", "s2_adult.yaml", "adult/adult_train.csv"),
    "C": (
        "Synthea (stand-in for Careplans), expense_category sensitive",
        "s2_synthea.yaml",
        "synthea/patients.csv",
    ),
    "D": ("Diabetes, diabetesMed sensitive", "s2_diabetes.yaml", "diabetes130/diabetic_data.csv.gz"),
}
SCHEMES = ("Ours", "SDA", "MCKLA", "UPA", "AFA", "RKA", "AKA")
RIVALS = ("mondrian", "mdav")
KS = (5, 20, 50, 200)
EPSILONS = (0.3, 0.5)
BOUNDS, ONE = "sensitivity of the bounds", "sensitivity 1"
SENSITIVITIES = {BOUNDS: None, ONE: 1.0}
QUICK_ROWS, QUICK_KS = 400, (5,)

DATA_WORDS = """The paper's table C (Careplans) is not at hand; Synthea's patients stand in for it, their
expenses in four equal parts where the paper has a ratio of 2.01. The paper does not list its
quasi-identifiers; ours stand, with the reasons, in `papers/policies/s2_*.yaml`: five for Adult
and Diabetes, six for Synthea. The paper's six other schemes are programs that we do not have;
here `mondrian` and `mdav`, with cells closed up to the same hierarchies, stand beside
`curriculum` under the same policies. The model is k alone, as in the paper (p_max 1, e 1).
Where something is drawn (the noise) the figures are the mean ± standard deviation over seeds 0
to 4."""

SENSITIVITY_WORDS = f"""The paper gives the noise no sensitivity. *{BOUNDS.capitalize()}*
is the width of each number's declared bounds, the default of the policies. *{ONE.capitalize()}* hides
a difference of 1 and no more; the paper's examples, ages moved by a year or two (section 3.4),
need about that."""


@dataclass(frozen=True)
class Table:
    """One data set under its policy."""

    title: str
    policy: ReleasePolicy
    source: SourceTable


def asked(
    doc: str | None, name: str, datasets: Sequence[str] = tuple(sorted(DATASETS))
) -> argparse.ArgumentParser:
    """Return the arguments that every table has; `datasets` are those that it can be of."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.papers.{name}", description=doc)
    parser.add_argument("--datasets", nargs="+", choices=datasets, default=datasets)
    parser.add_argument("--quick", action="store_true", help="a few records, k 5, one seed; writes nothing")
    return parser


def seeds(*, quick: bool) -> Sequence[int]:
    """Return the seeds of a method that draws."""
    return range(1 if quick else 5)


def table(key: str, most_rows: int, *, quick: bool) -> Table:
    """Read one data set, a sample of at most so many records."""
    title, name, file = DATASETS[key]
    path = report.datasets() / file
    policy = paper_policy(name, path.parent)
    source = table_of(policy, path, QUICK_ROWS if quick else most_rows)
    return Table(f"{key}: {title}, {len(source.frame):,} records", policy, source)


def policies(base: ReleasePolicy, method: str, k: int, drawn: Sequence[int]) -> list[ReleasePolicy]:
    """Return the policy with this method and k: one for each seed, or one where the method draws nothing."""
    if method in RIVALS:
        return [with_privacy(with_method(base, method, "hierarchy"), k=k)]
    return seeded(with_method(base, method), k, drawn)


def seeded(policy: ReleasePolicy, k: int, drawn: Sequence[int]) -> list[ReleasePolicy]:
    """Return the policy with this k, once for each seed."""
    return [with_seed(with_privacy(policy, k=k), seed) for seed in drawn]


def with_sensitivity(policy: ReleasePolicy, sensitivity: float | None) -> ReleasePolicy:
    """Return the policy whose noise hides so great a difference of each number; None: the bounds' width."""
    quasi = {
        name: qi.model_copy(update={"sensitivity": sensitivity}) if qi.type != "categorical" else qi
        for name, qi in policy.roles.quasi_identifiers.items()
    }
    return policy.model_copy(update={"roles": policy.roles.model_copy(update={"quasi_identifiers": quasi})})


def with_epsilon(policy: ReleasePolicy, epsilon: float, **parameters: object) -> ReleasePolicy:
    """Return the policy with the scheme that spends this epsilon in all clusters."""
    return with_method(policy, "curriculum", epsilon_kept=epsilon, epsilon_raised=epsilon, **parameters)


def compared(base: ReleasePolicy, k: int, drawn: Sequence[int]) -> dict[str, list[ReleasePolicy]]:
    """Return the policies at one k: of the scheme with either sensitivity, and of its rivals."""
    found = {
        f"curriculum, {name}": policies(with_sensitivity(base, value), "curriculum", k, drawn)
        for name, value in SENSITIVITIES.items()
    }
    return {**found, **{rival: policies(base, rival, k, drawn) for rival in RIVALS}}


def figures(
    source: SourceTable, runs: Sequence[ReleasePolicy], take: Callable[[Trial], Figures]
) -> dict[str, list[float | None]]:
    """Return every figure of all runs, and their `cpu` seconds."""
    found: dict[str, list[float | None]] = {}
    for policy in runs:
        with trial(source, policy) as made:
            for name, value in {**take(made), "cpu": made.cpu}.items():
                found.setdefault(name, []).append(value)
    return found
