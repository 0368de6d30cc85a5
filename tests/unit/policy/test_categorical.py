"""Ordered values, codes and dates in a policy: what a cell of the source stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policy.categorical import (
    CategoricalQuasiIdentifier,
    CodeQuasiIdentifier,
    DateQuasiIdentifier,
    NominalQuasiIdentifier,
    OrdinalQuasiIdentifier,
)
from policy.errors import PolicyError
from policy.load import parse_policy, policy_digest, policy_document, policy_from_document
from policy.model import ReleasePolicy

FILE = Path("p.yaml")
PLACE = "p.yaml: roles.quasi_identifiers.x"


def policy_of(**column: Any) -> ReleasePolicy:
    roles = {"quasi_identifiers": {"x": column}, "sensitive": {"illness": {"stability": "stable"}}}
    return parse_policy(yaml.safe_dump({"series": "s", "roles": roles}), FILE)


def column_of(**column: Any) -> CategoricalQuasiIdentifier:
    return policy_of(**column).roles.categorical["x"]


ORDINAL = {"type": "ordinal", "values": ["low", "middle", "high"]}
CODES = {"type": "code", "values": ["101", "102", "204"], "length": 3, "prefixes": [2, 1], "others": "other"}
DATES = {"type": "date", "bounds": [1998, 2001]}


def test_each_type_has_its_own_class_order_and_tree() -> None:
    kinds = {
        OrdinalQuasiIdentifier: ORDINAL,
        CodeQuasiIdentifier: CODES,
        DateQuasiIdentifier: DATES,
        NominalQuasiIdentifier: {"type": "categorical", "values": ["a"]},
    }
    for kind, written in kinds.items():
        assert type(column_of(**written)) is kind
    assert column_of(**ORDINAL).order == ("low", "middle", "high")
    assert column_of(**DATES).order == ("1998", "1999", "2000", "2001")
    codes = column_of(**CODES)
    assert codes.order is None
    assert codes.allowed == ("101", "102", "204", "other")
    assert codes.tree is not None
    assert codes.tree.paths == (
        ("101", "10*", "1*", "*"),
        ("102", "10*", "1*", "*"),
        ("204", "20*", "2*", "*"),
    )


@pytest.mark.parametrize(
    ("text", "code"), [("101", "101"), ("10199", "101"), ("20", "other"), ("999", "other"), ("", "other")]
)
def test_a_code_is_read_by_its_first_characters(text: str, code: str) -> None:
    assert column_of(**CODES).value(text) == code


def test_a_code_that_is_not_listed_stays_where_no_others_are_named() -> None:
    codes = column_of(type="code", values=["E11", "E12"], length=3, prefixes=[1])
    assert codes.value("E11.9") == "E11"
    assert codes.value("J45.0") == "J45"
    assert codes.allowed == ("E11", "E12")


def test_a_category_that_is_not_listed_is_one_of_others() -> None:
    city = column_of(type="categorical", values=["Riga", "Oslo"], others="elsewhere")
    assert city.allowed == ("Riga", "Oslo", "elsewhere")
    assert [city.value(text) for text in ("Riga", "Cork", "elsewhere")] == ["Riga", "elsewhere", "elsewhere"]
    plain = column_of(type="categorical", values=["Riga"])
    assert not plain.reads
    assert plain.value("Cork") == "Cork"


@pytest.mark.parametrize(
    ("resolution", "text", "period"),
    [
        ("year", "1999-03-12", "1999"),
        ("year", "1999", "1999"),
        ("quarter", "1999-03-12", "1999Q1"),
        ("quarter", "1999-04-01 10:20:00", "1999Q2"),
        ("quarter", "1999-04-01T10:20:00Z", "1999Q2"),
        ("month", "1999-12", "1999-12"),
        ("month", "1999", "1999"),  # no month
        ("year", "1999-02-30", "1999-02-30"),  # no such day
        ("year", "3.12.1999", "3.12.1999"),  # another format: source.dates
        ("year", "12-Mar", "12-Mar"),
        ("year", "43891", "43891"),
        ("year", "19990312", "19990312"),
        ("year", "", ""),
    ],
)
def test_a_date_is_read_as_its_period_and_what_is_none_stays(resolution: str, text: str, period: str) -> None:
    dates = column_of(type="date", bounds=["1998-01", "2001-12"], resolution=resolution)
    assert dates.value(text) == period


@given(st.dates(), st.sampled_from(["year", "quarter", "month"]))
def test_every_date_is_in_the_period_that_it_is_read_as(day: Any, resolution: str) -> None:
    year = f"{day.year:04d}"
    dates = DateQuasiIdentifier.model_validate(
        {"type": "date", "bounds": [f"{year}-01", f"{year}-12"], "resolution": resolution}
    )
    names = {"year": year, "quarter": f"{year}Q{(day.month + 2) // 3}", "month": f"{year}-{day.month:02d}"}
    assert dates.value(day.isoformat()) == names[resolution]
    assert dates.value(day.isoformat()) in dates.order


def test_bounds_may_be_years_months_or_days() -> None:
    assert column_of(type="date", bounds=[1998, "1999-02-03"], resolution="year").order == ("1998", "1999")
    months = column_of(type="date", bounds=["1998-11", "1999-02-03"], resolution="month")
    assert months.order == ("1998-11", "1998-12", "1999-01", "1999-02")


@pytest.mark.parametrize(
    ("column", "finding"),
    [
        ({**ORDINAL, "values": ["a"]}, "values: should have 2 or more entries, found 1"),
        ({**ORDINAL, "values": ["a", "a"]}, "values holds a value twice"),
        (
            {**ORDINAL, "values": ["a", "1..2"]},
            "no value may hold '..', which stands between the ends of a range",
        ),
        ({**CODES, "values": ["1", "1"]}, "values holds a code twice"),
        ({**CODES, "length": 2}, "length is 2, and values holds a longer code"),
        ({**CODES, "prefixes": [1, 2]}, "prefixes must descend from under the length of the longest code"),
        ({**CODES, "prefixes": [3]}, "prefixes must descend from under the length of the longest code"),
        ({**CODES, "others": "*"}, "others '*' is a node of the hierarchy: choose another name"),
        (
            {**CODES, "others": "10*"},
            "no code may end in '*', which stands for all codes of a prefix",
        ),
        (
            {**DATES, "bounds": ["soon", 2001]},
            "bounds must be two dates, such as [1930, 2010]",
        ),
        ({**DATES, "bounds": [2001, 1998]}, "bounds must be [first, last], the first before the second"),
        (
            {**DATES, "bounds": [1, 9999], "resolution": "month"},
            "bounds must be two dates, such as [1930-01, 2010-12]",
        ),
        (
            {**DATES, "bounds": [1930, 2010], "resolution": "quarter"},
            "bounds must be two dates, such as [1930-01, 2010-12]",
        ),
        (
            {**DATES, "bounds": ["0001-01", "9999-01"], "resolution": "month"},
            "bounds hold over 10,000 of such a resolution: choose a coarser one",
        ),
        (
            {"type": "categorical", "others": "x"},
            "others needs values or a hierarchy: it stands for all that they do not list",
        ),
        (
            {"type": "categorical", "hierarchy": {"north": ["a"]}, "others": "north"},
            "others 'north' is a node of the hierarchy: choose another name",
        ),
    ],
)
def test_what_contradicts_is_said(column: dict[str, Any], finding: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy_of(**column)
    told = str(caught.value).splitlines()[0].removeprefix(PLACE)
    assert told.lstrip(".: ") == finding


def test_fields_of_another_type_are_told_as_those() -> None:
    with pytest.raises(PolicyError) as caught:
        policy_of(type="ordinal", values=["a", "b"], prefixes=[1])
    assert str(caught.value) == (
        f"{PLACE}.prefixes: unknown field: it is one of code quasi-identifiers\n"
        "  Allowed here: type, values, weight, may_change, description."
    )


@pytest.mark.parametrize("column", [ORDINAL, CODES, DATES])
def test_a_policy_comes_back_from_its_document(column: dict[str, Any]) -> None:
    policy = policy_of(**column)
    again = policy_from_document(policy_document(policy))
    assert again == policy
    assert policy_digest(again) == policy_digest(policy)


def test_the_label_of_missing_values_is_no_prefix() -> None:
    roles = {"quasi_identifiers": {"x": CODES}, "sensitive": {"illness": {"stability": "stable"}}}
    text = yaml.safe_dump({"series": "s", "roles": roles, "source": {"missing_label": "1*"}})
    with pytest.raises(PolicyError, match="is a node of"):
        parse_policy(text, FILE)
