"""Published rows written down as such: their classes without a file, and the gates asked of them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, GateResult, SetCells
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tests.support.small import small_policy

reference = importlib.import_module("tests.reference.privacy_models")

QUASI_IDENTIFIERS: dict[str, Any] = {
    "age": {"type": "integer", "bounds": [0, 100]},
    "income": {"type": "numeric", "bounds": [0, 100]},
    "city": {"type": "categorical"},
    "sex": {"type": "categorical", "values": ["f", "m"]},
}
SENSITIVE: dict[str, Any] = {
    "illness": {"stability": "stable", "values": ["flu", "hiv", "cough"]},
    "wage": {"stability": "stable", "type": "numeric"},
}


def policy_with(models: dict[str, Any], *sensitive: str, **sections: Any) -> ReleasePolicy:
    """A policy of the quasi-identifiers above and some of the sensitive attributes, asking for the models."""
    chosen = {name: SENSITIVE[name] for name in sensitive or ("illness",)}
    names = sections.pop("names", QUASI_IDENTIFIERS)
    return small_policy(
        {name: QUASI_IDENTIFIERS[name] for name in names}, chosen, gates={"models": models}, **sections
    )


def classes_of(rows: Sequence[Any], policy: ReleasePolicy) -> EquivalenceClasses:
    """The classes of rows as the reference writes them, in the order of their first row."""
    groups = reference.classes(rows)
    intervals, sets = {}, {}
    for place, (name, qi) in enumerate(policy.roles.quasi_identifiers.items()):
        cells = [group[0][0][place] for group in groups]
        if qi.type == "categorical":
            values = tuple(sorted({v for cell in cells if cell != "*" for v in cell}))
            member = np.array([[cell == "*" or v in cell for v in values] for cell in cells], dtype=bool)
            whole = np.array([cell == "*" for cell in cells], dtype=bool)
            sets[name] = SetCells(values, member.reshape(len(cells), len(values)), whole)
        else:
            intervals[name] = np.array(cells, dtype=np.float64).reshape(len(cells), 2)
    values_of, counts = {}, {}
    for place, name in enumerate(policy.roles.sensitive):
        values_of[name] = tuple(sorted({row[1][place] for row in rows}))
        counts[name] = np.array(
            [[sum(row[1][place] == v for row in group) for v in values_of[name]] for group in groups],
            dtype=np.int64,
        ).reshape(len(groups), len(values_of[name]))
    size = np.array([len(group) for group in groups], dtype=np.int64)
    return EquivalenceClasses(size, intervals, sets, values_of, counts)


def evidence_of(classes: EquivalenceClasses, policy: ReleasePolicy) -> Evidence:
    """What a review of published rows alone has."""
    return Evidence(policy, None, classes, Path(), {}, ())


def asked(gate: str, classes: EquivalenceClasses, policy: ReleasePolicy) -> GateResult:
    (result,) = assess(evidence_of(classes, policy), {gate: GATES[gate]}).results
    return result
