"""docs/policy.md has every field of the policy, with its default, and no other."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic_core import PydanticUndefined

from policy import categorical, gates, model, population_risk, privacy_models, roles
from policy.cells import STEPS
from policy.load import parse_policy
from policy.section import Section
from tests.spec import docs_pages

PAGE = docs_pages.ROOT / "docs" / "policy.md"
SECTIONS: dict[str, type[Section]] = {
    "The policy": model.ReleasePolicy,
    "source": model.Source,
    "wait": model.Wait,
    "roles": roles.Roles,
    "numeric quasi-identifier": roles.NumericQuasiIdentifier,
    "categorical quasi-identifier": categorical.NominalQuasiIdentifier,
    "ordinal quasi-identifier": categorical.OrdinalQuasiIdentifier,
    "code": categorical.CodeQuasiIdentifier,
    "date": categorical.DateQuasiIdentifier,
    "sensitive attribute": roles.SensitiveAttribute,
    "rule of change": roles.RuleOfChange,
    "expectations": model.Expectations,
    "row count": model.RowCount,
    "privacy": model.Privacy,
    "limits of an attribute": model.AttributePrivacy,
    "method": model.Method,
    "reuse": model.Reuse,
    "gates": gates.Gates,
    "leak": gates.Leak,
    "unique": gates.Unique,
    "by person": gates.PersonGates,
    "worlds": gates.Worlds,
    "limit": gates.Limit,
    "models": privacy_models.Models,
    "models of an attribute": privacy_models.AttributeModels,
    "alpha": privacy_models.AttributeAlpha,
    "distinct l": privacy_models.DistinctL,
    "entropy l": privacy_models.EntropyL,
    "recursive (c,l)": privacy_models.RecursiveCL,
    "t-closeness": privacy_models.TCloseness,
    "(alpha,k)": privacy_models.AlphaK,
    "beta-likeness": privacy_models.BetaLikeness,
    "delta-disclosure": privacy_models.DeltaDisclosure,
    "k^m": privacy_models.KM,
    "LKC": privacy_models.LKC,
    "k-map": population_risk.KMap,
    "known": gates.KnownPeople,
    "population uniqueness": population_risk.PopulationUniqueness,
    "delta-presence": population_risk.DeltaPresence,
    "attack limit": gates.AttackLimit,
    "linkage": model.Linkage,
    "approval": model.Approval,
    "publication": model.Publication,
}


MODULES = (model, roles, categorical, gates, privacy_models)


def test_every_model_of_the_policy_has_a_section() -> None:
    found = [one for module in MODULES for one in vars(module).values()]
    models = {m for m in found if isinstance(m, type) and issubclass(m, Section)}
    base = {Section, categorical.CategoricalQuasiIdentifier}
    assert models - base == set(SECTIONS.values())


@pytest.mark.parametrize("heading", SECTIONS)
def test_every_field_is_documented_and_no_other(heading: str) -> None:
    rows = docs_pages.table(docs_pages.section(PAGE, heading))
    assert [docs_pages.code(row[0]) for row in rows] == list(SECTIONS[heading].model_fields)


@pytest.mark.parametrize("heading", SECTIONS)
def test_every_default_is_the_one_that_holds(heading: str) -> None:
    fields = SECTIONS[heading].model_fields
    for name, _, default, _ in docs_pages.table(docs_pages.section(PAGE, heading)):
        field = fields[docs_pages.code(name)]
        assert default.strip("`") == _told(field.default, field.is_required()), name


def _told(default: Any, required: bool) -> str:
    if required or default is PydanticUndefined:
        return "required"
    if isinstance(default, gates.Limit):
        return json.dumps(default.model_dump())
    return "section" if isinstance(default, Section) else json.dumps(default)


def test_the_short_policy_loads() -> None:
    short, *_ = (block for block in docs_pages.blocks(PAGE) if block.language == "yaml")
    assert parse_policy(short.text, Path("policy.yaml")).series == "register"


def test_all_steps_for_untidy_cells_are_shown_and_load() -> None:
    _, steps, *_ = (block for block in docs_pages.blocks(PAGE) if block.language == "yaml")
    source = model.Source.model_validate(yaml.safe_load(steps.text)["source"])
    assert set(STEPS) <= source.model_fields_set


def test_the_models_that_are_shown_are_all_and_load() -> None:
    short, _, codes, own, models = (block for block in docs_pages.blocks(PAGE) if block.language == "yaml")
    declared = short.text.replace(
        "diagnosis: {stability: stable}",
        "diagnosis: {stability: stable, values: [HIV, flu]}\n    income: {stability: stable, type: numeric}",
    )
    declared = declared.replace("  sensitive:", textwrap.indent(codes.text, "    ") + "  sensitive:")
    policy = parse_policy(declared + own.text + models.text, Path("policy.yaml"))
    assert policy.roles.categorical["postal_code"].value("10115") == "101"
    assert policy.privacy.of("income").e == 1000
    assert None not in [getattr(policy.gates.models, name) for name in type(policy.gates.models).model_fields]
