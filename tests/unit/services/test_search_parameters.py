"""Which parameters are searched: a table that has all of them, and grids that every method takes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from policy.errors import PolicyError, UsageError
from policy.load import load_policy
from policy.model import ReleasePolicy
from services.evaluation.search.parameters import AXES, NOT_SEARCHED, grid_of, method_lines, raised
from tasks.aggregation.parts import AGGREGATIONS
from tasks.methods.presets import PRESETS
from tasks.methods.registry import bound_method
from tasks.partitioning.parts import PARTITIONS
from tasks.parts import CommonParameters
from tasks.recoding.parts import RECODINGS
from tasks.representation.parts import REPRESENTATIONS

ROLES = {
    "quasi_identifiers": {"age": {"type": "integer", "bounds": [0, 110]}, "city": {"type": "categorical"}},
    "sensitive": {"disease": {"stability": "stable"}},
}
LABELS = [
    *(method.name for method in PRESETS),
    "mondrian:hierarchy",
    "mdav:centroid",
    "m-mdav:sets",
    "ae-lrhma:median",
]


def policy_of(tmp_path: Path, **sections: object) -> ReleasePolicy:
    document = {"series": "clinic", "roles": ROLES, "privacy": {"k": 5}, **sections}
    path = tmp_path / "clinic.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return load_policy(path)


def test_every_parameter_of_every_part_is_searched_or_has_a_reason_not_to_be() -> None:
    parts = [
        part for each in (REPRESENTATIONS, PARTITIONS, AGGREGATIONS, RECODINGS) for part in each.values()
    ]
    names = {name for part in parts for name in part.parameters.model_fields}
    names |= set(CommonParameters.model_fields)
    searched = [axis.name for axis in AXES]
    assert len(searched) == len(set(searched))
    assert {*searched, *NOT_SEARCHED} == names
    assert not {*searched} & {*NOT_SEARCHED}
    assert all(NOT_SEARCHED.values())


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.by_day(6)
def test_a_method_takes_every_value_and_its_lines_are_its_policy(tmp_path: Path, label: str) -> None:
    policy = policy_of(tmp_path, method={"name": "mondrian", "parameters": {"variance_threshold": 0.02}})
    made = grid_of(policy, label, 12, "clinic.yaml")
    start = made.grid.start
    assert made.changes(start) == {}
    assert made.policy_at(start) == made.policy
    for at, axis in enumerate(made.grid.axes):
        assert axis.values[start[at]] == made.policy.method.parameters.get(axis.name, axis.values[start[at]])
        for place in range(len(axis.values)):
            places = (*start[:at], place, *start[at + 1 :])
            changed = made.policy_at(places)
            bound_method(changed)
            lines = yaml.safe_load(method_lines(changed, with_k="k" in made.changes(places)))
            assert policy_of(tmp_path, **{"privacy": {"k": 5}, **lines}) == changed


def test_the_start_is_the_policy_s_own_and_its_values_are_on_the_grid(tmp_path: Path) -> None:
    own = {"group_factor": 1.75, "epochs": 3, "leaf_size": 100, "batch": 64}
    made = grid_of(policy_of(tmp_path, method={"parameters": own}), "ae-lrhma", None, "")
    values = {axis.name: axis.values for axis in made.grid.axes}
    started = {
        axis.name: axis.values[place] for axis, place in zip(made.grid.axes, made.grid.start, strict=True)
    }
    assert values["group_factor"] == (1.0, 1.5, 1.75, 2.0, 2.5, 3.0)
    assert values["leaf_size"] == (None, 100, 500, 1000, 2000, 4000)
    assert {name: started[name] for name in ("group_factor", "epochs", "leaf_size")} == {
        "group_factor": 1.75,
        "epochs": 3,
        "leaf_size": 100,
    }
    assert {"batch", "k"}.isdisjoint(values)
    assert made.policy_at(made.grid.start).method.parameters == own
    other = grid_of(policy_of(tmp_path, method={"parameters": own}), "mondrian", None, "")
    assert other.policy.method.parameters == {}


def test_an_axis_without_effect_is_left_out(tmp_path: Path) -> None:
    def names(label: str, **parameters: object) -> set[str]:
        name = label.partition(":")[0]
        policy = policy_of(tmp_path, method={"name": name, "parameters": parameters})
        return {axis.name for axis in grid_of(policy, label, None, "").grid.axes}

    assert "leaf_size" in names("ae-lrhma")
    assert "leaf_size" not in names("mondrian")  # no aggregation follows
    assert "group_factor" in names("mdav")
    assert "group_factor" not in names("mdav", group_size=9)
    assert names("full-domain") == set()


def test_what_needs_another_parameter_counts_with_it_alone(tmp_path: Path) -> None:
    made = grid_of(policy_of(tmp_path, method={"parameters": {"sweeps": 7}}), "ae-lrhma", None, "")
    axes = {axis.name: axis for axis in made.grid.axes}
    assert axes["overlap_weight"].needs == ("sweeps", (2, 5, 7))
    assert axes["alpha"].needs == ("score", ("paper",))
    at = [axis.name for axis in made.grid.axes].index("sweeps")
    off = axes["sweeps"].values.index(0)
    without = (*made.grid.start[:at], off, *made.grid.start[at + 1 :])
    weight = [axis.name for axis in made.grid.axes].index("overlap_weight")
    heavier = (*without[:weight], 3, *without[weight + 1 :])
    assert made.grid.canonical(heavier) == without


def test_k_is_searched_where_it_may_be_raised_alone(tmp_path: Path) -> None:
    assert raised(5, 12) == (5, 8, 12)
    assert raised(8, 40) == (8, 12, 18, 27, 40)
    assert raised(2, 3) == (2, 3)
    assert all(value >= 5 for value in raised(5, 100))
    with pytest.raises(UsageError, match="is 5, and the policy's k is 5"):
        raised(5, 5)
    made = grid_of(policy_of(tmp_path), "full-domain", 8, "")
    assert [made.policy_at((place,)).privacy.k for place in range(2)] == [5, 8]
    assert yaml.safe_load(method_lines(made.policy_at((1,)), with_k=True))["privacy"] == {"k": 8}


def test_a_policy_whose_parameters_are_wrong_is_refused(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, method={"parameters": {"epochs": 0}})
    with pytest.raises(PolicyError, match="epochs"):
        grid_of(policy, "ae-lrhma", None, "clinic.yaml")
