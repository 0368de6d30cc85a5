"""What would let a blocked candidate pass: the advised limits pass on the same files, and guard less."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.loosening import loosened
from policy.model import ReleasePolicy
from release_store.records import GateResult, Verdict
from reports.advice_text import advice_document, advice_sentence, search_command
from services.evaluation.search.goal import figures_to_name, parse_goal
from tasks.risk.advice import BLIND, HINTS, OF_ALL_RELEASES, Advice, advise, with_settings
from tasks.risk.evidence import Evidence
from tasks.risk.nearest_limits import LIMITS, rounded_down, rounded_up
from tasks.risk.registry import GATES, assess, gates_to_ask
from tests.support.made_classes import classes_of, evidence_of, policy_with
from tests.support.small import TWO_SENSITIVE, prepared, published, small_policy

AGE = {"age": {"type": "integer", "bounds": [0, 100]}}
STRICT_MODELS: dict[str, Any] = {
    "distinct_l": {"min": 4},
    "entropy_l": {"min": 3.5},
    "recursive_cl": {"c": 0.2, "l": 2},
    "t_closeness": {"max": 0.001},
    "alpha_k": {"alpha": 0.05, "k": 6},
    "beta_likeness": {"max": 0.01},
    "delta_disclosure": {"max": 0.01},
    "km": {"k": 9, "m": 1},
    "lkc": {"l": 1, "k": 9, "c": 0.05},
}
OWN = {
    "illness": {"t_closeness": {"max": 0.002}, "alpha_k": {"alpha": 0.06}},
    "wage": {"distinct_l": {"min": 5}, "entropy_l": {"min": 4}, "recursive_cl": {"c": 0.3, "l": 2}},
}
OF_FILES = ("files", "truth", "leak", "unique")


def still_failing(evidence: Evidence, advice: Advice, policy: ReleasePolicy) -> list[GateResult]:
    """The gate asked again of the same files under the advised settings, where it does not pass."""
    changed = with_settings(policy, advice.settings)
    assert changed is not None
    assert loosened(policy, changed), advice
    again = assess(replace(evidence, policy=changed), {advice.gate: GATES[advice.gate]})
    return list(again.failing)


def measured(evidence: Evidence, gates: Iterator[str] | None = None) -> dict[str, Advice]:
    """The advice that is measured, each held against the gate itself."""
    policy = evidence.policy
    asked = gates_to_ask(policy) if gates is None else {name: GATES[name] for name in gates}
    found = {one.gate: one for one in advise(assess(evidence, asked).results, policy)}
    known = {name: one for name, one in found.items() if one.basis == "measured" and name in LIMITS}
    for advice in known.values():
        assert not still_failing(evidence, advice, policy), advice
    return known


def rows_of_cities() -> st.SearchStrategy[list[Any]]:
    illness, wage = st.sampled_from(["flu", "hiv", "cough"]), st.sampled_from(["10", "20", "35", "90"])
    people = st.lists(st.tuples(illness, wage), min_size=1, max_size=8)
    towns = st.dictionaries(st.sampled_from(["Hull", "York", "Bath"]), people, min_size=1, max_size=3)
    return towns.map(
        lambda made: [((frozenset({town}),), person) for town, people in made.items() for person in people]
    )


@given(rows=rows_of_cities(), own=st.booleans(), attributes=st.booleans())
def test_every_advised_limit_of_a_model_passes_on_the_same_classes(
    rows: list[Any], own: bool, attributes: bool
) -> None:
    models = {**STRICT_MODELS, **({"attributes": OWN} if own else {})}
    privacy = {"k": 7, "e": 4, "p_max": 0.1, "h_min": 2.5, "spread": 1.0}
    if attributes:
        privacy["attributes"] = {"illness": {"p_max": 0.2, "e": 5}, "wage": {"h_min": 3}}
    policy = policy_with(models, "illness", "wage", names=["city"], privacy=privacy)
    evidence = evidence_of(classes_of(rows, policy), policy)
    named = [name for name in gates_to_ask(policy) if name in LIMITS and not GATES[name].needs_source]
    measured(evidence, (name for name in named if name not in (*OF_FILES, "suppression")))


def test_the_limits_of_models_are_those_measured() -> None:
    # Hull has a 3, b 2, c 2, d 1 of 8; York a 2, b 1, c 1 of 4. Of 12: a 5, b 3, c 3, d 1.
    towns = {"Hull": "aaabbccd", "York": "aabc"}
    rows: list[Any] = [((frozenset({town}),), (one,)) for town, word in towns.items() for one in word]
    policy = policy_with(
        {name: STRICT_MODELS[name] for name in ("distinct_l", "recursive_cl", "alpha_k", "beta_likeness")},
        names=["city"],
        privacy={"k": 5, "p_max": 0.4},
    )
    evidence = evidence_of(classes_of(rows, policy), policy)
    names = ("k", "p_max", "distinct_l", "recursive_cl", "alpha_k", "beta_likeness")
    found = measured(evidence, iter(names))
    assert {one.gate: {s.field: s.value for s in one.settings} for one in found.values()} == {
        "k": {"privacy.k": 4},
        "p_max": {"privacy.p_max": 0.5},
        "distinct_l": {"gates.models.distinct_l.min": 3},
        "recursive_cl": {"gates.models.recursive_cl.c": 1.001},  # 2 < c (1 + 1) from c over 1 on
        "alpha_k": {"gates.models.alpha_k.alpha": 0.5, "gates.models.alpha_k.k": 4},
        # d in Hull: (1/8 - 1/12) / (1/12), which is computed as a little more than 0.5.
        "beta_likeness": {"gates.models.beta_likeness.max": 0.5001},
    }


def strict(folder: Path, **gates: Any) -> Evidence:
    """Seven people of two classes with a kept column, and gates that none of them passes."""
    rows = [
        (10, "flu", "n1"),
        (11, "flu", "n2"),
        (12, "hiv", "n3"),
        (20, "flu", "n4"),
        (21, "cough", "n5"),
        (22, "hiv", "n6"),
        (23, "cough", "n7"),
        (24, "flu", "n8"),
    ]
    limits = {
        name: {"max": 0.0}
        for name in ("err", "umr", "sadr", "pr_dr", "pr_dr_excess", "inversion", "ncp", "suppression")
    }
    policy = small_policy(
        AGE,
        roles={"kept": ["note"]},
        gates={**limits, **gates},
        linkage={"ext_frac": [1.0], "seeds": 2, "sampling_fraction": 0.5},
    )
    given_table = prepared(policy, rows)
    return published(policy, given_table, [0, 0, 0, 1, 1, 1, 1, -1], folder).evidence()


def test_every_advised_limit_of_a_risk_or_loss_passes_on_the_same_files(tmp_path: Path) -> None:
    more = {"k_map": {"k": 20}, "population_uniqueness": {"max": 0.0}}
    found = measured(strict(tmp_path / "c", **more))
    assert {"err", "pr_dr", "sadr", "ncp", "suppression", "k_map"} <= set(found), found
    assert found["suppression"].settings[0].value == 0.125
    assert found["k_map"].settings[0].value == 6  # three people, of whom the source has every second


def test_a_share_that_lets_everybody_pass_is_no_advice(tmp_path: Path) -> None:
    """Both classes are known for certain: a limit of 1 would ask nothing."""
    evidence = strict(tmp_path / "c")
    (umr,) = assess(evidence, {"umr": GATES["umr"]}).results
    assert umr.value == pytest.approx(7 / 8)
    (advice,) = advise([replace(umr, value=1.0)], evidence.policy)
    assert (advice.basis, advice.settings) == ("none", ())
    assert advice.hint
    assert advice.goal == "umr <= 0, ncp lowest"


def test_an_attacker_who_could_not_be_measured_leaves_no_measured_limit(tmp_path: Path) -> None:
    """With one sensitive attribute, who knows it has none to guess: no limit lets the gate pass."""
    evidence = strict(tmp_path / "c", sadr={"max": 0.0, "attackers": ["all", "sensitive"]})
    (sadr,) = assess(evidence, {"sadr": GATES["sadr"]}).results
    assert sadr.verdict is Verdict.FAIL
    (advice,) = advise([sadr], evidence.policy)
    assert advice.basis == "none"


@pytest.mark.parametrize("gate", [*HINTS, *OF_ALL_RELEASES])
@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_RUN, Verdict.ERROR])
def test_no_gate_without_a_limit_is_weakened(gate: str, verdict: Verdict) -> None:
    """Whatever is advised for it, the policy guards as much as before."""
    result = GateResult(gate, verdict, 3.0, 0.0, "<=", "", 0.0, "", {"undecided": 2})
    for history in ("blind", "repair", "sticky"):
        policy = small_policy(method={"name": "mondrian", "history": history})
        (advice,) = advise([result], policy)
        assert (advice.basis, advice.settings) == ("none", ())
        assert advice.hint
        changed = with_settings(policy, advice.settings)
        assert changed is not None
        assert not loosened(policy, changed)


@pytest.mark.parametrize("gate", OF_ALL_RELEASES)
def test_no_history_is_advised_in_the_place_of_another(gate: str) -> None:
    """Whether another one passes, only a run of it tells."""
    result = GateResult(gate, Verdict.FAIL, 3.0, 0.0, "<=", "", 0.0)
    for history in ("blind", "repair", "sticky"):
        policy = small_policy(roles={"key": "person"}, method={"name": "mondrian", "history": history})
        (advice,) = advise([result], policy)
        others = {"blind", "repair", "sticky"} - {history}
        assert not [one for one in others if one in advice.hint]


def test_people_left_undecided_are_told_with_the_limit_that_stopped_the_solver() -> None:
    result = GateResult("worlds", Verdict.UNKNOWN, 3.0, 0.0, "<=", "", 0.0, "", {"undecided": 2})
    (advice,) = advise([result], small_policy(gates={"worlds": {"calls": 7}}))
    assert "`gates.worlds.calls: 7`" in advice.hint


def test_a_search_that_is_advised_is_a_goal_that_evaluate_reads() -> None:
    policy = small_policy(gates={"err": {"max": 0.25}, "umr": {"max": 1e-05}})
    results = [
        GateResult(name, Verdict.FAIL, 0.9, {"err": 0.25, "umr": 1e-05}.get(name, 0.5), "<=", "", 0.0)
        for name in LIMITS
    ]
    known = figures_to_name(policy)
    for advice in advise(
        [one for one in results if one.gate in ("err", "umr", "ncp", "suppression")], policy
    ):
        command = shlex.split(search_command(advice.goal, "my policy.yaml".replace(" ", "-")))
        assert command[:4] == ["releasegate", "evaluate", "my-policy.yaml", "--goal"]
        goal = parse_goal(command[4], known)
        assert [limit.bound for limit in goal.limits] in ([], [0.25], [1e-05])


def test_advice_is_told_with_its_basis() -> None:
    results = [
        GateResult("umr", Verdict.FAIL, 0.31234, 0.25, "<=", "", 0.0),
        GateResult("pairwise", Verdict.FAIL, 1.0, 0.0, "<=", "", 0.0),
        GateResult("k", Verdict.PASS, 2.0, 2.0, ">=", "", 0.0),
    ]
    policy = small_policy(gates={"umr": {"max": 0.25}}, method={"history": "blind"})
    umr, pairwise = advise(results, policy)
    assert advice_document(umr) == {
        "gate": "umr",
        "basis": "measured",
        "settings": {"gates.umr.max": 0.3124},
        "text": (
            "passes only with gates.umr.max: 0.3124, this candidate's own value; that is looser, and may "
            "need an approval"
        ),
        "command": "releasegate evaluate POLICY --goal 'umr <= 0.25, ncp lowest'",
    }
    assert advice_sentence(pairwise) == BLIND


@given(st.floats(1e-9, 1e6))
def test_numbers_are_rounded_to_the_side_that_passes(value: float) -> None:
    assert rounded_down(value) <= value <= rounded_up(value)
    assert rounded_up(value) - rounded_down(value) <= value * 1.001e-3


def test_round_numbers_stay() -> None:
    assert (rounded_up(0.1), rounded_down(0.3), rounded_up(2.0)) == (0.1, 0.3, 2.0)


def test_two_sensitive_attributes_get_the_limit_of_the_worst() -> None:
    with tempfile.TemporaryDirectory() as folder:
        policy = small_policy(AGE, TWO_SENSITIVE, privacy={"p_max": 0.3})
        rows = [(10, "flu", 1.0), (11, "flu", 2.0), (12, "hiv", 3.0)]
        evidence = published(policy, prepared(policy, rows), [0, 0, 0], Path(folder) / "c").evidence()
        found = measured(evidence, iter(("p_max",)))
    assert {one.field: one.value for one in found["p_max"].settings} == {"privacy.p_max": 0.6667}
