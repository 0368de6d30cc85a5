"""The one list of gates that a field of the policy asks for is that of the policy, and of the risk gate."""

from __future__ import annotations

from policy.gates import Gates
from policy.privacy_models import Models
from release_store.protocol.demanded_gates import LIMITED_GATES, MODEL_GATES
from tasks.risk.registry import GATES

# What is no gate of its own, or belongs to one that other fields ask for too.
OTHERS = {"leak", "models", "transient", "person", "worlds"}


def test_each_field_of_the_policy_that_asks_for_a_gate_is_listed() -> None:
    assert set(LIMITED_GATES) == Gates.model_fields.keys() - OTHERS
    assert set(MODEL_GATES) == Models.model_fields.keys() - {"attributes", "added"}


def test_each_of_them_is_a_gate() -> None:
    assert {*LIMITED_GATES, *MODEL_GATES} <= GATES.keys()
