"""A privacy model of another package: found by its entry point, named in a policy, kept and verified."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy.errors import PolicyError
from policy.load import policy_digest, policy_document, policy_from_document
from policy.loosening import loosened
from policy.model import ReleasePolicy
from release_store.records import GateResult, Verdict
from reports.gate_wording import asks
from tasks.packages import trust_packages
from tasks.partitioning.constraints import constraints_of
from tasks.privacy import added
from tasks.risk.registry import GATES, assess, check_models, gates_to_ask
from tasks.validation.feasible import feasible
from tests.support.foreign_package import installed
from tests.support.made_classes import classes_of, evidence_of
from tests.support.simpson import MODULE
from tests.support.small import anonymized, prepared, published, small_policy, source_of

INFECTIONS = ("flu", "hiv", "cough", "burn")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Install a package beside ours, with the entry points that it is told to have."""
    with installed(tmp_path, monkeypatch, "foreign_simpson", MODULE, added.ENTRY_POINTS) as offers:
        yield offers


def policy(most: float = 0.5, name: str = "simpson", **sections: Any) -> ReleasePolicy:
    gates = {"models": {"added": {name: {"max": most}}}, "ncp": {"max": 1}}
    return small_policy(gates=gates, **sections)


def of_cities(**illnesses: list[str]) -> list[Any]:
    cells = {city: ((20, 20), frozenset({city})) for city in illnesses}
    return [(cells[city], (one,)) for city, words in illnesses.items() for one in words]


def asked(rows: list[Any], by: ReleasePolicy) -> GateResult:
    (result,) = assess(
        evidence_of(classes_of(rows, by), by), {"simpson": gates_to_ask(by)["simpson"]}
    ).results
    return result


# Hull: 1/4 + 1/4; York: 4/9 + 1/9.
ROWS = of_cities(Hull=["flu", "hiv"], York=["flu", "flu", "hiv"])


@pytest.mark.enemy("policy author", "runs code")
def test_a_package_that_the_owner_does_not_name_is_not_loaded(package: Any) -> None:
    package("simpson = foreign_simpson:SIMPSON")
    trust_packages(["other"])
    with pytest.raises(PolicyError, match="of the package foreign-simpson, which is not trusted here"):
        check_models(policy(), "p.yaml")
    with pytest.raises(PolicyError, match="not trusted here"):
        constraints_of(prepared(policy(), [(1, "a", "flu")]), policy())
    assert asked(ROWS, policy()).verdict is Verdict.NOT_RUN
    assert "foreign_simpson" not in sys.modules


@pytest.mark.enemy("policy author", "runs code")
@pytest.mark.parametrize(
    "name",
    ["os", "os.system", "foreign_simpson:SIMPSON", "foreign_simpson", "../simpson", "__import__"],
)
def test_a_policy_names_no_module_and_no_object(package: Any, name: str) -> None:
    package("simpson = foreign_simpson:SIMPSON")
    trust_packages([])
    before = set(sys.modules)
    with pytest.raises(PolicyError) as caught:
        check_models(policy(name=name), "p.yaml")
    assert len(str(caught.value).splitlines()) == 2
    assert "foreign_simpson" not in set(sys.modules) - before


def test_the_gate_measures_the_published_classes(package: Any) -> None:
    package("simpson = foreign_simpson:SIMPSON")
    for most, verdict in ((5 / 9, Verdict.PASS), (0.55, Verdict.FAIL)):
        result = asked(ROWS, policy(most))
        assert result.verdict is verdict
        assert result.value == pytest.approx(5 / 9)
        assert result.threshold == most
    assert result.witness["failing_classes"] == 1
    assert list(gates_to_ask(policy()))[-1] == "simpson"
    assert asks("simpson") == "How likely do two people of a class have one sensitive value, at most?"
    assert asks("elsewhere") == ""


def test_classes_are_cut_so_that_they_hold_the_model(package: Any, tmp_path: Path) -> None:
    package("simpson = foreign_simpson:SIMPSON")
    rng = np.random.default_rng(5)
    rows = [(int(age), "a", INFECTIONS[int(rng.integers(4))]) for age in rng.integers(0, 100, 80)]
    sizes = {}
    for most in (0.3, 0.4, 0.9):
        asks_for = policy(most)
        check_models(asks_for, "p.yaml")
        table = prepared(asks_for, rows)
        made = published(asks_for, table, anonymized(table, asks_for), tmp_path / str(most))
        report = assess(made.evidence())
        assert report.passed, report.failing
        assert "simpson" in {result.gate for result in report.results}
        sizes[most] = len(made.classes.size)
    assert sizes[0.3] < sizes[0.4] < sizes[0.9]


