"""Which parameters a search tries, and on which values; and which it leaves as the policy has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from policy.errors import UsageError
from policy.model import ReleasePolicy
from policy.yaml_text import dump_yaml
from services.evaluation.evaluate import policy_for_run
from services.evaluation.search.strategy import Axis, Grid
from tasks.methods.registry import bound_method, methods

K = "k"
RAISE_STEP = 1.5  # from one k to the next

GROUPED = ("ke-mdav", "mdav", "m-mdav")
_AGGREGATION = "aggregation"  # stands beside the parameters in what an axis needs

AXES = (
    Axis("group_factor", (1.0, 1.5, 2.0, 2.5, 3.0), needs=("group_size", (None,))),
    Axis("local_metric", ("latent", "features", "rank", "ncp"), ordered=False),
    Axis("sweeps", (0, 2, 5)),
    Axis("overlap_weight", (0.0, 0.05, 0.1, 0.3, 1.0), needs=("sweeps", (2, 5))),
    Axis("widened_classes", (0, 3, 6), needs=("overlap_weight", (0.05, 0.1, 0.3, 1.0))),
    Axis("leaf_size", (None, 500, 1_000, 2_000, 4_000), needs=(_AGGREGATION, GROUPED)),
    Axis("score", ("paper", "ncp", "blend", "widest"), ordered=False),
    Axis("cuts", ("representation", "both"), ordered=False),
    Axis("alpha", (0.3, 0.5, 0.7, 0.9), needs=("score", ("paper",))),
    Axis("weight_span", (0.0, 0.35, 0.7), needs=("score", ("blend",))),
    Axis("weight_entropy", (0.0, 0.15, 0.3), needs=("score", ("blend",))),
    Axis("weight_ncp", (0.25, 0.5, 1.0), needs=("score", ("blend",))),
    Axis("quantiles", ((0.5,), (0.25, 0.375, 0.5, 0.625, 0.75), (0.1, 0.3, 0.5, 0.7, 0.9)), ordered=False),
    Axis("variance_threshold", (0.0, 0.05, 0.1)),
    Axis("sensitive_weight", (0.0, 0.1, 0.3)),
    Axis("coarse", (4, 8, 16, 32, 64)),
    Axis("epsilon", (0.05, 0.1, 0.25, 0.5, 0.75)),
    Axis("merge_small", (False, True), ordered=False),
    Axis("block", (32, 128, 512)),
    Axis("threshold", (None, 0.5, 0.6, 0.7)),
    Axis("dominance", (0.4, 0.5, 0.6, 0.7)),
    Axis("neighbours", (5, 10, 20, 40)),
    Axis("dimensions", (2, 4, 6, 10)),
    Axis("metric", ("euclidean", "geodesic"), ordered=False),
    Axis("latent_dimensions", (2, 3, 4, 6)),
    Axis("hidden", (16, 32, 64)),
    Axis("epochs", (25, 50, 100)),
    Axis("learning_rate", (3e-4, 1e-3, 3e-3)),
    Axis("encoding", ("one-hot", "integer"), ordered=False),
    Axis("clip", (0.0, 0.01, 0.05)),
)
"""In the order in which they are tried: first those that need no other representation."""

_SEARCHED = {axis.name: axis.values for axis in AXES}
_ABSENT = object()

_COST = "costs time or memory"
_SIZE = "a size that depends on k"
_NOISE = "how much noise protects people is for the policy to say"
_MEANING = "changes what the published cells say"

NOT_SEARCHED = {
    "batch": _COST,
    "train_sample": _COST,
    "whole_up_to": _COST,
    "block_size": _COST,
    "fragment_size": _COST,
    "most_checks": _COST,
    "min_score": "has no scale of its own",
    "group_size": _SIZE,
    "max_group_size": _SIZE,
    "few": _SIZE,
    "max_sensitive_spread": "bounds sensitive values",
    "epsilons": "names columns",
    "history_in_growth": "acts only beside earlier releases",
    "perturbation": _NOISE,
    "epsilon_kept": _NOISE,
    "epsilon_raised": _NOISE,
    "noise_on": _NOISE,
    "outliers": _MEANING,
    "stir": _MEANING,
    "stir_sensitive": _MEANING,
    "divergence": _MEANING,
}


@dataclass(frozen=True)
class MethodGrid:
    """The grid of one method: `policy` is the one that its start stands for."""

    label: str
    policy: ReleasePolicy
    grid: Grid

    def changes(self, places: tuple[int, ...]) -> dict[str, Any]:
        """Return what a point changes of the start, by parameter, as JSON values; `k` among them."""
        return {
            axis.name: list(value) if isinstance(value := axis.values[place], tuple) else value
            for axis, place, first in zip(self.grid.axes, places, self.grid.start, strict=True)
            if place != first
        }

    def policy_at(self, places: tuple[int, ...]) -> ReleasePolicy:
        """Return the policy that a point stands for."""
        changes = self.changes(places)
        k = changes.pop(K, self.policy.privacy.k)
        method = self.policy.method
        return self.policy.model_copy(
            update={
                "method": method.model_copy(update={"parameters": {**method.parameters, **changes}}),
                "privacy": self.policy.privacy.model_copy(update={"k": k}),
            }
        )


def grid_of(policy: ReleasePolicy, label: str, raise_k: int | None, where: str) -> MethodGrid:
    """Return the grid of a method, which starts at the policy's parameters, or at another method's defaults.

    `raise_k` is the greatest k that may be tried; None leaves it. Raises UsageError or PolicyError for a
    method that cannot be bound.
    """
    start = policy_for_run(policy, label, policy.privacy.k, policy.seed)
    bound = bound_method(start, where)
    values = {name: getattr(bound.parameters, name) for name in type(bound.parameters).model_fields}
    values[_AGGREGATION] = bound.parts[2]
    kept = [_with_value(axis, values) for axis in AXES if axis.name in values and _counts(axis, values)]
    if raise_k is not None:
        kept.append(Axis(K, raised(policy.privacy.k, raise_k)))
        values[K] = policy.privacy.k
    return MethodGrid(
        label, start, Grid(tuple(kept), tuple(axis.values.index(values[axis.name]) for axis in kept))
    )


def raised(k: int, greatest: int) -> tuple[int, ...]:
    """Return the values of k that are tried: each half as large again as the one before, and the greatest.

    Raises UsageError where the greatest is not over k.
    """
    if greatest <= k:
        raise UsageError(
            f"is {greatest}, and the policy's k is {k}", where="--raise-k", hint="Give a greater number."
        )
    found = [k]
    while (following := max(found[-1] + 1, round(found[-1] * RAISE_STEP))) < greatest:
        found.append(following)
    return (*found, greatest)


def _counts(axis: Axis, values: dict[str, Any]) -> bool:
    """Tell whether an axis can count: what it needs is there, or is searched itself."""
    if axis.needs is None:
        return True
    name, needed = axis.needs
    return values.get(name, _ABSENT) in needed or (name in values and name in _SEARCHED)


def _with_value(axis: Axis, values: dict[str, Any]) -> Axis:
    """Return the axis with the start's own value on it; what needs another axis counts at its own value too,
    and always where that is not searched.
    """
    needs = axis.needs
    if needs is not None:
        own = values[needs[0]]
        known = _SEARCHED.get(needs[0])
        is_new = known is not None and own not in known
        needs = None if known is None else (needs[0], (*needs[1], own) if is_new else needs[1])
    found, own = axis.values, values[axis.name]
    if own not in found:
        found = (*found, own)
        if axis.ordered:
            found = tuple(sorted(found, key=lambda value: (value is not None, value or 0)))
    return Axis(axis.name, found, axis.ordered, needs)


def method_lines(policy: ReleasePolicy, *, with_k: bool) -> str:
    """Return the lines of a policy's file for this method, and for its `privacy` where k was raised."""
    chosen = policy.method
    method = {"name": chosen.name, **chosen.model_dump(mode="json", exclude_defaults=True)}
    if methods()[chosen.name].recoding != "sets":  # then it is to be said which recoding is meant
        method["recoding"] = chosen.recoding
    sections: dict[str, Any] = {"method": method}
    if with_k:
        privacy = policy.privacy.model_dump(mode="json", exclude_defaults=True)
        sections["privacy"] = {**privacy, K: policy.privacy.k}
    return dump_yaml(sections)
