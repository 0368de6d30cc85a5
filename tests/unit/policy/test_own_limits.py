"""Limits and models of single sensitive attributes, and what is refused there."""

from __future__ import annotations

from typing import Any

import pytest

from policy.errors import PolicyError
from policy.load import policy_document
from policy.model import Privacy, ReleasePolicy
from policy.privacy_models import Models
from tests.support.small import small_policy

SENSITIVE: dict[str, Any] = {
    "illness": {"stability": "stable", "values": ["flu", "hiv"]},
    "income": {"stability": "stable", "type": "numeric"},
}


def policy_with(privacy: dict[str, Any], models: dict[str, Any] | None = None) -> ReleasePolicy:
    return small_policy(sensitive=SENSITIVE, privacy=privacy, gates={"models": models or {}})


def test_what_an_attribute_does_not_set_is_that_of_all() -> None:
    privacy = Privacy.model_validate({"k": 4, "e": 2, "p_max": 0.7, "attributes": {"income": {"e": 900}}})
    assert privacy.of("illness") == privacy
    income = privacy.of("income")
    assert (income.k, income.e, income.p_max, income.spread) == (4, 900, 0.7, 0.05)
    assert privacy.place("income", "e") == "privacy.attributes.income.e"
    assert privacy.place("income", "p_max") == "privacy.p_max"


def test_a_model_of_an_attribute_is_in_place_of_that_of_all_or_left_out() -> None:
    models = Models.model_validate(
        {
            "t_closeness": {"max": 0.4},
            "entropy_l": {"min": 2},
            "alpha_k": {"alpha": 0.5, "k": 3},
            "attributes": {
                "income": {"t_closeness": {"max": 0.2}, "without": ["entropy_l"]},
                "illness": {"alpha_k": {"alpha": 0.6}, "distinct_l": {"min": 2}},
            },
        }
    )
    income, illness = models.of("income"), models.of("illness")
    assert income.t_closeness is not None
    assert income.t_closeness.max == 0.2
    assert income.entropy_l is None
    assert illness.alpha_k is not None
    assert (illness.alpha_k.alpha, illness.alpha_k.k) == (0.6, 3)
    assert illness.entropy_l == models.entropy_l
    assert models.place("income", "t_closeness") == "gates.models.attributes.income.t_closeness"
    assert models.place("illness", "t_closeness") == "gates.models.t_closeness"


def test_the_document_of_a_policy_without_them_does_not_name_them() -> None:
    without, with_them = policy_with({"k": 2}), policy_with({"k": 2, "attributes": {"income": {"e": 5}}})
    assert "attributes" not in policy_document(without)["privacy"]
    assert "attributes" not in policy_document(without)["gates"]["models"]
    assert policy_document(with_them)["privacy"]["attributes"]["income"]["e"] == 5


@pytest.mark.parametrize(
    ("privacy", "models", "words"),
    [
        (
            {"attributes": {"incme": {"e": 5}}},
            {},
            "names 'incme', which is not a sensitive attribute of roles (did you mean 'income'?)",
        ),
        ({}, {"attributes": {"age": {"distinct_l": {"min": 2}}}}, "gates.models.attributes names 'age'"),
        (
            {"attributes": {"illness": {"spread": 0.1}}},
            {},
            "privacy.attributes.illness.spread is for numbers, and 'illness' is categorical",
        ),
        ({"attributes": {"income": {"e": 0}}}, {}, "privacy.attributes.income.e"),
        (
            {},
            {"attributes": {"income": {"alpha_k": {"alpha": 0.5}}}},
            "attributes.income.alpha_k needs alpha_k, which has k",
        ),
        (
            {},
            {"attributes": {"income": {"without": ["entropy_l"]}}},
            "attributes.income.without names 'entropy_l', which is not asked for",
        ),
        (
            {},
            {
                "entropy_l": {"min": 2},
                "attributes": {"income": {"entropy_l": {"min": 3}, "without": ["entropy_l"]}},
            },
            "without names 'entropy_l', which is set here: leave one of them out",
        ),
        (
            {},
            {
                "entropy_l": {"min": 2},
                "attributes": {"income": {"without": ["entropy_l"]}, "illness": {"without": ["entropy_l"]}},
            },
            "gates.models.entropy_l is asked of no sensitive attribute: leave it out",
        ),
    ],
)
def test_what_contradicts_is_refused_in_a_line(
    privacy: dict[str, Any], models: dict[str, Any], words: str
) -> None:
    with pytest.raises(PolicyError) as refused:
        policy_with(privacy, models)
    assert words in str(refused.value)
    assert len(str(refused.value).splitlines()) <= 2
