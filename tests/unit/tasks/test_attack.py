"""Attacks over draws: means, intervals, the control group, and the gates on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy.text import number_of
from release_store.records import GateResult, Verdict
from tasks.risk.attacks.attack import attack
from tasks.risk.attacks.attackers import ALL, HALF, HALF_AND_SENSITIVE, OUTSIDE, SENSITIVE
from tasks.risk.attacks.intervals import group_interval, interval, student_t
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tests.support.small import prepared, published, small_policy

AGE = {"age": {"type": "integer", "bounds": [0, 100]}}
AGE_AND_CITY = {**AGE, "city": {"type": "categorical"}}
ONE = {"illness": {"stability": "stable"}}
TWO = {**ONE, "mood": {"stability": "stable"}}
EVERYBODY = {"ext_frac": [1.0], "seeds": 1}
TEN_TIMES = {"ext_frac": [1.0], "seeds": 10}
EVERY_ATTACKER = (HALF, ALL, SENSITIVE, HALF_AND_SENSITIVE, OUTSIDE)
# Classes [10, 30] of four, [20, 40] of two, [50, 60] of three. 20 and 30 lie in the first two.
ROWS = [
    *[(age, illness) for age, illness in ((10, "flu"), (15, "flu"), (20, "flu"), (30, "hiv"))],
    *[(age, illness) for age, illness in ((20, "hiv"), (40, "hiv"))],
    *[(age, illness) for age, illness in ((50, "flu"), (55, "hiv"), (60, "cough"))],
]
LABELS = [0, 0, 0, 0, 1, 1, 2, 2, 2]
ELSEWHERE = [(90, "z", "flu"), (91, "y", "x")]


def made(
    folder: Path,
    rows: Any = ROWS,
    labels: Any = LABELS,
    *,
    roles: Any = (AGE, ONE),
    control: Any = None,
    **sections: Any,
) -> Evidence:
    sections = {"linkage": EVERYBODY, **sections}
    policy = small_policy(*roles, **sections)
    evidence = published(policy, prepared(policy, rows), labels, folder / "c").evidence()
    return evidence if control is None else replace(evidence, control=prepared(policy, control))


def asked(gate: str, evidence: Evidence) -> GateResult:
    (result,) = assess(evidence, {gate: GATES[gate]}).results
    return result


def test_all_quasi_identifiers_known_by_everybodys_table(tmp_path: Path) -> None:
    found = made(tmp_path).attack(ALL)
    guess = found.sadr["illness"]
    assert guess.mean == pytest.approx((2 * 3 / 4 + 3 * 1 / 2 + 1 + 3 * 1 / 3) / 9)
    assert guess.greatest == 1
    assert guess.witness == {"class": 1, "rows_that_fit": 2}
    assert guess.hits == pytest.approx((2 * 1 + 3 * 1 / 2 + 1 + 3 * 1 / 3) / 9)
    assert guess.control == pytest.approx((6 * 4 / 9 + 3 * 1 / 3) / 9)
    assert guess.excess == pytest.approx(guess.hits - guess.control)
    assert found.identity.mean == pytest.approx((2 / 4 + 3 / 6 + 1 / 2 + 3 / 3) / 9)
    assert (found.identity.greatest, found.identity.control) == (0.5, 0.0)
    assert np.isnan(found.identity.within)
    assert found.cells is None
    assert (found.n_ways, found.n_people) == (1, 9)


def test_the_mean_is_over_draws_and_the_greatest_over_all_of_them(tmp_path: Path) -> None:
    target = made(tmp_path).target
    tables = [np.array([0, 5]), np.array([6, 7]), np.array([0, 1])]
    guess = attack(target, ALL, tables, errors=0.0).sadr["illness"]
    means = np.array([(3 / 4 + 1) / 2, 1 / 3, 3 / 4])
    assert guess.mean == pytest.approx(means.mean())
    assert guess.within == pytest.approx(4.303 * means.std(ddof=1) / 3**0.5)
    assert guess.greatest == 1
    assert attack(target, ALL, tables[1:], errors=0.0).sadr["illness"].greatest == pytest.approx(3 / 4)


def test_one_class_of_everybody_gives_no_excess_though_the_guess_is_sure(tmp_path: Path) -> None:
    rows = [(age, "flu" if age % 10 else "hiv") for age in range(100)]
    evidence = made(tmp_path, rows, [0] * 100)
    for attacker in (HALF, ALL, OUTSIDE):
        guess = evidence.attack(attacker).sadr["illness"]
        assert (guess.mean, guess.greatest) == (pytest.approx(0.9), pytest.approx(0.9))
        assert guess.excess == pytest.approx(0.0, abs=1e-12)
    fifth = made(tmp_path / "f", rows, [0] * 100, linkage={"ext_frac": [0.2], "seeds": 20})
    assert abs(fifth.attack(ALL).sadr["illness"].excess) < 0.05


def test_classes_with_one_value_each_give_a_large_excess(tmp_path: Path) -> None:
    """Whoever has even tens of age has flu in the release; outside it as many have the one as the other."""
    rows = [(age, "hiv" if age // 10 % 2 else "flu") for age in range(100)]
    labels = [age // 10 for age in range(100)]
    guess = made(tmp_path, rows, labels).attack(ALL).sadr["illness"]
    assert (guess.mean, guess.hits, guess.control) == (1.0, 1.0, 0.5)
    outside = [(age, "hiv" if age % 2 else "flu") for age in range(100)]
    guess = made(tmp_path / "file", rows, labels, control=outside).attack(ALL).sadr["illness"]
    assert (guess.hits, guess.control, guess.excess) == (1.0, 0.5, 0.5)
    # Where age tells the illness outside too, the release reveals what is true of everybody.
    guess = made(tmp_path / "true", rows, labels, control=rows).attack(ALL).sadr["illness"]
    assert (guess.mean, guess.excess) == (1.0, 0.0)


def test_who_knows_the_only_sensitive_value_has_nothing_to_guess(tmp_path: Path) -> None:
    evidence = made(tmp_path)
    found = evidence.attack(SENSITIVE)
    assert found.sadr == {}
    # Four of the nine rows have flu, four hiv, one a cough.
    assert found.identity.mean == pytest.approx((4 / 4 + 4 / 4 + 1) / 9)
    gates = {"sadr": {"max": 1, "attackers": [SENSITIVE]}, "sadr_excess": {"max": 1}}
    with_gates = made(tmp_path / "g", gates=gates, linkage=TEN_TIMES)
    result = asked("sadr", with_gates)
    assert (result.verdict, result.value) == (Verdict.UNKNOWN, None)
    assert "no other sensitive attribute" in result.detail
    assert asked("sadr_excess", with_gates).verdict is Verdict.PASS
    both = made(tmp_path / "b", gates={"sadr": {"max": 1, "attackers": [ALL, SENSITIVE]}})
    assert (asked("sadr", both).verdict, asked("sadr", both).value) == (Verdict.NOT_RUN, 1.0)
    over = made(tmp_path / "o", gates={"sadr": {"max": 0.9, "attackers": [ALL, SENSITIVE]}})
    assert asked("sadr", over).verdict is Verdict.FAIL


def test_a_half_is_attacked_in_every_way(tmp_path: Path) -> None:
    """(age, city, illness, mood): classes 10-20 in {a, b} of three and 20-30 in {b} of two."""
    rows = [
        (10, "a", "flu", "good"),
        (15, "b", "flu", "good"),
        (20, "b", "hiv", "bad"),
        (20, "b", "hiv", "good"),
        (30, "b", "flu", "good"),
    ]
    found = made(tmp_path, rows, [0, 0, 0, 1, 1], roles=(AGE_AND_CITY, TWO)).attack(HALF)
    assert found.n_ways == 2
    by_age = (2 / 3 + 2 / 3 + 3 / 5 + 3 / 5 + 1 / 2) / 5
    by_city = (2 / 3 + 4 * 3 / 5) / 5
    assert found.sadr["illness"].mean == pytest.approx((by_age + by_city) / 2)
    # By age 3, 3, 5, 5, 2 rows fit, by city 3 and 5, 5, 5, 5; the sums are those of test_disclosure.
    city = (3 / 2 / 3 + 3 / 2 / 3 + 7 / 2 / 5 + 7 / 2 / 5 + 2 / 2) / 5
    age = (1 / 3 + 1 / 5 + 2 / 5 + 2 / 5 + 1 / 5) / 5
    assert found.cells is not None
    assert found.cells.mean == pytest.approx((city + age) / 2)
    assert found.identity.mean == pytest.approx(
        ((1 / 3 + 1 / 3 + 1 / 5 + 1 / 5 + 1 / 2) + (1 / 3 + 4 / 5)) / 10
    )


def test_a_table_with_errors_finds_fewer_rows_and_no_more(tmp_path: Path) -> None:
    rows = [(age, str(age % 3)) for age in range(60)]
    linkage = {**EVERYBODY, "errors": 0.5, "seeds": 4}
    evidence = made(tmp_path, rows, [age // 3 for age in range(60)], linkage=linkage)
    exact, wrong = evidence.attack(ALL), evidence.attack(OUTSIDE)
    assert exact.identity.mean == pytest.approx(1 / 3)
    # Half of the ages are replaced, nearly always by one of another class.
    assert wrong.identity.mean == pytest.approx(1 / 6, abs=0.04)
    assert wrong.sadr["illness"].mean == pytest.approx(1 / 3)
    same = made(tmp_path / "no", rows, [age // 3 for age in range(60)], linkage={**EVERYBODY, "errors": 0.0})
    assert same.attack(OUTSIDE).identity.mean == same.attack(ALL).identity.mean


def test_unknown_cells_of_people_outside_are_the_control(tmp_path: Path) -> None:
    """Age 1 goes with a, age 2 with b: age tells the city, and of outsiders in half of the cases."""
    rows = [(1, "a", "flu"), (1, "a", "hiv"), (2, "b", "flu"), (2, "b", "hiv")]
    outside = [(1, "a", "flu"), (1, "b", "flu"), (2, "a", "flu"), (2, "b", "flu")]
    evidence = made(tmp_path, rows, [0, 0, 1, 1], roles=(AGE_AND_CITY, ONE), control=outside)
    cells = evidence.attack(HALF).cells
    assert cells is not None
    assert (cells.mean, cells.control, cells.excess) == (1.0, 0.5, 0.5)
    nobody = made(
        tmp_path / "n",
        rows,
        [0, 0, 1, 1],
        roles=(AGE_AND_CITY, ONE),
        control=[(90, "z", "flu"), (91, "y", "x")],
    )
    assert nobody.attack(HALF).cells is not None
    guess = nobody.attack(ALL).sadr["illness"]
    assert np.isnan(guess.control), "nobody of the control group fits a class"
    assert np.isnan(guess.excess)
    policy = small_policy(AGE_AND_CITY, ONE, linkage=EVERYBODY, gates={"sadr_excess": {"max": 1}})
    assert asked("sadr_excess", replace(nobody, policy=policy)).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("gate", ["sadr", "sadr_excess", "pr_dr", "pr_dr_excess"])
def test_a_gate_passes_at_its_limit_and_names_class_and_counts_beyond(gate: str, tmp_path: Path) -> None:
    def of(limit: float) -> GateResult:
        return asked(gate, made(tmp_path / str(limit), gates={gate: {"max": limit}}, linkage=TEN_TIMES))

    value = of(1).value
    assert value is not None
    assert 1e-6 < value <= 1
    at, over = of(value), of(value - 1e-6)
    assert (at.verdict, at.value, at.witness) == (Verdict.PASS, value, {})
    assert (over.verdict, over.value) == (Verdict.FAIL, value)
    assert set(over.witness) == {"attacker", "about", "people_drawn", "ways", "class", "rows_that_fit"}
    assert not {"flu", "hiv", "cough"} & set(str(over).replace("'", " ").split())


ONE_CLASS = ([(age, "hiv" if age < 30 else "flu") for age in range(50)], [0] * 50)
"""A class of everybody: the guess is hiv, right of three in five who are drawn."""


def excess_of(folder: Path, control: Any, limit: float, linkage: Any = TEN_TIMES) -> GateResult:
    gates = {"sadr_excess": {"max": limit, "attackers": [ALL]}}
    return asked("sadr_excess", made(folder, *ONE_CLASS, control=control, gates=gates, linkage=linkage))


def test_the_upper_end_of_the_excess_is_held_to_the_limit(tmp_path: Path) -> None:
    # As many outsiders have hiv: the excess is 0, and what 100 people may be off is Agresti and Coull's.
    outside = [(age % 50, "hiv" if age < 60 else "flu") for age in range(100)]
    centre = 62 / 104
    half = (0.6 - centre) + student_t(103) * (centre * (1 - centre) / 103) ** 0.5
    result = excess_of(tmp_path / "over", outside, 0.09)
    assert (result.verdict, result.value) == (Verdict.FAIL, pytest.approx(half))
    assert 0.09 < half < 0.11
    assert f"all: illness 0.0000 ± {half:.4f} (0.6000 - 0.6000)" in result.detail
    assert (
        "± is a 95% interval over 10 draws and the people outside, and its upper end is compared with the "
        "limit" in result.detail
    )
    assert excess_of(tmp_path / "under", outside, 0.11).verdict is Verdict.PASS
    # Ten times as many who say the same are surer.
    many = excess_of(tmp_path / "many", outside * 10, 0.09)
    assert many.verdict is Verdict.PASS
    assert many.value == pytest.approx(half / 10**0.5, rel=0.1)


def test_a_negative_excess_passes_by_more_than_it_may_be_off(tmp_path: Path) -> None:
    result = excess_of(tmp_path, [(1, "hiv")] * 40, 0)
    assert result.verdict is Verdict.PASS
    assert result.value is not None
    assert 3 / 5 - 1 < result.value < -0.2


@pytest.mark.parametrize("gate", ["sadr_excess", "pr_dr_excess"])
def test_a_control_group_of_few_people_says_nothing(gate: str, tmp_path: Path) -> None:
    for number, verdict in ((1, Verdict.UNKNOWN), (29, Verdict.UNKNOWN), (30, Verdict.PASS)):
        outside = [(1, "hiv")] * number
        gates = {gate: {"max": 1}}
        folder = tmp_path / str(number)
        result = asked(gate, made(folder, *ONE_CLASS, control=outside, gates=gates, linkage=TEN_TIMES))
        assert result.verdict is verdict
        told = f"the file of linkage.control has {number_of(number, 'row')}; it needs at least 30"
        assert (result.detail == told) is (number < 30)


@pytest.mark.parametrize("n_fit", [0, 1, 29, 30])
def test_few_of_a_control_group_who_fit_a_class_say_nothing_either(n_fit: int, tmp_path: Path) -> None:
    result = excess_of(tmp_path, [(1, "hiv")] * n_fit + [(99, "hiv")] * 50, 1)
    assert result.verdict is (Verdict.PASS if n_fit == 30 else Verdict.UNKNOWN)
    told = f"{n_fit} of the control group fit" if n_fit else "nobody of the control group fits"
    assert (f"all: illness not measured, {told} a class, and 30 must" in result.detail) is (n_fit < 30)
    assert "nobody drawn" not in result.detail


def test_the_excess_of_a_single_draw_is_unknown(tmp_path: Path) -> None:
    for folder, control in (("made", None), ("file", [(1, "hiv")] * 40)):
        result = excess_of(tmp_path / folder, control, 1, EVERYBODY)
        assert (result.verdict, result.value) == (Verdict.UNKNOWN, None)
        assert "linkage.seeds must be 2 or more" in result.detail


def test_draws_and_outsiders_add_up_in_the_interval(tmp_path: Path) -> None:
    outside = [(age % 50, "hiv" if age < 60 else "flu") for age in range(100)]
    linkage = {"ext_frac": [0.2], "seeds": 4}
    guess = made(tmp_path, *ONE_CLASS, control=outside, linkage=linkage).attack(ALL).sadr["illness"]
    target = made(tmp_path / "t", *ONE_CLASS, linkage=linkage)
    drawn = np.array([(rows < 30).mean() for rows in target.tables(0.2)])
    of_draws, (of_group, n) = interval(drawn)[1], group_interval(np.repeat([[1.0, 0.0]], [60, 40], axis=1))
    assert (guess.n_control, n) == (100, 100)
    assert of_draws > 0
    assert guess.excess_within == pytest.approx((of_draws**2 + of_group**2) ** 0.5)
    made_up = made(tmp_path / "m", *ONE_CLASS, linkage=linkage).attack(ALL).sadr["illness"]
    assert made_up.n_control is None
    assert made_up.excess_within < guess.excess_within


def test_a_control_that_is_not_at_hand_leaves_its_gates_not_run(tmp_path: Path) -> None:
    gates = {gate: {"max": 1} for gate in ("err", "umr", "sadr", "sadr_excess", "pr_dr", "pr_dr_excess")}
    evidence = made(tmp_path, gates=gates, linkage={**EVERYBODY, "control": "outside.csv"})
    for gate in gates:
        result = asked(gate, evidence)
        assert (result.verdict, result.value) == (Verdict.NOT_RUN, None), gate
        assert "linkage.control" in result.detail


def test_file_and_classes_that_differ_break_the_gate_and_so_block(tmp_path: Path) -> None:
    evidence = made(tmp_path, gates={"pr_dr": {"max": 1}})
    other = made(tmp_path / "other", [(age, "x") for age, _ in ROWS])
    assert asked("pr_dr", replace(evidence, folder=other.folder)).verdict is Verdict.ERROR


def test_who_knows_a_half_attacks_no_more_people_than_can_be_borne(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.risk.attacks.attack.MOST_ATTACKED", 8)
    evidence = made(tmp_path, linkage={**EVERYBODY, "seeds": 2}, roles=(AGE, ONE))
    first = np.unique([rows[:4] for rows in evidence.tables(1.0)])
    assert evidence.attack(HALF).n_people == len(first) < 9
    assert evidence.attack(ALL).n_people == 9


def test_made_up_people_have_the_value_that_is_known_and_the_cells_of_others(tmp_path: Path) -> None:
    rows = [(age, "flu" if age == 1 else "hiv") for age in [1] * 20 + [2] * 20]
    evidence = made(tmp_path, rows, [0] * 20 + [1] * 20)
    cells = evidence.attack(SENSITIVE).cells
    assert cells is not None
    # The illness tells the age of everybody; of those made up, of the half whose partner has the same age.
    assert cells.mean == 1.0
    assert cells.control == pytest.approx(0.5, abs=0.2)
