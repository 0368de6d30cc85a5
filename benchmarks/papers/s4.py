"""Riyana (2025) on Adult: the paper's table, its three models, and what a run of one of them costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from benchmarks import report
from benchmarks.papers.trial import (
    Figures,
    Trial,
    as_history,
    drawn,
    paper_policy,
    table_of,
    trial,
    with_method,
    with_privacy,
)
from policy.model import ReleasePolicy
from policy.roles import Roles
from tasks.composition import History
from tasks.risk.registry import GATES
from tasks.types import SourceTable
from tasks.validation.feasible import feasible

LS = (2, 4, 6, 8, 10)
EARLIER_SHARE = 0.8
QUICK_ROWS = 120

LHD, L_DIVERSITY, LKC = "lhd", "l-diversity", "LKC"
MODELS = (LHD, L_DIVERSITY, LKC)


@dataclass(frozen=True)
class Setting:
    """What one run holds: the first so many attributes, and l."""

    n_quasi: int = 6
    n_sensitive: int = 1
    l: int = 2  # noqa: E741 -- the field's own name for it
    numeric: bool = False


class Bench:
    """The table, and every run of it once."""

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        folder = report.datasets() / "adult"
        self.policy = paper_policy("s4_adult.yaml", folder)
        self.file = folder / "adult_train.csv"
        self.most = QUICK_ROWS if quick else None
        self.seeds = range(1 if quick else 5)
        self.figures = cache(self._figures)
        self.source = cache(self._source)

    def policy_of(self, model: str, at: Setting) -> ReleasePolicy:
        """Return the policy of a model."""
        roles = self.roles(numeric=at.numeric)
        quasi = dict(list(roles.quasi_identifiers.items())[: at.n_quasi])
        sensitive = dict(list(roles.sensitive.items())[: at.n_sensitive])
        chosen = roles.model_copy(update={"quasi_identifiers": quasi, "sensitive": sensitive})
        policy = self.policy.model_copy(update={"roles": chosen})
        distinct = 1 if at.numeric or model == LKC else at.l
        p_max = 1 / at.l if model == LKC else 1.0
        policy = with_privacy(policy, k=at.l, l=at.l, e=distinct, p_max=p_max)
        return blind(with_method(policy, LHD if model == LHD else "mondrian", "hierarchy"))

    def roles(self, *, numeric: bool) -> Roles:
        """Return the roles of all columns, capital loss as a number or as a text."""
        roles = self.policy.roles
        loss, *others = roles.sensitive.items()
        kind = "numeric" if numeric else "categorical"
        sensitive = dict([(loss[0], loss[1].model_copy(update={"type": kind})), *others])
        return roles.model_copy(update={"sensitive": sensitive})

    def _source(self, *, numeric: bool) -> SourceTable:
        policy = self.policy.model_copy(update={"roles": self.roles(numeric=numeric)})
        return table_of(policy, self.file, self.most)

    def _figures(self, model: str, at: Setting) -> dict[str, list[float | None]] | None:
        """Return PREC, DM and the rest of one model; None where the table cannot hold it."""
        policy = self.policy_of(model, at)
        source = self.source(numeric=at.numeric)
        if not all(result.passed for result in feasible(source, policy)):
            return None
        with trial(source, policy) as made:
            found = {name: [value] for name, value in worth(made).items()}
            undone = [self._undone(made, source, seed) for seed in self.seeds]
        return {**found, "undone": [share for share in undone if share is not None]}

    def _undone(self, made: Trial, source: SourceTable, seed: int) -> float | None:
        part = earlier_part(source, seed)
        if not all(result.passed for result in feasible(part, made.policy)):
            return None
        history = release_of(part, made.policy)
        evidence = replace(made.evidence, earlier=[(release.release_id, c) for release, c in history])
        failing = [GATES[gate].ask(evidence).value for gate in ("pairwise", "whole_history")]
        return max(0.0 if value is None else value for value in failing) / made.seen.classes.n_classes


def blind(policy: ReleasePolicy, *, aware: bool = False) -> ReleasePolicy:
    """Return the policy whose method does not look at earlier releases, or does."""
    history = "repair" if aware else "blind"
    return policy.model_copy(update={"method": policy.method.model_copy(update={"history": history})})


def earlier_part(source: SourceTable, seed: int) -> SourceTable:
    """Return the people of an earlier release."""
    return drawn(source, round(EARLIER_SHARE * len(source.frame)), seed)


def release_of(source: SourceTable, policy: ReleasePolicy) -> History:
    """Return what the policy makes of a table as an earlier release."""
    with trial(source, policy) as made:
        return as_history(policy, made.evidence.classes)


def worth(made: Trial) -> Figures:
    """Return PREC, DM, records left out, classes and CPU seconds."""
    return {
        **made.figures("prec", "dm"),
        "left_out": float(made.seen.n_suppressed),
        "classes": float(made.seen.classes.n_classes),
        "cpu": made.cpu,
    }
