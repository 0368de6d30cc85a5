"""The fast measures, held against the slow judge that shares no code with them."""

from __future__ import annotations

import tempfile
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.history import differencing as nested
from tasks.history import intersection as comparison
from tasks.risk.attacks.linkage import Links, expected_risk, unique_match_rate
from tasks.risk.gates.models.classes import entropies, largest_shares, spreads
from tasks.types import IntArray, Partition
from tasks.utility.ncp import ncp, scale_of
from tests.support.small import (
    MIXED,
    TWO_SENSITIVE,
    Published,
    anonymized,
    judge,
    mixed_rows,
    policy_of,
    policy_text,
    prepared,
    published,
    write_source,
)

QUICK: dict[str, Any] = {
    "name": "ae-lrhma",
    "representation": "original",
    "parameters": {"leaf_size": 6},
}
METHODS = [{"name": "mondrian"}, QUICK]


def close(value: float | None) -> Any:
    return pytest.approx(value, abs=1e-9, rel=1e-9)


def same_models(made: Published, verdict: dict[str, Any]) -> None:
    models = verdict["models"]
    assert made.classes.n_classes == models["classes"]
    assert made.classes.size.min() == models["k"]
    assert made.classes.size.max() == models["size_max"]
    for name, expected in models["sensitive"].items():
        shares, entropy = largest_shares(made.classes, name), entropies(made.classes, name)
        assert shares.max() == close(expected["p_max"])
        assert shares.mean() == close(expected["p_max_mean"])
        assert entropy.min() == close(expected["h_min"])
        assert entropy.mean() == close(expected["h_mean"])
        assert spreads(made.classes, name, made.policy).min() == close(expected["e"])


def same_linkage(links: Links, tables: list[IntArray], expected: dict[str, Any]) -> None:
    err, umr = expected_risk(links, tables), unique_match_rate(links, tables)
    assert (err.mean, err.std) == (close(expected["err_mean"]), close(expected["err_std"]))
    assert (umr.mean, umr.std) == (close(expected["umr_mean"]), close(expected["umr_std"]))


def same_measures(made: Published, verdict: dict[str, Any]) -> None:
    assert ncp(made.classes, scale_of(made.table, made.policy)) == close(verdict["ncp"])
    evidence = made.evidence()
    copies, wrong = evidence.external
    for expected in verdict["linkage"]:
        frac = expected["ext_frac"]
        same_linkage(evidence.links, evidence.tables(frac), expected)
        same_linkage(copies.links, copies.draws[frac], expected)
    for expected in verdict["linkage_with_errors"]:
        same_linkage(wrong.links, wrong.draws[expected["ext_frac"]], expected)
    for name, expected in verdict["sadr"].items():
        found = evidence.attack("all").sadr[name]
        if expected["max"] is None:
            assert isnan(found.greatest)
        else:
            assert found.greatest == close(expected["max"])
            assert found.mean == close(expected["mean"])


@given(
    rows=mixed_rows(),
    k=st.integers(2, 4),
    method=st.sampled_from(METHODS),
    suppressed=st.sets(st.integers(0, 30), max_size=3),
)
def test_models_ncp_err_umr_and_sadr_are_the_judges(
    rows: list[Any], k: int, method: dict[str, Any], suppressed: set[int]
) -> None:
    text = policy_text(MIXED, TWO_SENSITIVE, privacy={"k": k}, method=method)
    policy = policy_of(text)
    table = prepared(policy, rows)
    labels = anonymized(table, policy).labels
    kept = labels.copy()
    kept[[i for i in suppressed if i < len(rows)]] = -1
    if (kept >= 0).any() and len(set(kept[kept >= 0])) == labels.max() + 1:
        labels = kept
    with tempfile.TemporaryDirectory() as folder:
        made = published(policy, table, Partition(labels), Path(folder) / "c")
        (Path(folder) / "policy.yaml").write_text(text, encoding="utf-8")
        source = write_source(Path(folder) / "source.csv", policy, rows)
        verdict = judge.judge(Path(folder) / "policy.yaml", source, made.csv)
    same_models(made, verdict)
    same_measures(made, verdict)


@pytest.mark.nightly
@given(
    tables=st.lists(mixed_rows(2, 16), min_size=2, max_size=4),
    k=st.integers(2, 3),
    l_least=st.integers(2, 3),
    method=st.sampled_from(METHODS),
)
def test_the_comparison_with_earlier_releases_is_the_judges(
    tables: list[list[Any]], k: int, l_least: int, method: dict[str, Any]
) -> None:
    text = policy_text(
        MIXED, TWO_SENSITIVE, privacy={"k": k, "l": l_least}, method=method, population="cumulative"
    )
    policy = policy_of(text)
    with tempfile.TemporaryDirectory() as folder:
        releases = []
        for number, rows in enumerate(tables):
            table = prepared(policy, rows)
            releases.append(published(policy, table, anonymized(table, policy), Path(folder) / str(number)))
        (Path(folder) / "policy.yaml").write_text(text, encoding="utf-8")
        source = write_source(Path(folder) / "source.csv", policy, tables[-1])
        verdict = judge.judge(
            Path(folder) / "policy.yaml", source, releases[-1].csv, [made.csv for made in releases[:-1]]
        )
    evidence = releases[-1].evidence(*releases[:-1])
    history = evidence.history
    assert history is not None
    pairs = comparison.pairwise(evidence.boxes, history, evidence.space, evidence.required)
    for found in pairs:
        expected = [each[found.attribute] for each in verdict["pairwise"]]
        assert found.failed == sum(each["pairs"] for each in expected)
        assert found.failing.any() == any(each["classes"] for each in expected)
    together = comparison.whole_history(
        evidence.boxes, evidence.points, evidence.allowed(history), evidence.space, evidence.required
    )
    assert [found.attribute for found in together] == ["illness", "wage"]
    for found in together:
        assert int(found.failing.sum()) == verdict["whole_history"][found.attribute]["classes"]
        assert (found.failed > 0) == (verdict["whole_history"][found.attribute]["records"] > 0)
    *values, size = [
        *nested.difference(*evidence.sides, evidence.space, evidence.required),
        nested.sizes(*evidence.sides, k),
    ]
    assert [found.attribute for found in values] == ["illness", "wage"]
    for found in (*values, size):
        counts = {"pairs": found.compared, "together": found.together, "failures": found.failed}
        assert counts | {"classes": int(found.failing.sum())} == verdict["nested"][found.attribute]
