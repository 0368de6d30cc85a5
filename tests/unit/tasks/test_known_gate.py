"""The gate over one known person, on releases that are small enough to solve by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_persons import AGE, ILLNESS, Told, told

from policy.model import ReleasePolicy
from release_store.records import GateResult, Verdict
from tasks.risk.registry import GATES, assess
from tests.support.small import prepared, published, small_policy


def with_limit(most: int, mean: float | None = None, **sections: Any) -> ReleasePolicy:
    gates = {**sections.pop("gates", {}), "known": {"max": most} | ({} if mean is None else {"mean": mean})}
    return small_policy(AGE, ILLNESS, roles={"key": "person"}, gates=gates, **sections)


def judged(policy: ReleasePolicy, folder: Path, *texts: str) -> GateResult:
    *earlier, candidate = (told(folder, text, policy) for text in texts)
    return ask(candidate, *earlier)


def ask(candidate: Told, *earlier: Told) -> GateResult:
    return candidate.asked("known", *earlier)


# Who: how many others lose their protection by the best-placed known person, and by all of them together.
CASES = {
    "two of each: nobody's values name another's": (("ann 1 flu, bob 2 flu, cyd 3 hiv, dan 4 hiv",), 0, 0),
    "who has the only other value knows all": (("ann 1 flu, bob 2 flu, cyd 3 flu, dan 4 hiv",), 3, 3),
    "a pair": (("ann 1 flu, bob 2 hiv",), 1, 2),
    "three values": (("ann 1 flu, bob 2 hiv, cyd 3 cough",), 0, 0),
    # All a and b change places together: whoever is known, nothing is open.
    "classes that are cut anew": (
        (
            "ann 1 a, bea 2 b / cyd 3 a, dan 4 b",
            "ann 1 a, dan 4 b / bea 2 b, cyd 3 a",
        ),
        3,
        12,
    ),
    # Each cohort of two stays together, so that a known person ends the doubt about one other.
    "cohorts of two": (
        (
            "ann 1 a, bea 2 b, cyd 3 a, dan 4 b",
            "ann 1 a, bea 2 b / cyd 3 a, dan 4 b",
        ),
        1,
        4,
    ),
    # Cohorts of four, two of each value.
    "cohorts of four": (
        (
            "ann 1 a, bea 2 b, cyd 3 a, dan 4 b, eve 5 a, fay 6 b, gil 7 a, hal 8 b",
            "ann 1 a, bea 2 b, cyd 3 a, dan 4 b / eve 5 a, fay 6 b, gil 7 a, hal 8 b",
        ),
        0,
        0,
    ),
}


@pytest.mark.parametrize(("texts", "most", "total"), CASES.values(), ids=CASES)
@pytest.mark.enemy("reader", "learns a value")
def test_so_many_are_unlocked_by_one(tmp_path: Path, texts: tuple[str, ...], most: int, total: int) -> None:
    found = judged(with_limit(most), tmp_path, *texts)
    assert (found.verdict, found.value) == (Verdict.PASS, most)
    assert found.witness["mean"] == pytest.approx(total / found.witness["people"])
    assert not any(name in str(found) for name in ("ann", "bob", "dan"))
    if most:
        assert judged(with_limit(most - 1), tmp_path, *texts).verdict is Verdict.FAIL
        mean = total / found.witness["people"]
        assert judged(with_limit(most, mean), tmp_path, *texts).verdict is Verdict.PASS
        assert judged(with_limit(most, mean * 0.99), tmp_path, *texts).verdict is Verdict.FAIL


def test_it_says_whose_protection_hangs_on_nobody(tmp_path: Path) -> None:
    found = judged(with_limit(1), tmp_path, "ann 1 a, bea 2 b / cyd 3 a, dan 4 b, eve 5 a, fay 6 b")
    assert found.witness["alone"] == pytest.approx(4 / 6)
    assert "66.7% of them depend on no single other person" in found.detail


@pytest.mark.parametrize(
    ("labels", "most"), [([0, 0, 0, 1, 1, 1, 1], 2), ([0, 0, 0, 0, 0, 0, 0], 0), ([0, 0, 0, 0, 1, 1, 1], 3)]
)
def test_without_a_key_each_class_is_looked_at(tmp_path: Path, labels: list[int], most: int) -> None:
    values = ["flu", "flu", "hiv", "flu", "flu", "hiv", "hiv"]
    policy = small_policy(gates={"known": {"max": most}})
    rows = [(10 + place, "Bath", value) for place, value in enumerate(values)]
    evidence = published(policy, prepared(policy, rows), labels, tmp_path / "staged").evidence()
    (found,) = assess(evidence, {"known": GATES["known"]}).results
    assert (found.verdict, found.value) == (Verdict.PASS, most)


def test_people_with_several_rows_are_not_told(tmp_path: Path) -> None:
    policy = with_limit(1, rows="several")
    (found,) = assess(
        told(tmp_path, "ann 1 flu, bob 2 hiv", policy).evidence(), {"known": GATES["known"]}
    ).results
    assert found.verdict is Verdict.UNKNOWN
