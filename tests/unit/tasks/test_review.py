"""Today's gates over small releases worked by hand, read from their files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policy.model import ReleasePolicy
from release_store.canonical import file_digest
from release_store.records import GateResult, Verdict
from tasks.risk import review as module
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, NO_SOURCE, Gate, assess, gates_to_ask, unmeasured
from tasks.risk.review import Publication, Review, review
from tests.support.small import Published, prepared, published, small_policy

AGE = {"age": {"type": "integer", "bounds": [0, 100]}}
EVERY_LIMIT = {name: {"max": 1} for name in ("err", "umr", "sadr")}


def releases(tmp_path: Path, *illnesses: str, **sections: Any) -> list[Published]:
    """One release for each word, of one class: people of 30 with the illnesses that its letters name."""
    found = []
    for number, word in enumerate(illnesses):
        policy = small_policy(AGE, **sections)
        rows = [(30, illness) for illness in word]
        found.append(published(policy, prepared(policy, rows), [0] * len(rows), tmp_path / str(number)))
    return found


def publications(made: Sequence[Published], periods: Sequence[str] = ()) -> list[Publication]:
    return [
        Publication(
            f"release-{number}",
            periods[number - 1] if periods else f"2026Q{number}",
            one.candidate.folder,
            one.candidate.files,
            one.policy,
            one.table.n_records,
        )
        for number, one in enumerate(made, 1)
    ]


def reviewed(made: Sequence[Published], **asked: Any) -> list[Review]:
    return review(publications(made), **asked)


def with_tables(made: Sequence[Published]) -> Any:
    by_folder = {one.candidate.folder: one.table for one in made}
    return lambda one, _policy: by_folder[one.folder]


def verdicts(one: Review) -> dict[str, str]:
    return {result.gate: str(result.verdict) for result in one.results}


def failing(one: Review) -> list[str]:
    return [result.gate for result in one.not_passed]


def timeless(results: Sequence[GateResult]) -> list[GateResult]:
    return [replace(one, seconds=0.0) for one in results]


def test_what_needs_the_source_is_not_run_and_the_rest_is_asked(tmp_path: Path) -> None:
    (one,) = reviewed(releases(tmp_path, "abc", gates=EVERY_LIMIT))
    assert verdicts(one) == {
        "files": "pass",
        "truth": "not_run",
        "leak": "not_run",
        "unique": "pass",
        "k": "pass",
        "p_max": "pass",
        "h_min": "pass",
        "e": "pass",
        "err": "not_run",
        "umr": "not_run",
        "sadr": "not_run",
        "pairwise": "pass",
        "whole_history": "not_run",
        "worlds": "pass",
        "totals": "pass",
        "suppression": "pass",
        "ncp": "not_run",
    }
    assert (one.passes, one.had_source) == (True, False)
    assert {result.detail for result in one.not_run} == {NO_SOURCE}


def test_each_release_is_judged_against_those_before_it(tmp_path: Path) -> None:
    """abc and abd share a, b; acd shares a, c with the one and a, d with the other: two, under three.

    Each release has one person in place of another, whose values the totals show.
    """
    made = releases(tmp_path, "abc", "abd", "acd")
    assert [failing(one) for one in reviewed(made)] == [[], ["totals"], ["totals"]]
    found = reviewed(made, policy=small_policy(AGE, privacy={"l": 3}))
    assert [verdicts(one)["pairwise"] for one in found] == ["pass", "fail", "fail"]
    assert [failing(one) for one in found] == [[], ["pairwise", "totals"], ["pairwise", "totals"]]
    assert found[1].not_passed[0].witness["illness"]["earlier_release"] == "release-1"
    assert found[2].not_passed[0].witness["illness"]["failures"] == 2


def test_with_the_sources_every_gate_is_asked(tmp_path: Path) -> None:
    """Pair by pair two values are in common, and all three releases together leave a alone."""
    made = releases(tmp_path, "abc", "abd", "acd", gates=EVERY_LIMIT)
    found = reviewed(made, table_of=with_tables(made))
    assert [one.not_run for one in found] == [(), (), ()]
    assert [verdicts(one)["whole_history"] for one in found] == ["pass", "pass", "fail"]
    assert [failing(one) for one in found] == [[], ["totals"], ["whole_history", "totals"]]
    assert all(one.had_source for one in found)


def test_the_results_are_those_of_the_gate_at_publication(tmp_path: Path) -> None:
    made = releases(tmp_path, "abc", "abd", "acd", gates=EVERY_LIMIT)
    for number, one in enumerate(reviewed(made, table_of=with_tables(made))):
        then = assess(made[number].evidence(*made[:number]))
        assert timeless(one.results) == timeless(then.results)


def test_a_stricter_policy_fails_what_passed(tmp_path: Path) -> None:
    made = releases(tmp_path, "abc", "abcde", privacy={"k": 3})
    stricter = small_policy(AGE, privacy={"k": 4})
    first, second = reviewed(made, policy=stricter)
    (failing,) = first.not_passed
    assert (failing.gate, failing.value, failing.threshold) == ("k", 3, 4)
    assert second.passes
    assert {one.policy.privacy.k for one in (first, second)} == {4}


def test_classes_are_read_once_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()
    reader = module.read_classes

    def counted(file: Path, policy: ReleasePolicy) -> Any:
        read[file_digest(file)] += 1  # a path of a sealed copy tells nothing
        return reader(file, policy)

    monkeypatch.setattr(module, "read_classes", counted)
    made = releases(tmp_path, "abc", "abd", "acd")
    reviewed(made, policy=small_policy(AGE, privacy={"k": 3}))
    assert read == {one.candidate.files["data.parquet"]: 1 for one in made}
    assert len(read) == 3


def test_a_policy_that_does_not_fit_the_files_leaves_every_gate_unknown(tmp_path: Path) -> None:
    made = releases(tmp_path, "abc", "abd")
    wage = small_policy({"wage": {"type": "integer", "bounds": [0, 9]}}, gates={"err": {"max": 1}})
    for one in reviewed(made, policy=wage):
        assert set(verdicts(one)) == set(gates_to_ask(wage))
        assert set(verdicts(one).values()) == {"unknown"}
        assert {result.detail for result in one.results} == {
            "its columns are not the published columns of the policy"
        }
        assert (one.passes, one.had_source) == (False, False)


def test_a_policy_that_fits_some_releases_is_compared_with_all(tmp_path: Path) -> None:
    """The first release also published a city; the others are judged beside it all the same."""
    (alone,) = releases(tmp_path / "later", "acd")
    two = {**AGE, "city": {"type": "categorical"}}
    policy = small_policy(two)
    table = prepared(policy, [(30, "x", illness) for illness in "abc"])
    first = published(policy, table, [0, 0, 0], tmp_path / "first")
    found = reviewed([first, alone], policy=small_policy(AGE, privacy={"l": 3}))
    assert set(verdicts(found[0]).values()) == {"unknown"}
    assert verdicts(found[1])["pairwise"] == "fail"
    assert found[1].not_passed[0].witness["illness"]["values_in_common"] == 2


def test_files_that_were_altered_or_are_foreign_fail(tmp_path: Path) -> None:
    made = releases(tmp_path, "abc", "abc")
    (made[0].candidate.folder / "raw.csv").write_text("id", encoding="utf-8")
    first, second = reviewed(made)
    assert [(one.gate, one.witness) for one in first.not_passed] == [("files", {"files": ["raw.csv"]})]
    assert second.passes


def test_a_gate_that_breaks_is_no_pass(tmp_path: Path) -> None:
    def broken(_evidence: Evidence) -> GateResult:
        raise KeyError("a secret value")

    (one,) = reviewed(releases(tmp_path, "abc"), gates={"broken": Gate(broken)})
    assert not one.passes
    assert (one.results[0].verdict, one.results[0].detail) == (Verdict.ERROR, "the gate failed (KeyError)")


def test_nothing_asked_is_no_pass(tmp_path: Path) -> None:
    (one,) = reviewed(releases(tmp_path, "abc"), gates={"truth": GATES["truth"]})
    assert (one.not_passed, len(one.not_run), one.passes) == ((), 1, False)


def test_a_release_of_a_later_period_is_moved_the_other_way(tmp_path: Path) -> None:
    """2026Q2 was published before 2026Q1: people of 30 are 31 there."""
    moving = {"age": {"type": "integer", "bounds": [0, 100], "moves": [1, 1]}}
    policy = small_policy(moving, privacy={"l": 3})
    made = []
    for number, (age, word) in enumerate(((31, "abc"), (30, "abd"))):
        rows = [(age, illness) for illness in word]
        made.append(published(policy, prepared(policy, rows), [0, 0, 0], tmp_path / str(number)))
    in_order = review(publications(made, ["2026Q1", "2026Q2"]))
    out_of_order = review(publications(made, ["2026Q2", "2026Q1"]))
    assert verdicts(in_order[1])["pairwise"] == "unknown"  # nobody of 31 is 30 a quarter later
    assert verdicts(out_of_order[1])["pairwise"] == "fail"


def test_progress_goes_from_release_to_release(tmp_path: Path) -> None:
    told: list[tuple[float, str]] = []
    reviewed(releases(tmp_path, "abc", "abd"), progress=lambda share, words: told.append((share, words)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] < 1
    names = [words.partition(":")[0] for _, words in told]
    assert list(dict.fromkeys(names)) == ["release-1", "release-2"]


def test_worlds_that_cannot_be_asked_is_no_pass(tmp_path: Path) -> None:
    (one,) = reviewed(releases(tmp_path, "abc"))
    no_key = unmeasured("worlds", Verdict.NOT_RUN, "the key of people is missing")
    found = replace(one, results=(*one.results, no_key))
    assert (one.passes, found.passes) == (True, False)
    assert found.not_passed == (no_key,)
    assert no_key not in found.not_run