def test_a_model_without_a_condition_is_a_gate_alone(package: Any, tmp_path: Path) -> None:
    package("simpson = foreign_simpson:ALONE")
    rows = [(age, "a", "flu" if age < 5 else "hiv") for age in range(10)]
    table = prepared(policy(0.6), rows)
    limits = constraints_of(table, policy(0.6))
    assert [column.conditions for column in limits.columns] == [()]
    made = published(policy(0.6), table, anonymized(table, policy(0.6)), tmp_path / "c")
    failing = {result.gate: result for result in assess(made.evidence()).failing}
    assert failing["simpson"].verdict is Verdict.FAIL
    assert failing["simpson"].value == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any), min_size=1, max_size=4))
def test_the_gate_passes_where_every_class_meets_the_condition(package: Any, groups: list[list[int]]) -> None:
    package("simpson = foreign_simpson:SIMPSON")
    rows = of_cities(
        **{
            f"city{number}": [INFECTIONS[value] for value, count in enumerate(counts) for _ in range(count)]
            for number, counts in enumerate(groups)
        }
    )
    by = policy(0.55)
    classes = classes_of(rows, by)
    people = [(20, "a", one) for _, (one,) in rows]
    (condition,) = constraints_of(prepared(by, people), by).columns[0].conditions
    holds = condition.shortfall(classes.counts["illness"], classes.size) <= 0
    assert (asked(rows, by).verdict is Verdict.PASS) == bool(holds.all())


def test_a_condition_is_given_the_numbers_of_a_numeric_attribute(package: Any) -> None:
    package("simpson = foreign_simpson:SIMPSON")
    sensitive = {"wage": {"stability": "stable", "type": "numeric"}, "illness": {"stability": "stable"}}
    by = policy(sensitive=sensitive)
    limits = constraints_of(prepared(by, [(1, "a", 3.5, "flu"), (2, "a", 1.0, "flu")]), by)
    (of_wages,), (of_illnesses,) = ([*column.conditions] for column in limits.columns)
    assert sorted(of_wages.condition.numbers.tolist()) == [1.0, 3.5]
    assert of_illnesses.condition.numbers is None
    # 1/2 of the wages, all of one illness.
    missed = [
        result.detail for result in feasible(source_of(by, [(1, "a", 3.5, "flu"), (2, "a", 1.0, "flu")]), by)
    ]
    assert missed[1:] == ["", "'illness' misses gates.models.added.simpson"]


def test_similar_values_count_each_by_itself_in_the_cut_and_in_the_gate(package: Any) -> None:
    """One half flu and one half cold is 1/2, although the two are similar."""
    package("simpson = foreign_simpson:SIMPSON")
    illness = {"stability": "stable", "values": ["flu", "cold", "burn"], "similar": [["flu", "cold"]]}
    by = policy(0.5, sensitive={"illness": illness})
    rows = [(20, "a", "flu"), (20, "a", "cold")] * 3
    assert constraints_of(prepared(by, rows), by).group_holds(np.arange(6))
    assert not constraints_of(prepared(by, rows), by).group_holds(np.arange(5))
    assert asked(of_cities(Hull=["flu", "cold"]), by).verdict is Verdict.PASS
    assert [one.detail for one in feasible(source_of(by, rows), by)] == ["", ""]


def test_a_condition_that_gives_no_number_is_not_met(package: Any) -> None:
    package("simpson = foreign_simpson:NO_NUMBER")
    limits = constraints_of(prepared(policy(), [(20, "a", "flu")] * 3), policy())
    assert not limits.group_holds(np.arange(3))


@pytest.mark.parametrize(
    ("models", "finding"),
    [
        ({"simpsn": {"max": 0.5}}, r"added\.simpsn: unknown privacy model \(did you mean 'simpson'\?\)"),
        ({"ncp": {"max": 0.5}}, r"added\.ncp: 'ncp' is the name of a gate"),
        ({"t_closeness": {"max": 0.5}}, r"added\.t_closeness: 't_closeness' is the name of a gate"),
        ({"simpson": {"max": 0.5, "maxx": 1}}, r"simpson\.maxx: unknown parameter \(did you mean 'max'\?\)"),
        ({"simpson": {"maxx": 0.5}}, r"simpson\.maxx: unknown parameter \(did you mean 'max'\?\)"),
        ({"simpson": {}}, r"added\.simpson\.max: is missing"),
        ({"simpson": {"max": 2}}, r"added\.simpson\.max: should be less than 1, found 2"),
        ({"simpson": {"max": "high"}}, r"added\.simpson\.max: should be a valid number.*, found 'high'"),
        ({"simpson": {"max": float("nan")}}, r"added\.simpson\.max: should be a finite number, found nan"),
    ],
)
def test_what_cannot_be_asked_for_is_told_with_what_can(
    package: Any, models: dict[str, Any], finding: str
) -> None:
    package("simpson = foreign_simpson:SIMPSON")
    with pytest.raises(PolicyError, match=finding) as caught:
        check_models(small_policy(gates={"models": {"added": models}}), "p.yaml")
    told = str(caught.value)
    assert told.startswith("p.yaml: gates.models.added.")
    assert len(told.splitlines()) == 2


