"""A kept code that a public table gives other names to, or merges, links the rows of two releases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from test_relations import release
from test_world_gate import judged

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, Verdict
from tasks.history import relations
from tasks.history.subjects import Rows, Unfit
from tasks.types import IntArray
from tests.support.small import small_policy

PEOPLE = 140  # illnesses of `release` are alternately flu and hiv
MIXED = np.concatenate([np.arange(28), 28 + np.arange(112) // 2])
POLICY = small_policy(
    {"age": {"type": "integer", "bounds": [0, 100]}},
    {"illness": {"stability": "stable"}},
    roles={"key": "person", "kept": ["code"]},
)


def by_table(code: IntArray, names: int, seed: int = 0) -> IntArray:
    """Return the names that a public table gives to the codes, of which there are so many."""
    return np.asarray((np.random.default_rng(seed).permutation(int(code.max()) + 1) % names)[code])


@pytest.mark.parametrize(
    ("code", "names", "compared"),
    [(MIXED, PEOPLE, 2_000), (np.arange(PEOPLE) // 2, 35, 70), (np.arange(PEOPLE) // 2, PEOPLE, 70)],
    ids=["one in five alone", "merged", "a sample would leave one a code"],
)
def test_a_code_under_other_names_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: IntArray, names: int, compared: int
) -> None:
    """A code that is drawn anew is none, and the policy may accept the link."""
    monkeypatch.setattr(relations, "MOST_COMPARED", compared)
    monkeypatch.setattr(relations, "LEAST_STRATA", 1)
    code = np.random.default_rng(1).permutation(code)
    after = by_table(code, names)
    anew = np.random.default_rng(2).permutation(after)

    def verdict(told: IntArray, **worlds: str) -> tuple[Verdict, str]:
        releases = []
        for number, column in enumerate((code, told)):
            order = np.random.default_rng(3 + number).permutation(PEOPLE)
            cut = order.reshape(-1, 10).tolist()
            columns = {"code": [f"c{one}" for one in column.tolist()]}
            folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            releases.append(release(folder, cut, {}, ["code"], {}, columns, worlds))
        found = judged(releases[1], releases[0])
        return found.verdict, found.detail

    seen, detail = verdict(after)
    assert seen is Verdict.UNKNOWN
    assert "code tells what code was" in detail
    assert verdict(anew)[0] is Verdict.PASS
    assert verdict(after, kept="accept")[0] is Verdict.PASS


def rows(columns: Mapping[str, IntArray], seed: int) -> Rows:
    """Return people p0, p1, ... with these columns, of which `code` is kept, in classes of ten."""
    random = np.random.default_rng(seed)
    n = len(columns["illness"])
    order = random.permutation(n)
    found = {name: np.unique(each, return_inverse=True) for name, each in columns.items()}
    texts = {name: [f"{name} {value}" for value in values.tolist()] for name, (values, _) in found.items()}
    codes = np.column_stack([each for _, each in found.values()])[order]
    person = [f"p{i}" for i in order.tolist()]
    place = random.permutation(np.arange(n) // 10)
    return Rows(person, place, texts, codes, np.full((n, 2), -1), kept=("code",))


def related(before: Mapping[str, IntArray], after: Mapping[str, IntArray]) -> str:
    """Return what is told of two releases whose illness is stable; nothing where nothing is."""
    classes = cast(EquivalenceClasses, SimpleNamespace(intervals={}, sets={}))
    try:
        relations.check_relations(
            cast(ReleasePolicy, POLICY), [rows(before, 1), rows(after, 2)], [classes] * 2, ["illness"], []
        )
    except Unfit as reason:
        return str(reason)
    return ""


def honest(n: int, seed: int, illness: IntArray) -> dict[str, Any]:
    """Return columns that are drawn anew: by the illness, of few values and many, skewed, and mostly one."""
    random = np.random.default_rng((n, seed))
    return {
        "illness": illness,
        "room": 10 * illness + random.integers(0, 6, n),
        "department": np.where(random.random(n) < 0.9, illness, random.integers(0, 4, n)),
        "code": random.integers(0, max(2, n // 10), n),
        "place": np.minimum(random.zipf(1.5, n), n),
        "note": np.where(random.random(n) < 0.9, 0, random.integers(1, 50, n)),
    }


@pytest.mark.integration
@pytest.mark.parametrize("n", [60, 400, 5_000, 20_000])
@pytest.mark.by_day(2)
def test_honest_columns_are_no_relation_beside_an_illness_that_links_rows(n: int) -> None:
    for seed in range(3):
        illness = np.random.default_rng(seed).integers(0, 4, n)
        assert related(honest(n, 2 * seed, illness), honest(n, 2 * seed + 1, illness)) == ""


@pytest.mark.integration
@pytest.mark.parametrize("n", [200, 20_000])
@pytest.mark.parametrize("per", [2, 10])
@pytest.mark.parametrize("merged", [1, 4])
def test_one_code_of_many_under_other_names_is_seen_among_honest_columns(
    n: int, per: int, merged: int
) -> None:
    illness = np.random.default_rng(n).integers(0, 4, n)
    before, after = (honest(n, seed, illness) for seed in (0, 1))
    code = np.random.default_rng(n + 1).permutation(np.arange(n) // per)
    before["code"], after["code"] = code, by_table(code, -(-n // per) // merged)
    assert "code tells what code was" in related(before, after)
    assert "code tells what code was" in related(after, before)
