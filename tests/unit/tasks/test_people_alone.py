"""`gates.person.cells: unfollowed`: cells are compared only where somebody cannot be followed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_persons import AGE, ILLNESS, KEY, told

from policy.loosening import loosened
from policy.model import ReleasePolicy
from release_store.records import Verdict
from tasks.repair.followers import followers_of
from tasks.repair.merge import repair
from tasks.types import Partition
from tests.support.small import counts_of, prepared, small_policy, source_of


def policy_with(**person: object) -> ReleasePolicy:
    return small_policy(AGE, ILLNESS, roles={"key": "person"}, gates={"person": person})


ALWAYS, ALONE = policy_with(), policy_with(cells="unfollowed")
BY_CELLS = ("pairwise", "whole_history")
# 70 to 71: cough beside {flu, cough} is all that the cells have in common, and nobody is in both classes.
BEFORE = "ann 30 flu, bob 31 hiv / cid 70 cough, dan 71 asthma"
AFTER = "ann 30 flu, bob 31 hiv / eve 70 flu, fay 71 cough"


def verdicts(folder: Path, policy: ReleasePolicy, before: str = BEFORE, after: str = AFTER) -> list[Verdict]:
    first, second = (told(folder, text, policy) for text in (before, after))
    return [second.asked(gate, first).verdict for gate in BY_CELLS]


def test_cells_that_nobody_shares_are_compared_unless_all_are_followed(tmp_path: Path) -> None:
    assert Verdict.FAIL in verdicts(tmp_path / "always", ALWAYS)
    assert verdicts(tmp_path / "alone", ALONE) == [Verdict.PASS, Verdict.PASS]


def test_the_gate_says_who_asks_instead(tmp_path: Path) -> None:
    first, second = (told(tmp_path, text, ALONE) for text in (BEFORE, AFTER))
    found = second.asked("pairwise", first)
    assert "everybody in every release is followed" in found.detail
    assert found.witness["coverage"]["not_run"][0]["what"] == "pairwise"
    assert "ann" not in str(found)


def test_people_are_asked_for_all_the_same(tmp_path: Path) -> None:
    first = told(tmp_path, BEFORE, ALONE)
    second = told(tmp_path, "cid 70 cough, fay 71 flu / ann 30 flu, bob 31 hiv", ALONE)
    assert second.asked("person", first).verdict is Verdict.FAIL  # cid: {cough, asthma}, then {cough, flu}
    assert second.asked("worlds", first).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BEFORE.replace("dan", "-"), AFTER),  # a row of nobody in the earlier release
        (BEFORE, AFTER.replace("eve", "-")),
        (BEFORE, AFTER.replace("bob 31 hiv", "bob 31 hiv, bob 32 hiv")),
    ],
)
def test_a_row_of_nobody_or_of_somebody_twice_has_cells_compared(
    tmp_path: Path, before: str, after: str
) -> None:
    assert Verdict.FAIL in verdicts(tmp_path, ALONE, before, after)


@pytest.mark.parametrize("fault", ["no people", "another key", "no key at hand", "left out by the policy"])
def test_whoever_cannot_be_followed_has_cells_compared(tmp_path: Path, fault: str) -> None:
    policy = policy_with(cells="unfollowed", without=["release-1"]) if fault.startswith("left") else ALONE
    first, second = (told(tmp_path, text, policy) for text in (BEFORE, AFTER))
    assert first.people is not None
    evidence = second.evidence(first)
    if fault == "no people":
        evidence = replace(evidence, earlier_people=[None])
    elif fault == "another key":
        evidence = replace(evidence, earlier_people=[replace(first.people, fingerprint="0" * 16)])
    elif fault == "no key at hand":
        evidence = replace(evidence, key=None)
    assert not evidence.people_alone


def test_the_repair_compares_as_the_gates_do(tmp_path: Path) -> None:
    rows = [("ann", 30.0, "flu"), ("bob", 31.0, "hiv"), ("eve", 70.0, "flu"), ("fay", 71.0, "cough")]
    failing = {}
    for name, policy in (("always", ALWAYS), ("alone", ALONE)):
        first = told(tmp_path / name, BEFORE, policy)
        followers = followers_of(source_of(policy, rows), policy, KEY, [first.people])
        found = repair(
            prepared(policy, rows),
            Partition(np.array([0, 0, 1, 1])),
            policy,
            [("release-1", first.made.classes)],
            max_group_size=9,
            followers=followers,
        )
        failing[name] = counts_of(found).failing_groups
    assert failing == {"always": 1, "alone": 0}


def test_it_is_looser_than_always(tmp_path: Path) -> None:
    assert loosened(ALWAYS, ALONE) == ["gates.person.cells unfollowed instead of always"]
    assert loosened(ALONE, ALWAYS) == []
