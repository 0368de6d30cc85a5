"""t-closeness (Li et al., 2007): how far a class's sensitive values are from those of the whole release.

Compared with are all **published** rows: what was left out is not public.
"""

from __future__ import annotations

import numpy as np

from policy.privacy_models import TCloseness
from release_store.records import GateResult
from tasks.privacy import closeness
from tasks.privacy.value_tree import ValueTree, order_and_tree
from tasks.risk.evidence import CannotTell, Evidence
from tasks.risk.gates.models.checks import at_most, models_of, numbers_of, of_some, sensitive_counts
from tasks.types import FloatArray, IntArray

CELLS = 4_000_000


def t_closeness_gate(evidence: Evidence) -> GateResult:
    """In no class is the distribution of a sensitive attribute further than t from the release's."""
    asked, counts = models_of(evidence, "t_closeness"), sensitive_counts(evidence)
    follows = {name: _order_and_tree(evidence, name, model) for name, model in asked.items()}
    found = {name: distances(counts[name], evidence.overall[name], *follows[name]) for name in asked}
    hierarchical = [name for name, (_, tree) in follows.items() if tree is not None]
    return at_most(
        "t_closeness",
        found,
        {name: thresholds.max for name, thresholds in asked.items()},
        "greatest earth mover's distance of a class from all published rows"
        + (f" (hierarchical: {', '.join(hierarchical)})" if hierarchical else ""),
        tolerance=1e-12,
        some=of_some(evidence, asked),
    )


def distances(
    counts: IntArray, overall: IntArray, numbers: FloatArray | None = None, tree: ValueTree | None = None
) -> FloatArray:
    """Return the distance of each class (n_classes, n_values) from `overall` (n_values,), (n_classes,)."""
    parts = np.array_split(counts, max(-(-counts.size // CELLS), 1))
    return np.concatenate([closeness.distances(part, overall, numbers, tree) for part in parts])


def _order_and_tree(
    evidence: Evidence, name: str, model: TCloseness
) -> tuple[FloatArray | None, ValueTree | None]:
    """Return what the distance of an attribute's published values follows.

    Raises CannotTell where one that is not the missing one has no place in the declared order: two of them
    would count as one.
    """
    policy, values = evidence.policy, evidence.units.sensitive_values[name]
    attribute = policy.roles.sensitive[name]
    numbers = numbers_of(evidence.units, name, policy) if attribute.type == "numeric" else None
    if attribute.ordered and not {*values} <= {*(attribute.allowed or ()), policy.source.missing_label}:
        raise CannotTell(f"the ordered attribute '{name}' has a value that the policy does not allow")
    return order_and_tree(model, name, attribute, values, numbers)
