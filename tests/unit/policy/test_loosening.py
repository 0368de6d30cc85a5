"""What counts as looser: every field of the policy, one way and not the other."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from policy import categorical, gates, loosening, model, privacy_models, roles
from policy.load import parse_policy
from policy.loosening import loosened
from policy.model import ReleasePolicy
from policy.section import Section

BASE: dict[str, Any] = {
    "series": "clinic",
    "population": "overlapping",
    "source": {"path": "a.csv"},
    "roles": {
        "key": "person",
        "identifiers": ["name"],
        "quasi_identifiers": {
            "age": {"type": "integer", "bounds": [0, 110], "moves": [0, 1], "widths": [5, 10]},
            "city": {"type": "categorical", "values": ["Aix", "Brno"]},
        },
        "sensitive": {
            "disease": {"stability": "stable", "values": ["flu", "none", "hiv"]},
            "cost": {"stability": "stable", "type": "numeric", "width": 50},
        },
        "kept": ["ward"],
        "dropped": ["street"],
    },
    "expectations": {
        "rows": {"min": 10, "max": 900, "drift": 0.5},
        "missing": 0.05,
        "missing_in": {"age": 0.1},
        "sensitive_drift": 0.2,
    },
    "privacy": {
        "k": 5,
        "e": 3,
        "p_max": 0.8,
        "h_min": 0.5,
        "l": 3,
        "attributes": {"cost": {"e": 100, "p_max": 0.7}},
    },
    "gates": {
        "err": {"max": 0.1},
        "sadr": {"max": 0.1, "attackers": ["half", "all"]},
        "inversion": {"max": 0.05},
        "k_map": {"k": 9},
        "population_uniqueness": {"max": 0.1},
        "delta_presence": {"min": 0.1, "max": 0.6},
        "ncp": {"max": 0.5},
        "suppression": {"max": 0.05},
        "worlds": {"p_max": 0.9},
        "models": {
            "distinct_l": {"min": 3},
            "entropy_l": {"min": 2},
            "recursive_cl": {"c": 4, "l": 2},
            "t_closeness": {"max": 0.4},
            "alpha_k": {"alpha": 0.6, "k": 5, "values": {"disease": ["hiv", "flu"]}},
            "beta_likeness": {"max": 2},
            "delta_disclosure": {"max": 1},
            "km": {"k": 20, "m": 2},
            "lkc": {"l": 2, "k": 20, "c": 0.5},
            "attributes": {"cost": {"t_closeness": {"max": 0.3}, "without": ["entropy_l"]}},
        },
    },
    "linkage": {
        "ext_frac": [0.1, 0.2],
        "seeds": 5,
        "errors": 0.1,
        "control": "others.csv",
        "sampling_fraction": 0.5,
    },
    "approval": {"approvers": 2, "expires_days": 14},
}
GONE = "a field that is left out"
AGE, CITY = "roles.quasi_identifiers.age", "roles.quasi_identifiers.city"
DISEASE, COST = "roles.sensitive.disease", "roles.sensitive.cost"
# A field, what stands there instead, and what is said of it.
LOOSER: list[tuple[str, Any, str]] = [
    ("population", "independent", "population changed"),
    ("population", "cumulative", "population changed"),
    ("source.query", "select * from input", "source.query changed"),
    ("source.sheet", "visits", "source.sheet changed"),
    ("source.table", "visits", "source.table changed"),
    ("source.missing", ["NA"], "source.missing lists fewer"),
    ("source.missing_label", "none", "source.missing_label changed"),
    ("privacy.k", 2, "k 2 instead of 5"),
    ("privacy.e", 1, "e 1 instead of 3"),
    ("privacy.p_max", 1.0, "p_max 1 instead of 0.8"),
    ("privacy.h_min", 0, "h_min 0 instead of 0.5"),
    ("privacy.l", 2, "l 2 instead of 3"),
    ("privacy.attributes.cost.e", 50, "attributes.cost.e 50 instead of 100"),
    ("privacy.attributes.cost.l", 2, "attributes.cost.l 2 instead of 3"),
    ("privacy.attributes.cost.p_max", GONE, "attributes.cost.p_max 0.8 instead of 0.7"),
    ("privacy.attributes.disease", {"h_min": 0.25}, "attributes.disease.h_min 0.25 instead of 0.5"),
    ("approval.approvers", 0, "approvers 0 instead of 2"),
    ("approval.expires_days", 30, "expires_days 30 instead of 14"),
    ("gates.err", GONE, "gates.err was removed"),
    ("gates.err.max", 1, "gates.err.max 1 instead of 0.1"),
    ("gates.inversion", GONE, "gates.inversion was removed"),
    ("gates.inversion.max", 1, "gates.inversion.max 1 instead of 0.05"),
    ("gates.k_map", GONE, "gates.k_map was removed"),
    ("gates.k_map.k", 8, "gates.k_map.k 8 instead of 9"),
    ("gates.population_uniqueness", GONE, "gates.population_uniqueness was removed"),
    ("gates.population_uniqueness.max", 0.2, "gates.population_uniqueness.max 0.2 instead of 0.1"),
    ("gates.population_uniqueness.estimator", "snb", "gates.population_uniqueness.estimator changed"),
    ("gates.population_uniqueness.values", "published", "gates.population_uniqueness.values changed"),
    ("gates.delta_presence.min", GONE, "gates.delta_presence.min 0 instead of 0.1"),
    ("gates.delta_presence.max", 0.7, "gates.delta_presence.max 0.7 instead of 0.6"),
    ("linkage.sampling_fraction", 0.25, "linkage.sampling_fraction 0.25 instead of 0.5"),
    ("gates.ncp.max", 0.75, "gates.ncp.max 0.75 instead of 0.5"),
    ("gates.suppression.max", 1.0, "gates.suppression.max 1 instead of 0.05"),
    ("gates.sadr.attackers", ["half"], "gates.sadr.attackers without all"),
    ("gates.sadr.attackers", GONE, "gates.sadr.attackers changed"),
    ("gates.transient", "ignore", "gates.transient ignore instead of compare"),
    ("gates.worlds.p_max", 0.95, "gates.worlds.p_max 0.95 instead of 0.9"),
    ("gates.worlds", {"changes": 0.1}, "gates.worlds.p_max any instead of 0.9"),
    ("gates.person", {"compare": False}, "gates.person.compare false instead of true"),
    ("gates.person", {"without": ["clinic-2025-r1"]}, "gates.person.without with clinic-2025-r1"),
    ("gates.models.km", GONE, "gates.models.km was removed"),
    ("gates.models.km.k", 3, "gates.models.km.k 3 instead of 20"),
    ("gates.models.km.m", 1, "gates.models.km.m 1 instead of 2"),
    ("gates.models.distinct_l.min", 2, "gates.models.distinct_l.min 2 instead of 3"),
    ("gates.models.entropy_l.min", 1.5, "gates.models.entropy_l.min 1.5 instead of 2"),
    ("gates.models.recursive_cl.c", 5, "gates.models.recursive_cl.c 5 instead of 4"),
    ("gates.models.t_closeness.max", 0.9, "gates.models.t_closeness.max 0.9 instead of 0.4"),
    ("gates.models.alpha_k.alpha", 0.9, "gates.models.alpha_k.alpha 0.9 instead of 0.6"),
    ("gates.models.alpha_k.values", {"disease": ["flu"]}, "gates.models.alpha_k.values.disease lists fewer"),
    ("gates.models.beta_likeness.max", 3, "gates.models.beta_likeness.max 3 instead of 2"),
    ("gates.models.delta_disclosure.max", 1.5, "gates.models.delta_disclosure.max 1.5 instead of 1"),
    ("gates.models.lkc.c", 0.9, "gates.models.lkc.c 0.9 instead of 0.5"),
    ("gates.models.lkc.values", {"disease": ["flu"]}, "gates.models.lkc.values.disease lists fewer"),
    (
        "gates.models.attributes.cost.t_closeness",
        GONE,
        "gates.models.attributes.cost.t_closeness.max 0.4 instead of 0.3",
    ),
    (
        "gates.models.attributes.cost.without",
        ["entropy_l", "distinct_l"],
        "gates.models.attributes.cost.distinct_l was removed",
    ),
    (
        "gates.models.attributes.disease",
        {"recursive_cl": {"c": 5, "l": 2}},
        "gates.models.attributes.disease.recursive_cl.c 5 instead of 4",
    ),
    ("gates.models", GONE, "gates.models.lkc was removed"),
    ("linkage.ext_frac", [0.1], "linkage.ext_frac without 0.2"),
    ("linkage.seeds", 6, "linkage.seeds changed"),
    ("linkage.errors", 0, "linkage.errors changed"),
    ("linkage.control", "mine.csv", "linkage.control changed"),
    ("method", {"recoding": "hierarchy"}, "method.recoding changed"),
    ("expectations.rows.min", 1, "expectations.rows.min 1 instead of 10"),
    ("expectations.rows.max", GONE, "expectations.rows.max any instead of 900"),
    ("expectations.rows.drift", 0.75, "expectations.rows.drift 0.75 instead of 0.5"),
    ("expectations.missing", 0.5, "expectations.missing 0.5 instead of 0.05"),
    ("expectations.missing_in.age", 0.5, "expectations.missing_in 0.5 instead of 0.1"),
    ("expectations.missing_in.city", 0.5, "expectations.missing_in 0.5 instead of 0.05"),
    ("expectations.sensitive_drift", GONE, "expectations.sensitive_drift any instead of 0.2"),
    ("expectations.unique_key", False, "expectations.unique_key false instead of true"),
    ("expectations.repeats", "accepted", "expectations.repeats accepted instead of refused"),
    ("expectations.repeats", ["street"], "expectations.repeats some columns instead of refused"),
    ("roles.key", GONE, "a column is without a role instead of key"),
    ("roles.key", "number", "a column is without a role instead of key"),
    ("roles.identifiers", [], "a column is without a role instead of an identifier"),
    ("roles.dropped", [], "a column is without a role instead of not read"),
    ("roles.kept", ["ward", "bed"], "bed is kept"),
    (f"{AGE}.bounds", [0, 120], f"{AGE}.bounds changed"),
    (f"{AGE}.widths", [5, 20], f"{AGE}.widths changed"),
    (f"{AGE}.weight", 2, f"{AGE}.weight changed"),
    (f"{AGE}.moves", [0, 5], f"{AGE}.moves changed"),
    (f"{AGE}.moves", [0, 0], f"{AGE}.moves changed"),  # fewer pairs may be one person: less is compared
    (f"{AGE}.sensitivity", 109.5, f"{AGE}.sensitivity 109.5 instead of 110"),  # none is the bounds' width
    (f"{AGE}.type", "numeric", f"{AGE}.type changed"),
    (f"{CITY}.values", ["Aix"], f"{CITY}.values changed"),
    (f"{CITY}.may_change", True, f"{CITY}.may_change changed"),
    (CITY, {"type": "numeric", "bounds": [0, 1]}, f"{CITY} changed"),
    (f"{DISEASE}.stability", "transient", f"{DISEASE}.stability transient instead of stable"),
    (f"{DISEASE}.values", ["flu", "hiv"], f"{DISEASE}.values changed"),
    (f"{COST}.width", 20, f"{COST}.width 20 instead of 50"),
    (f"{COST}.width", GONE, f"{COST}.width 0 instead of 50"),
]
FREE: list[tuple[str, Any]] = [
    ("period", "quarterly"),
    ("timezone", "Europe/Paris"),
    ("source.path", "b.csv"),
    ("source.path", ["a.csv", "b.csv"]),
    ("source", {"path": "a.csv", "wait": {"hours": 1}}),
    ("seed", 7),
    ("gates.worlds", {"p_max": 0.9, "sweeps": 5}),
    ("method", {"name": "mondrian", "parameters": {}, "history": "blind"}),
    ("method", {"name": "mondrian", "history": "blind", "reuse": {"release": "2025", "others": "left_out"}}),
    ("publication", {"title": "A register", "formats": ["parquet"]}),
    ("publication", {"csv_formulas": "quoted"}),
    (f"{AGE}.description", "years"),
    ("roles.kept", []),
]
TIGHTER: list[tuple[str, Any]] = [
    ("roles.identifiers", ["name", "phone"]),
    ("roles.identifiers", ["name", "ward"]),
    ("gates.umr", {"max": 0.1}),
    ("gates.forced", {"max": 0.5}),
    ("gates.worlds.p_max", 0.8),
    ("gates.known", {"max": 3}),
    (f"{COST}.width", 60),
    ("gates.sadr.attackers", ["half", "all", "outside"]),
    ("gates.k_map.k", 20),
    ("gates.population_uniqueness.max", 0.05),
    ("gates.delta_presence", {"min": 0.2, "max": 0.5}),
    ("linkage.sampling_fraction", 1),
    ("gates.models.alpha_k.values", GONE),
    ("gates.models.alpha_k.values", {"disease": ["hiv", "flu", "none"]}),
    ("linkage.ext_frac", [0.1, 0.2, 0.5]),
    ("privacy.k", 8),
    ("privacy.p_max", 0.5),
    ("privacy.attributes.disease", {"e": 3.5, "p_max": 0.5}),
    ("privacy.attributes.disease", {"l": 4}),
    (f"{DISEASE}.similar", [["flu", "none"]]),
    ("gates.models.attributes.cost.without", []),
    ("gates.models.attributes.disease", {"beta_likeness": {"max": 1}}),
    ("gates.ncp.max", 0.1),
    ("approval.approvers", 3),
    ("approval.expires_days", 1),
    ("source.missing", ["", "NA"]),
    ("expectations.rows.max", 800),
    ("expectations.missing_in.age", 0.05),
    ("method", {"ends": "rounded"}),
]


def changed(place: str, value: Any) -> ReleasePolicy:
    document = copy.deepcopy(BASE)
    *path, field = place.split(".")
    at = document
    for name in path:
        at = at.setdefault(name, {})
    if place == "roles.identifiers" and "ward" in (value if isinstance(value, list) else ()):
        document["roles"]["kept"] = []
    if value is GONE:
        del at[field]
    else:
        at[field] = value
    return policy(document)


def policy(document: dict[str, Any]) -> ReleasePolicy:
    return parse_policy(yaml.safe_dump(document, sort_keys=False), Path("policy.yaml"))


@pytest.mark.parametrize(("place", "value", "told"), LOOSER, ids=lambda one: str(one)[:40])
def test_what_guards_less_is_told_in_one_line_and_the_other_way_round_is_no_loosening(
    place: str, value: Any, told: str
) -> None:
    before, now = policy(BASE), changed(place, value)
    found = loosened(before, now)
    assert told in found
    assert all(len(one.splitlines()) == 1 for one in found)
    if " instead of " in told and " is " not in told:
        assert told not in loosened(now, before)


@pytest.mark.parametrize(("place", "value"), [*FREE, *TIGHTER])
def test_what_guards_as_much_or_more_is_free(place: str, value: Any) -> None:
    assert loosened(policy(BASE), changed(place, value)) == []
    assert loosened(policy(BASE), policy(BASE)) == []


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [(1, 0.5, "0.5 instead of 1"), (200, None, "110 instead of 200"), (None, 110, ""), (1, 1, "")],
)
def test_a_smaller_sensitivity_of_noise_is_looser(was: float | None, now: float | None, said: str) -> None:
    before, after = (changed(f"{AGE}.sensitivity", one) for one in (was, now))
    assert loosened(before, after) == ([f"{AGE}.sensitivity {said}"] if said else [])
    assert loosened(after, before) == []


def with_epsilon(**epsilon: float) -> ReleasePolicy:
    document = {**BASE, "method": {"recoding": "adaptive", "parameters": epsilon}}
    models = {name: one for name, one in BASE["gates"]["models"].items() if name not in ("km", "lkc")}
    return policy({**document, "gates": {**BASE["gates"], "models": models}})


@pytest.mark.parametrize("name", ["epsilon_kept", "epsilon_raised"])
def test_a_larger_epsilon_is_looser(name: str) -> None:
    small, large, default = with_epsilon(**{name: 0.1}), with_epsilon(**{name: 0.9}), with_epsilon()
    assert loosened(small, large) == [f"method.parameters.{name} 0.9 instead of 0.1"]
    assert loosened(large, small) == []
    # Which default it has is not known here.
    assert loosened(small, default) == loosened(default, small) == [f"method.parameters.{name} changed"]


def test_narrower_bounds_without_a_sensitivity_are_told_once() -> None:
    assert loosened(policy(BASE), changed(f"{AGE}.bounds", [0, 90])) == [f"{AGE}.bounds changed"]


def test_households_that_are_counted_or_no_longer_counted_are_looser() -> None:
    counted, others = changed("roles.household", "home"), changed("roles.household", "dwelling")
    # k of them are k people and more, but a share of them may be a larger one of people.
    assert loosened(policy(BASE), counted) == ["roles.household: shares are of households in place of people"]
    assert "roles.household was removed" in loosened(counted, policy(BASE))
    assert "roles.household changed" in loosened(counted, others)


def test_duplicates_that_are_kept_again_are_looser() -> None:
    removed = changed("source.duplicates", "removed")
    assert loosened(removed, policy(BASE)) == ["source.duplicates kept instead of removed"]
    assert loosened(policy(BASE), removed) == []


@pytest.mark.parametrize(("place", "value"), TIGHTER)
def test_and_taken_back_it_is_looser(place: str, value: Any) -> None:
    assert loosened(changed(place, value), policy(BASE)) or place == "roles.identifiers"


@pytest.mark.enemy("policy author", "publishes a person")
def test_what_the_gate_leak_would_no_longer_look_at_is_looser() -> None:
    document = copy.deepcopy(BASE)
    document["roles"]["kept_values"] = {"ward": ["east", "west"]}
    listed = policy(document)
    assert loosened(policy(BASE), listed) == ["roles.kept_values.ward changed"]
    assert loosened(listed, policy(BASE)) == ["roles.kept_values.ward changed"]
    document = copy.deepcopy(BASE)
    document["roles"] |= {"identifiers": [], "dropped": ["street", "name"]}
    assert loosened(policy(BASE), policy(document)) == ["a column is not read instead of an identifier"]
    assert loosened(policy(document), policy(BASE)) == []


def test_formulas_that_were_quoted_stay_quoted() -> None:
    quoted = changed("publication", {"csv_formulas": "quoted"})
    assert loosened(quoted, policy(BASE)) == ["publication.csv_formulas kept instead of quoted"]


@pytest.mark.parametrize("to", ["kept", "dropped", "sensitive"])
@pytest.mark.parametrize("column", ["age", "city", "disease", "person", "name", "street"])
def test_a_column_whose_role_protects_it_stays_what_it_is(column: str, to: str) -> None:
    document = copy.deepcopy(BASE)
    roles = document["roles"]
    was = (
        next(
            role
            for role in ("quasi_identifiers", "sensitive", "identifiers", "dropped")
            if column in roles[role]
        )
        if column != "person"
        else "key"
    )
    if was == "key":
        del roles["key"]
    elif isinstance(roles[was], dict):
        del roles[was][column]
    else:
        roles[was].remove(column)
    if to == "sensitive":
        roles["sensitive"][column] = {"stability": "stable"}
    else:
        roles[to].append(column)
    roles["quasi_identifiers"] = roles["quasi_identifiers"] or {"x": {"type": "categorical"}}
    roles["sensitive"] = roles["sensitive"] or {"y": {"stability": "stable"}}
    document["gates"].pop("models")
    document["expectations"].pop("missing_in")
    found = [
        one
        for one in loosened(policy(BASE), policy(document))
        if one.startswith((f"{column} is ", "a column is "))
    ]
    same = was == to  # an identifier that is dropped is no longer looked for in what is published
    assert bool(found) is not same


def test_a_column_that_is_published_as_it_is_and_was_not_published_counts() -> None:
    new = {**BASE["roles"]["sensitive"], "number": {"stability": "transient"}}
    assert "number is sensitive" in loosened(policy(BASE), changed("roles.sensitive", new))


def test_values_of_the_data_and_columns_that_nobody_sees_are_not_told() -> None:
    document = copy.deepcopy(BASE)
    del document["roles"]["key"]
    document["roles"] |= {"identifiers": [], "dropped": []}
    found = loosened(policy(BASE), policy(document))
    assert len(found) == 3
    assert not any(name in str(found) for name in ("person", "name ", "street"))
    now = changed(f"{CITY}.values", ["Cork"])
    assert "Brno" not in str(loosened(policy(BASE), now))
    assert "Cork" not in str(loosened(policy(BASE), now))


def test_every_field_has_its_rule_and_one_without_counts_where_it_differs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sections = {
        one
        for module in (model, roles, categorical, gates, privacy_models)
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, Section) and one is not Section
    }
    passed_over = {
        model.Source,
        model.Wait,
        model.Method,
        roles.Roles,
        categorical.CategoricalQuasiIdentifier,
    }
    rules = {(one, field) for one in sections - passed_over for field in one.model_fields}
    assert set(loosening._RULES) == rules
    monkeypatch.delitem(loosening._RULES, (ReleasePolicy, "seed"))
    assert loosened(policy(BASE), changed("seed", 7)) == ["seed changed"]


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (["ward"], ["street", "ward"], ["expectations.repeats with other columns"]),
        (["street", "ward"], ["ward"], []),
        (["street"], "accepted", ["expectations.repeats accepted instead of some columns"]),
        ("accepted", ["street"], []),
        (["street"], "refused", []),
    ],
)
def test_repeats_of_more_columns_are_looser_and_their_names_are_not_told(
    was: Any, now: Any, said: list[str]
) -> None:
    earlier, later = (changed("expectations.repeats", one) for one in (was, now))
    assert loosened(earlier, later) == said
