"""docs/policy.md has every field of the policy, with its default, and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import docs_pages
import pytest
from pydantic_core import PydanticUndefined

from policy import model
from policy.load import parse_policy

PAGE = docs_pages.ROOT / "docs" / "policy.md"
SECTIONS: dict[str, type[model.Section]] = {
    "The policy": model.ReleasePolicy,
    "source": model.Source,
    "roles": model.Roles,
    "numeric quasi-identifier": model.NumericQuasiIdentifier,
    "categorical quasi-identifier": model.CategoricalQuasiIdentifier,
    "sensitive attribute": model.SensitiveAttribute,
    "expectations": model.Expectations,
    "row count": model.RowCount,
    "privacy": model.Privacy,
    "method": model.Method,
    "gates": model.Gates,
    "limit": model.Limit,
    "attack limit": model.AttackLimit,
    "linkage": model.Linkage,
    "approval": model.Approval,
    "publication": model.Publication,
}


def test_every_model_of_the_policy_has_a_section() -> None:
    models = {m for m in vars(model).values() if isinstance(m, type) and issubclass(m, model.Section)}
    assert models - {model.Section} == set(SECTIONS.values())


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
    if isinstance(default, model.Limit):
        return json.dumps(default.model_dump())
    return "section" if isinstance(default, model.Section) else json.dumps(default)


def test_the_short_policy_loads() -> None:
    (block,) = (block for block in docs_pages.blocks(PAGE) if block.language == "yaml")
    assert parse_policy(block.text, Path("policy.yaml")).series == "register"
