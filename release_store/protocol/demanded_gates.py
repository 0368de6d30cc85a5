"""The gates that a policy asks for by a field of its document: the one list of them.

The risk gate, the store, evidence and its page read it. Gates that every policy asks for, or that follow from
several fields, are not in it; which were to be asked stands in the log.
"""

from __future__ import annotations

from typing import Any

from release_store.protocol.strict_json import optional_object

# Below `gates` of a policy, by the gate's name.
LIMITED_GATES = (
    "err",
    "umr",
    "forced",
    "membership",
    "sadr",
    "sadr_excess",
    "pr_dr",
    "pr_dr_excess",
    "inversion",
    "k_map",
    "population_uniqueness",
    "delta_presence",
    "known",
    "ncp",
    "suppression",
    "unique",
)
# Below `gates.models`, or there below `attributes` and an attribute.
MODEL_GATES = (
    "distinct_l",
    "entropy_l",
    "recursive_cl",
    "t_closeness",
    "alpha_k",
    "beta_likeness",
    "delta_disclosure",
    "km",
    "lkc",
)


def demanded_gates(policy: dict[str, Any]) -> list[str]:
    """Return which of these gates a policy's document asks for, with the models that packages add to it."""
    gates = optional_object(policy.get("gates"), "gates of the policy")
    models = optional_object(gates.get("models"), "gates.models of the policy")
    own = optional_object(models.get("attributes"), "gates.models.attributes of the policy")
    of_any = [models, *(optional_object(one, "the models of an attribute") for one in own.values())]
    found = [name for name in LIMITED_GATES if gates.get(name) is not None]
    found += [name for name in MODEL_GATES if any(one.get(name) is not None for one in of_any)]
    return found + sorted(optional_object(models.get("added"), "gates.models.added of the policy"))
