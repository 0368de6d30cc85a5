"""Every gate at its threshold, and what happens to one that breaks."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_store.canonical import file_digest
from release_store.records import GateResult, Verdict
from tasks.risk.evidence import Evidence
from tasks.risk.gates import integrity
from tasks.risk.registry import GATES, NO_SOURCE, Gate, GateReport, assess, summary_line
from tests.support.small import (
    MIXED,
    TWO_SENSITIVE,
    Published,
    anonymized,
    mixed_rows,
    prepared,
    published,
    small_policy,
)

AGE = {"age": {"type": "integer", "bounds": [0, 100]}}
# Two classes: ages 10 to 12 with flu, flu, hiv; ages 20 to 23 with flu, flu, hiv, cough.
ROWS = [(10, "flu"), (11, "flu"), (12, "hiv"), (20, "flu"), (21, "flu"), (22, "hiv"), (23, "cough")]
LABELS = [0, 0, 0, 1, 1, 1, 1]
LIMITED = ("err", "umr", "forced", "membership", "sadr", "sadr_excess", "pr_dr", "pr_dr_excess", "inversion")
MODELS: dict[str, Any] = {
    "distinct_l": {"min": 2},
    "entropy_l": {"min": 1.5},
    "recursive_cl": {"c": 3, "l": 2},
    "t_closeness": {"max": 0.5},
    "alpha_k": {"alpha": 0.9, "k": 2},
    "beta_likeness": {"max": 9},
    "km": {"k": 2, "m": 1},
    "lkc": {"l": 1, "k": 2, "c": 0.9},
}
POPULATION: dict[str, Any] = {
    "k_map": {"k": 6},
    "population_uniqueness": {"max": 1},
    "delta_presence": {"max": 0.99},
}
ENTROPY = -(2 / 3 * log(2 / 3) + 1 / 3 * log(1 / 3))
BY_PERSON = ("person", "person_difference")  # asked where the policy names a key
OF_ALL_VALUES = "delta_disclosure"  # the first class has no cough, which the release has
OF_LEVELS = "levels"  # asked where the policy decides any
KNOWN = {"known": {"max": 6}}  # people
OF_NUMBERS = "spread"  # asked where a sensitive attribute is numeric
NOT_ASKED = (
    *LIMITED,
    *MODELS,
    *POPULATION,
    OF_LEVELS,
    "difference",
    "size",
    *BY_PERSON,
    *KNOWN,
    OF_NUMBERS,
    OF_ALL_VALUES,
)  # unless the policy asks for them
EVERYBODY = {"ext_frac": [1.0], "seeds": 2}
AND_OTHERS = {**EVERYBODY, "control": "others.csv"}


def made(tmp_path: Path, rows: Any = ROWS, labels: Any = LABELS, **sections: Any) -> Published:
    policy = small_policy(AGE, **{"linkage": EVERYBODY, **sections})
    return published(policy, prepared(policy, rows), labels, tmp_path / "c")


def asked(gate: str, evidence: Evidence) -> GateResult:
    (result,) = assess(evidence, {gate: GATES[gate]}).results
    return result


def limit(gate: str, value: float) -> dict[str, Any]:
    return {"gates": {gate: {"max": value}}}


NCP = (3 * 2 / 13 + 4 * 3 / 13) / 7
AT_THE_THRESHOLD: list[tuple[str, float, dict[str, Any], dict[str, Any]]] = [
    ("k", 3, {"privacy": {"k": 3}}, {"privacy": {"k": 4}}),
    ("p_max", 2 / 3, {"privacy": {"p_max": 2 / 3}}, {"privacy": {"p_max": 0.66}}),
    ("h_min", ENTROPY, {"privacy": {"h_min": ENTROPY}}, {"privacy": {"h_min": ENTROPY + 1e-6}}),
    ("e", 2, {"privacy": {"e": 2}}, {"privacy": {"e": 3}}),
    ("err", 2 / 7, limit("err", 2 / 7), limit("err", 2 / 7 - 1e-6)),
    ("umr", 1, limit("umr", 1), limit("umr", 0.999)),
    ("forced", 1, limit("forced", 1), limit("forced", 0.999)),
    ("sadr", 2 / 3, limit("sadr", 2 / 3), limit("sadr", 0.6666)),
    ("ncp", NCP, limit("ncp", NCP), limit("ncp", NCP - 1e-6)),
]


@pytest.mark.parametrize(
    ("gate", "value", "passing", "failing"), AT_THE_THRESHOLD, ids=[case[0] for case in AT_THE_THRESHOLD]
)
def test_a_gate_passes_at_its_threshold_and_fails_beyond(
    gate: str, value: float, passing: dict[str, Any], failing: dict[str, Any], tmp_path: Path
) -> None:
    at = asked(gate, made(tmp_path / "at", **passing).evidence())
    beyond = asked(gate, made(tmp_path / "beyond", **failing).evidence())
    assert at.value == beyond.value == pytest.approx(value, abs=1e-9)
    assert (at.verdict, beyond.verdict) == (Verdict.PASS, Verdict.FAIL)


def test_the_models_name_the_classes_that_fail(tmp_path: Path) -> None:
    result = asked("k", made(tmp_path, privacy={"k": 4}).evidence())
    assert result.witness == {"failing_classes": 1, "first": [0]}
    result = asked("e", made(tmp_path / "e", privacy={"e": 3}).evidence())
    assert result.witness == {"failing_classes": 1, "first": [0], "by_attribute": {"illness": 1}}


def test_suppression_passes_at_its_threshold_and_fails_beyond(tmp_path: Path) -> None:
    labels = [0, 0, 0, 1, 1, 1, -1]
    for largest, verdict in ((1 / 7, Verdict.PASS), (0.142, Verdict.FAIL)):
        evidence = made(tmp_path / str(largest), labels=labels, **limit("suppression", largest)).evidence()
        result = asked("suppression", evidence)
        assert (result.verdict, result.value) == (verdict, pytest.approx(1 / 7))


def test_a_numeric_attribute_needs_a_range_of_e(tmp_path: Path) -> None:
    wage = {"wage": {"stability": "stable", "type": "numeric"}}
    for e, verdict in ((5, Verdict.PASS), (5.5, Verdict.FAIL)):
        policy = small_policy(AGE, wage, privacy={"e": e})
        rows = [(1, 10.0), (2, None), (3, 15.0)]
        found = published(policy, prepared(policy, rows), [0, 0, 0], tmp_path / str(e))
        assert asked("e", found.evidence()).verdict is verdict
    policy = small_policy(AGE, wage)
    unknown = published(policy, prepared(policy, [(1, None), (2, None)]), [0, 0], tmp_path / "unknown")
    assert asked("e", unknown.evidence()).verdict is Verdict.FAIL


def test_missing_sensitive_values_are_one_value(tmp_path: Path) -> None:
    evidence = made(
        tmp_path, rows=[(1, None), (2, None), (3, "flu")], labels=[0, 0, 0], privacy={"p_max": 0.6, "e": 2}
    ).evidence()
    assert asked("p_max", evidence).verdict is Verdict.FAIL
    assert asked("p_max", evidence).value == pytest.approx(2 / 3)
    assert asked("e", evidence).verdict is Verdict.PASS


def test_every_sensitive_attribute_is_held_to_the_model(tmp_path: Path) -> None:
    two = {"illness": {"stability": "stable"}, "mood": {"stability": "stable"}}
    policy = small_policy(AGE, two, privacy={"p_max": 0.5, "e": 2, "h_min": 0.1})
    table = prepared(policy, [(1, "flu", "good"), (2, "hiv", "good")])
    evidence = published(policy, table, [0, 0], tmp_path / "c").evidence()
    assert [asked(gate, evidence).verdict for gate in ("p_max", "e", "h_min")] == [Verdict.FAIL] * 3


def test_a_limit_that_the_policy_leaves_out_is_no_gate(tmp_path: Path) -> None:
    names = [result.gate for result in assess(made(tmp_path).evidence()).results]
    assert names == [gate for gate in GATES if gate not in NOT_ASKED]


def test_a_good_candidate_passes_every_gate(tmp_path: Path) -> None:
    limits = {
        "gates": {"models": MODELS} | {name: {"max": 1} for name in LIMITED} | POPULATION | KNOWN,
        "population": "cumulative",
        "linkage": AND_OTHERS | {"sampling_fraction": 0.5},
    }
    evidence = made(tmp_path, **limits).evidence()
    report = assess(replace(evidence, control=prepared(evidence.policy, ROWS * 5)))
    assert report.passed
    assert report.failing == ()
    assert [result.gate for result in report.results] == [
        gate for gate in GATES if gate not in (*BY_PERSON, OF_LEVELS, OF_NUMBERS, OF_ALL_VALUES)
    ]
    assert summary_line(report.results) == ""


def test_an_empty_release_fails(tmp_path: Path) -> None:
    limits = {"gates": {"models": MODELS} | {name: {"max": 1} for name in (*LIMITED, "suppression", "ncp")}}
    report = assess(made(tmp_path, labels=[-1] * 7, linkage=AND_OTHERS, **limits).evidence())
    assert not report.passed
    assert {result.gate for result in report.failing} >= {"k", "p_max", "h_min", "e", *MODELS}
    unknown = [result.gate for result in report.failing if result.verdict is not Verdict.FAIL]
    assert unknown == list(LIMITED)


def test_no_gate_asked_is_no_pass(tmp_path: Path) -> None:
    assert not GateReport(()).passed
    assert not assess(made(tmp_path).evidence(), {}).passed


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.PASS])
def test_any_verdict_but_pass_holds_the_candidate_back(verdict: Verdict) -> None:
    good = GateResult("k", Verdict.PASS, 2, 2, ">=", "", 0)
    report = GateReport((good, replace(good, gate="e", verdict=verdict)))
    assert not report.passed
    assert [result.gate for result in report.failing] == ["e"]


def test_a_broken_gate_says_error_and_nothing_of_the_data(tmp_path: Path) -> None:
    def broken(_evidence: Evidence) -> GateResult:
        raise KeyError("a secret value of row 17")

    report = assess(made(tmp_path).evidence(), {"broken": Gate(broken), "k": GATES["k"]})
    first, second = report.results
    assert (first.gate, first.verdict, first.value) == ("broken", Verdict.ERROR, None)
    assert "secret" not in repr(first)
    assert "17" not in repr(first.detail)
    assert "KeyError" in first.detail
    assert second.verdict is Verdict.PASS
    assert not report.passed
    assert summary_line(report.results) == "broken error"


def test_the_summary_names_gate_value_and_limit(tmp_path: Path) -> None:
    report = assess(made(tmp_path, privacy={"k": 4, "e": 3}).evidence())
    assert summary_line(report.results) == "k fail (3, must be at least 4); e fail (2, must be at least 3)"


def test_progress_names_the_gates(tmp_path: Path) -> None:
    told: list[str] = []
    assess(made(tmp_path).evidence(), progress=lambda _share, words: told.append(words))
    assert told == [f"gate {gate}" for gate in GATES if gate not in NOT_ASKED]


# The files


def resealed(found: Published) -> Evidence:
    """The evidence with the digests that the files have now."""
    folder = found.candidate.folder
    return replace(found.evidence(), files={path.name: file_digest(path) for path in folder.iterdir()})


def test_a_missing_altered_or_foreign_file_fails(tmp_path: Path) -> None:
    for change in ("missing", "altered", "foreign"):
        found = made(tmp_path / change)
        assert asked("files", found.evidence()).verdict is Verdict.PASS
        if change == "missing":
            found.csv.unlink()
        elif change == "altered":
            found.csv.write_bytes(found.csv.read_bytes() + b"\n")
        else:
            (found.candidate.folder / "raw.csv").write_text("id", encoding="utf-8")
        result = asked("files", found.evidence())
        assert result.verdict is Verdict.FAIL
        assert result.witness == {"files": ["raw.csv" if change == "foreign" else "data.csv"]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("flu", "hiv"),
        ("10,12,flu\n10,12,flu\n", "10,12,flu\n"),
        ("10,12,hiv\n", "10,12,hiv\n10,12,hiv\n"),
        ("10,12,hiv", "10,13,hiv"),
        ("10,12,hiv", '10,12,"hiv "'),
        ("age_min,age_max", "age_max,age_min"),
    ],
    ids=["a value", "a row less", "a row more", "a bound", "a space", "columns swapped"],
)
@pytest.mark.parametrize("few", [0, 4, 1_000], ids=["rows are counted", "as it is", "rows are hashed"])
def test_csv_that_differs_from_parquet_fails(
    old: str, new: str, few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrity, "FEW", few)
    found = made(tmp_path)
    assert asked("files", found.evidence()).verdict is Verdict.PASS
    text = found.csv.read_text(encoding="utf-8")
    assert old in text
    found.csv.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert asked("files", resealed(found)).verdict is not Verdict.PASS


def test_csv_with_a_column_more_does_not_pass(tmp_path: Path) -> None:
    found = made(tmp_path)
    lines = found.csv.read_text(encoding="utf-8").splitlines()
    found.csv.write_text("".join(f"{line},7\n" for line in lines), encoding="utf-8")
    assert asked("files", resealed(found)).verdict is not Verdict.PASS


@pytest.mark.parametrize("value", ['"', "a,b", "a\nb", "a\r\nb", "\\", "*", "NULL", "é", " a", "'", "", "\t"])
def test_any_value_is_the_same_in_both_formats(value: str, tmp_path: Path) -> None:
    policy = small_policy(
        {"city": {"type": "categorical"}}, source={"missing": ["NA"]}, roles={"kept": ["note", "amount"]}
    )
    table = prepared(policy, [(value, value, value, 0.1), ("x", "y", None, None)])
    found = published(policy, table, [0, 1], tmp_path / "c")
    assert asked("files", found.evidence()).verdict is Verdict.PASS
    assert asked("truth", found.evidence()).verdict is Verdict.PASS


# Truth


def test_a_record_outside_every_class_is_untrue(tmp_path: Path) -> None:
    found = made(tmp_path)
    narrower = found.classes.intervals["age"].copy()
    narrower[0] = [11, 12]
    classes = replace(found.classes, intervals={"age": narrower})
    result = asked("truth", replace(found.evidence(), classes=classes))
    assert (result.verdict, result.value) == (Verdict.FAIL, 1)


def test_sensitive_values_that_the_source_does_not_have_are_untrue(tmp_path: Path) -> None:
    found = made(tmp_path)
    counts = found.classes.counts["illness"].copy()
    counts[0] = counts[0][[1, 0, 2]]
    classes = replace(found.classes, counts={"illness": counts})
    result = asked("truth", replace(found.evidence(), classes=classes))
    assert result.verdict is Verdict.FAIL
    assert "flu" not in repr(result)


def test_records_that_are_left_out_may_lie_outside(tmp_path: Path) -> None:
    assert asked("truth", made(tmp_path, labels=[0, 0, 0, -1, 1, 1, 1]).evidence()).verdict is Verdict.PASS


def test_more_records_than_the_source_has_are_untrue(tmp_path: Path) -> None:
    found = made(tmp_path)
    fewer = prepared(found.policy, ROWS[:-1])
    assert asked("truth", replace(found.evidence(), table=fewer)).verdict is Verdict.FAIL


# Earlier releases


def test_the_first_release_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    for gate in ("pairwise", "whole_history"):
        result = asked(gate, made(tmp_path / gate).evidence())
        assert result.verdict is Verdict.PASS
        assert "first release" in result.detail


def three_releases(tmp_path: Path, *illnesses: str, **sections: Any) -> Evidence:
    sections = {"sensitive": {"illness": {"stability": "stable"}}, **sections}
    policy = small_policy(AGE, sections.pop("sensitive"), **sections)
    found = []
    for number, each in enumerate(illnesses):
        rows = [(30, illness) for illness in each]
        found.append(published(policy, prepared(policy, rows), [0] * len(rows), tmp_path / str(number)))
    return found[-1].evidence(*found[:-1])


def test_pairs_pass_where_the_whole_history_fails(tmp_path: Path) -> None:
    evidence = three_releases(tmp_path, "abc", "abd", "acd")
    assert asked("pairwise", evidence).verdict is Verdict.PASS
    result = asked("whole_history", evidence)
    assert (result.verdict, result.value) == (Verdict.FAIL, 1)
    assert result.witness["illness"]["failing_classes"] == 1


def test_a_failing_pair_is_named_by_numbers_and_sizes(tmp_path: Path) -> None:
    result = asked("pairwise", three_releases(tmp_path, "ab", "ac"))
    assert result.verdict is Verdict.FAIL
    assert result.witness["illness"] == {
        "failing_classes": 1,
        "failures": 1,
        "candidate_class": 0,
        "earlier_release": "release-1",
        "earlier_class": 0,
        "values_in_common": 1,
    }


def test_l_is_the_policys(tmp_path: Path) -> None:
    assert asked("pairwise", three_releases(tmp_path / "2", "abc", "abd")).verdict is Verdict.PASS
    strict = three_releases(tmp_path / "3", "abc", "abd", privacy={"l": 3})
    assert asked("pairwise", strict).verdict is Verdict.FAIL
    assert asked("whole_history", strict).verdict is Verdict.FAIL


def test_the_detail_says_what_is_assumed_of_transient_attributes(tmp_path: Path) -> None:
    transient = {"illness": {"stability": "transient"}}
    compared = asked("pairwise", three_releases(tmp_path / "c", "ab", "ac", sensitive=transient))
    assert compared.verdict is Verdict.FAIL
    assert "assumes that illness did not change" in compared.detail
    ignored = three_releases(tmp_path / "i", "ab", "ac", sensitive=transient, gates={"transient": "ignore"})
    assert asked("pairwise", ignored).verdict is Verdict.PASS
    assert "not compared, as the policy says: illness" in asked("pairwise", ignored).detail
    assert asked("whole_history", ignored).verdict is Verdict.PASS


def test_an_earlier_release_without_the_compared_attribute_is_unknown_and_blocks(tmp_path: Path) -> None:
    before = small_policy(AGE, {"disease": {"stability": "stable"}})
    after = small_policy(AGE, {"illness": {"stability": "stable"}})
    rows = [(30, "a"), (30, "b")]
    earlier = published(before, prepared(before, rows), [0, 0], tmp_path / "before")
    evidence = published(after, prepared(after, rows), [0, 0], tmp_path / "after").evidence(earlier)
    for gate in ("pairwise", "whole_history"):
        result = asked(gate, evidence)
        assert result.verdict is Verdict.UNKNOWN
        assert "illness is not in release-1" in result.detail
        assert not GateReport((result,)).passed


def test_results_hold_no_value_of_the_table(tmp_path: Path) -> None:
    rows = [(10, "SECRET"), (11, "SECRET"), (12, "hiv")]
    policy = small_policy(AGE, privacy={"k": 4, "e": 3, "p_max": 0.5, "h_min": 2})
    found = published(policy, prepared(policy, rows), [0, 0, 0], tmp_path / "c")
    report = assess(found.evidence(found))
    assert len(report.failing) >= 4
    assert "SECRET" not in repr(report)


def test_draws_are_those_of_the_policy(tmp_path: Path) -> None:
    policy = small_policy(AGE, linkage={"ext_frac": [0.3], "seeds": 4})
    evidence = published(policy, prepared(policy, ROWS), LABELS, tmp_path / "c").evidence()
    assert [len(rows) for rows in evidence.tables(0.3)] == [2] * 4
    assert np.array_equal(evidence.links.candidates, np.ones(7))


def test_one_failing_attribute_among_several_fails_the_gate(tmp_path: Path) -> None:
    two = {"illness": {"stability": "stable"}, "mood": {"stability": "stable"}}
    policy = small_policy(AGE, two)
    releases = []
    for number, last in enumerate(("hiv", "cold")):
        table = prepared(policy, [(30, "flu", "good"), (30, last, "bad")])
        releases.append(published(policy, table, [0, 0], tmp_path / str(number)))
    evidence = releases[1].evidence(releases[0])
    for gate in ("pairwise", "whole_history"):
        result = asked(gate, evidence)
        assert (result.verdict, list(result.witness)) == (Verdict.FAIL, ["illness", "coverage"])


def test_err_and_umr_are_those_of_the_worst_share_of_the_source(tmp_path: Path) -> None:
    # One record drawn risks 1/3 or 1/4; all together risk 2/7.
    policy = small_policy(AGE, linkage={"ext_frac": [0.01, 1.0], "seeds": 1}, **limit("err", 1))
    evidence = published(policy, prepared(policy, ROWS), LABELS, tmp_path / "c").evidence()
    (drawn,) = evidence.tables(0.01)[0]
    assert asked("err", evidence).value == pytest.approx(max(1 / 3 if drawn < 3 else 1 / 4, 2 / 7))
    reverse = small_policy(AGE, linkage={"ext_frac": [1.0, 0.01], "seeds": 1}, **limit("err", 1))
    assert asked("err", replace(evidence, policy=reverse)).value == asked("err", evidence).value


# Without the source


ALL_LIMITS = {
    "gates": {"models": MODELS}
    | {name: {"max": 1} for name in (*LIMITED, "ncp", "suppression")}
    | POPULATION
    | KNOWN,
    "linkage": AND_OTHERS | {"sampling_fraction": 0.5},
}


def test_without_the_source_every_gate_that_needs_it_is_not_run_and_blocks(tmp_path: Path) -> None:
    evidence = replace(made(tmp_path, **ALL_LIMITS).evidence(), table=None, recorded_rows=len(ROWS))
    report = assess(evidence)
    not_run = [result.gate for result in report.results if result.verdict is Verdict.NOT_RUN]
    of_source = ("population_uniqueness", "delta_presence")
    assert not_run == ["truth", "leak", *LIMITED, *of_source, "whole_history", "ncp"]
    assert {result.detail for result in report.results if result.gate in not_run} == {NO_SOURCE}
    assert all(r.verdict is Verdict.PASS for r in report.results if r.gate not in not_run)
    assert [result.gate for result in report.failing] == not_run
    assert not report.passed


def test_the_registry_names_just_the_gates_that_cannot_do_without_the_source(tmp_path: Path) -> None:
    """A gate that looked at the source without saying so would break, and one that says so must look."""
    every = {**ALL_LIMITS["gates"], "models": {**MODELS, OF_ALL_VALUES: {"max": 9}}}
    limits = {**ALL_LIMITS, "gates": every}
    earlier = made(tmp_path / "earlier", **limits)
    evidence = made(tmp_path / "c", **limits).evidence(earlier)
    evidence = replace(evidence, control=prepared(evidence.policy, ROWS * 5))
    without = replace(evidence, table=None, recorded_rows=len(ROWS))
    for name, gate in GATES.items():
        undeclared = {name: Gate(gate.ask)}
        (result,) = assess(without, undeclared).results
        assert (result.verdict is Verdict.ERROR) is gate.needs_source, name
        (result,) = assess(evidence, undeclared).results
        assert result.verdict is not Verdict.ERROR, name


def test_a_limit_that_is_left_out_is_not_asked_without_the_source_either(tmp_path: Path) -> None:
    without = replace(made(tmp_path).evidence(), table=None, recorded_rows=len(ROWS))
    names = [result.gate for result in assess(without).results]
    assert names == [gate for gate in GATES if gate not in NOT_ASKED]


def test_suppression_goes_by_the_recorded_rows_where_the_source_is_not_at_hand(tmp_path: Path) -> None:
    evidence = made(tmp_path, labels=[0, 0, 0, 1, 1, 1, -1], **limit("suppression", 1 / 7)).evidence()
    without = replace(evidence, table=None)
    same = asked("suppression", replace(without, recorded_rows=7))
    assert replace(same, seconds=0.0) == replace(asked("suppression", evidence), seconds=0.0)
    more = asked("suppression", replace(without, recorded_rows=8))
    assert (more.verdict, more.value) == (Verdict.FAIL, pytest.approx(2 / 8))
    assert asked("suppression", without).verdict is Verdict.ERROR


@pytest.mark.integration
@given(st.lists(mixed_rows(n_min=4), min_size=2, max_size=3))
def test_pairs_are_compared_alike_with_and_without_the_source(tables: list[Any]) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE, privacy={"l": 3})
    with tempfile.TemporaryDirectory() as folder:
        releases = []
        for number, rows in enumerate(tables):
            table = prepared(policy, rows)
            releases.append(published(policy, table, anonymized(table, policy), Path(folder) / str(number)))
        evidence = releases[-1].evidence(*releases[:-1])
        found = asked("pairwise", evidence)
        without = asked("pairwise", replace(evidence, table=None))
    assert replace(without, seconds=0.0) == replace(found, seconds=0.0)