@pytest.mark.parametrize("models", [{"simpson": {"max": 0.5}}, {"added": {"simpson": 0.5}}, {"aded": {}}])
def test_a_model_of_a_package_stands_under_added_alone(package: Any, models: dict[str, Any]) -> None:
    package("simpson = foreign_simpson:SIMPSON")
    with pytest.raises(PolicyError, match=r"gates\.models\."):
        small_policy(gates={"models": models})


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("simpson = foreign_simpson:NO_MODEL", "is not a PrivacyModel of that name, or the name is taken"),
        ("simpson = foreign_simpson:NO_SECTION", "is not a PrivacyModel of that name, or the name is taken"),
        ("other = foreign_simpson:SIMPSON", "is not a PrivacyModel of that name, or the name is taken"),
        ("t_closeness = foreign_simpson:TAKEN", "is not a PrivacyModel of that name, or the name is taken"),
        ("simpson = foreign_simpson:MISSING", r"cannot be loaded \(AttributeError\)"),
        ("simpson = no_such_module:SIMPSON", r"cannot be loaded \(ModuleNotFoundError\)"),
    ],
)
def test_an_entry_point_that_is_no_privacy_model_is_told(package: Any, line: str, words: str) -> None:
    package(line)
    with pytest.raises(PolicyError, match=words) as caught:
        check_models(policy(), "p.yaml")
    assert "entry point releasegate.privacy_models:" in str(caught.value)
    check_models(small_policy(), "p.yaml")  # a policy without one needs none
    assert asks("simpson") == ""


def test_a_package_takes_the_place_of_no_gate(package: Any) -> None:
    package("k = foreign_simpson:A_GATE")
    with pytest.raises(PolicyError, match="'k' is the name of a gate"):
        check_models(policy(name="k"), "p.yaml")
    with pytest.raises(PolicyError, match="'k' is the name of a gate"):
        assess(evidence_of(classes_of(ROWS, policy(name="k")), policy(name="k")))
    assert gates_to_ask(small_policy())["k"] is GATES["k"]


@pytest.mark.parametrize("wrong", ["NO_RESULT", "OTHER_RESULT"])
def test_what_is_no_result_of_the_gate_is_an_error_and_no_pass(package: Any, wrong: str) -> None:
    package(f"simpson = foreign_simpson:{wrong}")
    result = asked(ROWS, policy(0.9))
    assert result.verdict is Verdict.ERROR
    assert result.gate == "simpson"


def test_no_release_without_a_class_passes(package: Any) -> None:
    package("simpson = foreign_simpson:SIMPSON")
    assert asked([], policy(0.9)).verdict is Verdict.FAIL
    package("simpson = foreign_simpson:BLIND")
    assert asked(ROWS, policy(0.1)).verdict is Verdict.PASS  # a trusted package is believed
    assert asked([], policy(0.1)).verdict is Verdict.ERROR


def test_where_the_package_is_gone_the_gate_is_not_run_and_that_is_no_pass(package: Any) -> None:
    by = policy_from_document(policy_document(policy(0.9)))
    result = asked(ROWS, by)
    assert result.verdict is Verdict.NOT_RUN
    assert result.detail == "the privacy model 'simpson': unknown privacy model"
    package("simpson = foreign_simpson:SIMPSON")
    assert asked(ROWS, by).verdict is Verdict.PASS


def test_the_document_holds_what_the_policy_says_and_older_digests_stay() -> None:
    assert "added" not in policy_document(small_policy())["gates"]["models"]
    assert policy_document(policy(0.5))["gates"]["models"]["added"] == {"simpson": {"max": 0.5}}
    assert policy_digest(policy(0.5)) != policy_digest(policy(0.4))


def test_another_parameter_counts_as_looser_and_a_new_model_does_not() -> None:
    place = "gates.models.added.simpson"
    assert loosened(policy(0.5), policy(0.4)) == [f"{place} changed"]
    assert loosened(policy(0.5), small_policy(gates={"ncp": {"max": 1}})) == [f"{place} was removed"]
    assert loosened(small_policy(gates={"ncp": {"max": 1}}), policy(0.5)) == []
    assert loosened(policy(0.5), policy(0.5)) == []
