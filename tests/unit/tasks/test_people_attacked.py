"""What figures about people drawn reveal: who they are takes the store's key, and few say nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_attack import ONE_CLASS, asked, made

from release_store.records import Verdict
from tasks.risk.attacks.attackers import ALL
from tasks.risk.attacks.external import erroneous
from tasks.risk.attacks.linkage import draws
from tasks.risk.evidence import Evidence
from tests.support.small import prepared

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
FIFTH = {"ext_frac": [0.05, 0.2], "seeds": 5}
GATES = ("sadr", "sadr_excess", "pr_dr", "pr_dr_excess")


def keyed(evidence: Evidence, key: bytes = KEY) -> Evidence:
    return replace(evidence, table=replace(evidence.source, draw_key=key))


def attacked(evidence: Evidence) -> list[list[int]]:
    return [rows.tolist() for rows in evidence.attacked]


def test_who_is_attacked_follows_from_the_key_of_the_store_and_the_table(tmp_path: Path) -> None:
    evidence = made(tmp_path, *ONE_CLASS, linkage=FIFTH)
    public = [rows.tolist() for rows in draws(50, 0.2, 5)]
    assert attacked(evidence) == public  # without a key nothing is published
    found = attacked(keyed(evidence))
    assert [len(set(rows)) for rows in found] == [10] * 5
    assert found == attacked(keyed(evidence))
    other = made(tmp_path / "other", [*ONE_CLASS[0][:-1], (49, "cough")], [0] * 50, linkage=FIFTH)
    assert all(
        found != each for each in (public, attacked(keyed(evidence, OTHER_KEY)), attacked(keyed(other)))
    )


@pytest.mark.enemy("reader", "learns a value")
@pytest.mark.parametrize("key", [b"", KEY])
def test_who_knows_all_but_one_value_cannot_try_it_without_the_key(key: bytes, tmp_path: Path) -> None:
    """The attacker computes the published figure for each illness that the fourth person may have."""
    rows = [(age % 25, "hiv" if age < 30 else "flu") for age in range(50)]
    gates = {"sadr_excess": {"max": 1, "attackers": [ALL]}}
    evidence = made(tmp_path, rows, [0] * 50, linkage={"ext_frac": [0.4], "seeds": 5}, gates=gates)

    def figure(illness: str, own_key: bytes) -> float | None:
        table = prepared(evidence.policy, [*rows[:3], (3, illness), *rows[4:]])
        return asked("sadr_excess", keyed(replace(evidence, table=table), own_key)).value

    published = figure("hiv", key)
    tried = [illness for illness in ("hiv", "flu") if figure(illness, b"") == pytest.approx(published)]
    assert tried == ([] if key else ["hiv"])


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize(("k", "verdict"), [(10, Verdict.PASS), (11, Verdict.UNKNOWN)])
def test_figures_about_fewer_than_k_people_are_not_told(
    gate: str, k: int, verdict: Verdict, tmp_path: Path
) -> None:
    sections: dict[str, Any] = {"privacy": {"k": k}, "gates": {gate: {"max": 1, "attackers": [ALL]}}}
    result = asked(gate, keyed(made(tmp_path, *ONE_CLASS, linkage=FIFTH, **sections)))
    assert result.verdict is verdict
    few = (
        "a draw has 10 people who can be attacked, and a figure about fewer than k = 11 could reveal a value"
    )
    assert (few in result.detail) is (k == 11)
    if k == 11:
        assert (result.value, result.witness) == (None, {})
        assert "0." not in result.detail


def test_people_drawn_who_fit_no_class_are_no_people_of_a_figure(tmp_path: Path) -> None:
    """Of ten drawn, two are in a cell of the release."""
    rows = [(age, "flu" if age % 2 else "hiv") for age in range(10)]
    evidence = made(tmp_path, rows, [0] * 10, linkage={"ext_frac": [1.0], "seeds": 2}, privacy={"k": 3})
    two = made(tmp_path / "two", rows[:2], [0, 0])
    found = replace(two, policy=evidence.policy, table=evidence.table).attack(ALL)
    assert (found.n_people, found.sadr["illness"].n_people, found.identity.n_people) == (10, 2, 10)


def test_whose_row_may_be_in_a_class_is_not_told_of_few(tmp_path: Path) -> None:
    evidence = made(tmp_path)
    tables = {1.0: [np.arange(9)]}
    unique = erroneous(evidence.target, tables, 0.0, 1).links.only >= 0
    for fewest, told in ((int(unique.sum()), True), (int(unique.sum()) + 1, False)):
        assert (erroneous(evidence.target, tables, 0.0, fewest).right is not None) is told
