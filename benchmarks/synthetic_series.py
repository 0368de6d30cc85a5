"""A made-up series of releases over five quasi-identifiers, cut as Mondrian cuts, made from a seed alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from policy.load import parse_policy
from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.preprocessing.prepare import prepare
from tasks.recoding.generalize import generalized
from tasks.risk.evidence import Evidence
from tasks.types import IntArray, PreparedTable, SourceTable

REGIONS, EDUCATIONS, ILLNESSES = 24, 7, 12
NAMES = ("age", "wage", "region", "education", "sex")
POLICY = """
series: made-up
population: {population}
roles:
  quasi_identifiers:
    age: {{type: integer, bounds: [0, 120], moves: [0, 1]}}
    wage: {{type: integer, bounds: [0, 20000]}}
    region: {{type: categorical}}
    education: {{type: categorical}}
    sex: {{type: categorical}}
  sensitive: {{illness: {{stability: stable}}}}
privacy: {{k: {k}, e: 1, p_max: 1.0, l: 2}}
method: {{name: mondrian}}
"""


def policy_of(population: Literal["cumulative", "overlapping"], k: int = 5) -> ReleasePolicy:
    """Return the policy of the made-up series."""
    return parse_policy(POLICY.format(population=population, k=k), Path("policy.yaml"))


def people(n: int, seed: int) -> pd.DataFrame:
    """Return n people, one a row."""
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.full(ILLNESSES, 1.0))
    return pd.DataFrame(
        {
            "age": np.floor(random.beta(2, 3, n) * 100),
            "wage": np.floor(random.lognormal(6.5, 0.8, n).clip(0, 20_000) / 10) * 10,
            "region": _texts("r", random.choice(REGIONS, n, p=random.dirichlet(np.full(REGIONS, 5.0)))),
            "education": _texts("e", random.integers(0, EDUCATIONS, n)),
            "sex": _texts("s", random.integers(0, 2, n)),
            "illness": _texts("i", random.choice(ILLNESSES, n, p=shares)),
        }
    )


def _texts(prefix: str, codes: IntArray) -> pd.Series[str]:
    return pd.Series([f"{prefix}{code:02d}" for code in codes.tolist()], dtype=object)


def cut(columns: Sequence[IntArray], k: int, seed: int) -> IntArray:
    """Return labels of groups of k to 2 k - 1 rows: nodes are cut in half by columns drawn at random.

    Rows of equal values may come to lie on both sides, as in many programs, so that classes overlap.
    """
    random = np.random.default_rng(seed)
    n = len(columns[0])
    order, starts = random.permutation(n), np.array([0, n])
    while (np.diff(starts) >= 2 * k).any():
        sizes = np.diff(starts)
        node = np.repeat(np.arange(len(sizes)), sizes)
        chosen = random.integers(0, len(columns), len(sizes))
        key = np.choose(chosen[node], [column[order] for column in columns])
        order = order[np.lexsort((key, node))]
        left = np.where(sizes < 8 * k, k * (sizes // (2 * k)), sizes // 2)
        starts = np.unique(np.concatenate([starts, (starts[:-1] + left)[sizes >= 2 * k]]))
    labels = np.empty(n, dtype=np.int64)
    labels[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return labels


def release(
    frame: pd.DataFrame, policy: ReleasePolicy, seed: int
) -> tuple[PreparedTable, EquivalenceClasses]:
    """Return the table of these people and the classes that would be published."""
    table = prepare(SourceTable(frame.reset_index(drop=True), "0" * 64, "made up"), policy)
    columns = [*table.numeric.T.astype(np.int64), *table.codes.T.astype(np.int64)]
    return table, generalized(table, cut(columns, policy.privacy.k, seed), policy)


def series(
    population: Literal["cumulative", "overlapping"], n_rows: int, n_earlier: int, seed: int = 7
) -> Evidence:
    """Return a candidate of `n_rows` beside `n_earlier` releases of about as many.

    Cumulative: each release holds the people of the one before and 1% more. Overlapping: each is drawn from
    one and a half times as many people, of whom two thirds are in any release.
    """
    policy = policy_of(population)
    everybody = people(n_rows * 3 // 2, seed)
    releases = []
    for back in range(n_earlier, -1, -1):
        if population == "cumulative":
            rows = np.arange(n_rows - back * max(n_rows // 100, 1))
        else:
            rows = np.random.default_rng([seed, back]).choice(len(everybody), n_rows, replace=False)
        frame = everybody.iloc[np.sort(rows)].copy()
        frame["age"] = np.floor(frame["age"] + (8 - back) / 4)
        releases.append(release(frame, policy, seed + back))
    table, candidate = releases[-1]
    earlier = [(f"release-{number}", classes) for number, (_, classes) in enumerate(releases[:-1], 1)]
    return Evidence(policy, table, candidate, Path(), {}, earlier)
