"""A revision that equals the withdrawn release that it revises: restoring that one is what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from policy.errors import ReleaseGateError
from release_store.canonical import sha256_hex
from release_store.store import ReleaseStore
from services.reuse import find_release_to_reuse
from services.revision import resolve_revision, same_as_withdrawn
from tests.support.at_work import purge, restore, withdraw
from tests.support.small import small_policy
from tests.support.store.hand_made import approved, publish_one, stage
from tests.support.stores import BuiltOnce

NAME = "clinic-2024-r1"
OTHER_INPUT = {"input_digest": sha256_hex(b"another input")}


@pytest.fixture
def withdrawn(fresh_store: Path, built_once: BuiltOnce) -> ReleaseStore:
    """A store of one release, which is withdrawn."""
    return built_once(fresh_store, withdraw_one)


def withdraw_one(store: ReleaseStore) -> None:
    publish_one(store, approved(store))
    withdraw(store, NAME, by="eve", reason="by mistake")


def test_the_same_rows_of_another_input_are_the_same(withdrawn: ReleaseStore) -> None:
    assert same_as_withdrawn(withdrawn, stage(withdrawn, **OTHER_INPUT).candidate_id) == NAME


def test_the_same_input_under_the_same_policy_is_the_same(withdrawn: ReleaseStore) -> None:
    assert same_as_withdrawn(withdrawn, stage(withdrawn, content="other rows\n").candidate_id) == NAME


def test_other_rows_of_another_input_are_not_the_same(withdrawn: ReleaseStore) -> None:
    made = stage(withdrawn, content="other rows\n", **OTHER_INPUT)
    assert same_as_withdrawn(withdrawn, made.candidate_id) == ""


@pytest.mark.parametrize("then", ["restored", "purged"])
def test_what_cannot_be_restored_is_not_named(withdrawn: ReleaseStore, then: str) -> None:
    made = stage(withdrawn)
    if then == "restored":
        restore(withdrawn, NAME, by="eve", reason="it was right")
    else:
        purge(withdrawn, "clinic", by="eve", reason="kept for long enough")
    assert same_as_withdrawn(withdrawn, made.candidate_id) == ""


@pytest.mark.parametrize("is_purged", [False, True])
def test_a_withdrawn_period_and_cells_to_reuse_name_only_what_can_be_restored(
    withdrawn: ReleaseStore, is_purged: bool
) -> None:
    if is_purged:
        purge(withdrawn, "clinic", by="eve", reason="kept for long enough")
    policy = small_policy({"age": {"type": "integer", "bounds": [0, 9]}}, method={"reuse": {"release": NAME}})
    policy = policy.model_copy(update={"series": "clinic"})
    asked: list[Callable[[], object]] = [
        lambda: resolve_revision(withdrawn, "clinic", "2024", by=None, revise=None),
        lambda: find_release_to_reuse(withdrawn, policy, "2025"),
    ]
    for ask in asked:
        with pytest.raises(ReleaseGateError, match="was withdrawn") as told:
            ask()
        assert (f"releasegate restore {NAME}" in str(told.value.hint)) != is_purged
