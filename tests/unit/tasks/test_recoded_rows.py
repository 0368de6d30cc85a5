"""What the published rows of three methods hold, read from the staged files; what their notes tell."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.partitioning import curriculum, epsilon_ball, lhd
from tasks.partitioning.constraints import constraints_of
from tasks.recoding.adaptive import adaptive
from tasks.recoding.generalize import generalized_rows
from tasks.recoding.quantized import QuantizedRule, quantized
from tasks.representation.features import unit_ranges
from tasks.risk.published import read_classes
from tasks.staging.stage import stage
from tasks.types import FloatArray, IntArray, PreparedTable, Recoded, Representation
from tests.support.small import MIXED, TWO_SENSITIVE, mixed_rows, prepared, small_policy


def policy_for(recoding: str, k: int = 2) -> ReleasePolicy:
    method = {"name": "mondrian", "recoding": recoding}
    roles = {**MIXED, "age": {**MIXED["age"], "widths": [10, 20]}}
    return small_policy(roles, TWO_SENSITIVE, method=method, privacy={"k": k})


def runs(points: FloatArray, k: int, _seed: int) -> IntArray:
    return np.arange(len(points)) * (len(points) // k) // len(points)


def curriculum_adaptive(table: PreparedTable, policy: ReleasePolicy) -> Recoded:
    points = unit_ranges(table)
    limits = constraints_of(table, policy)
    labels = curriculum.partition(table, points, limits, cluster=runs)
    return adaptive(table, Representation(points), labels, policy, 1)


def balls_quantized(table: PreparedTable, policy: ReleasePolicy, **rule: Any) -> Recoded:
    limits = constraints_of(table, policy)
    labels = epsilon_ball.partition(table, policy.roles, limits, seed=1)
    return quantized(table, Representation(labels[:, None]), labels, policy, 1, rule=QuantizedRule(**rule))


def lhd_generalized(table: PreparedTable, policy: ReleasePolicy) -> Recoded:
    labels = lhd.partition(table, policy.roles, constraints_of(table, policy), l=2)
    return generalized_rows(table, labels, policy)


def read_back(made: Recoded, policy: ReleasePolicy) -> EquivalenceClasses:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "c1"
        stage(made, policy, candidate_id="c1", period="2026", folder=folder, n_source=len(made.frame))
        return read_classes(folder / "data.parquet", policy)


@given(mixed_rows(n_max=30), st.integers(2, 5))
def test_the_categories_of_curriculum_rows_are_k_anonymous(rows: list[Any], k: int) -> None:
    policy = policy_for("adaptive", k)
    classes = read_back(curriculum_adaptive(prepared(policy, rows), policy), policy)
    assert classes.size.sum() == len(rows)
    assert classes.size.min() >= min(k, len(rows))


@given(mixed_rows(n_max=30), st.integers(2, 5))
def test_flattened_rows_are_k_anonymous(rows: list[Any], k: int) -> None:
    policy = policy_for("quantized", k)
    classes = read_back(balls_quantized(prepared(policy, rows), policy), policy)
    assert classes.size.sum() == len(rows)
    assert classes.size.min() >= min(k, len(rows))


def test_shuffled_rows_are_not_and_their_gate_can_tell() -> None:
    policy = policy_for("quantized", 3)
    rows = [(i, i / 4, "ab"[i % 2], "abc"[i % 3], "flu", 10.5) for i in range(12)]
    classes = read_back(balls_quantized(prepared(policy, rows), policy, stir="shuffle"), policy)
    assert classes.size.min() < 3


@given(mixed_rows(n_max=30), st.integers(2, 4), st.sampled_from(["sets", "hierarchy"]))
def test_lhd_rows_have_k_records_and_l_values(rows: list[Any], k: int, recoding: str) -> None:
    policy = policy_for(recoding, k)
    made = lhd_generalized(prepared(policy, rows), policy)
    if not len(made.frame):
        return
    classes = read_back(made, policy)
    assert classes.size.min() >= k
    for counts in classes.counts.values():
        assert ((counts > 0).sum(axis=1) >= 2).all()


def test_notes_hold_no_value_of_anybody() -> None:
    rows = [(90 + i % 7, 8.125, f"Canary{i % 3}", "Sparrow", "Heron", 777.5) for i in range(12)]
    rows[3] = (None, None, "Canary1", "Sparrow", "Heron", 777.5)
    told = ""
    for recoding, method in (("adaptive", curriculum_adaptive), ("quantized", balls_quantized)):
        policy = policy_for(recoding)
        made = method(prepared(policy, rows), policy)
        assert made.notes["imputed_numbers"] == {"age": 1, "income": 1}
        told += json.dumps(made.notes)
    for value in ("Canary", "Sparrow", "Heron", "777", "8.125", "93"):
        assert value not in told
