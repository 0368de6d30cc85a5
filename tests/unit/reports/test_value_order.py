"""The order in which values are drawn."""

from __future__ import annotations

import pytest

from reports.value_order import in_order, orders_of


def _labels(*labels: str, order: tuple[str, ...] | None = None) -> list[str]:
    return [str(one["label"]) for one in in_order([{"label": label} for label in labels], order)]


def test_an_order_of_the_policy_with_what_it_lacks_at_the_end() -> None:
    order = ("none", "low", "high")
    assert _labels("high", "none", "other values", "missing", order=order) == [
        "none",
        "high",
        "other values",
        "missing",
    ]


@pytest.mark.parametrize(
    ("given", "drawn"),
    [
        (
            ("250-749", "750-1999", "under 250", "5000 and over", "2000-4999"),
            ("under 250", "250-749", "750-1999", "2000-4999", "5000 and over"),
        ),
        (("2021", "2019", "2020", "missing"), ("2019", "2020", "2021", "missing")),
        (("1,500", "200", "other values", "missing"), ("200", "1,500", "other values", "missing")),
        # Not bands: texts without numbers, two that begin alike, numbers among others.
        (("flu", "asthma"), ("flu", "asthma")),
        (("type 2", "type 2b"), ("type 2", "type 2b")),
        (("flu", "type 2", "type 1"), ("flu", "type 2", "type 1")),
        (("grade 2", "a", "b", "c", "grade 1"), ("grade 2", "a", "b", "c", "grade 1")),
    ],
)
def test_bands_of_numbers_are_sorted_and_other_values_stay(
    given: tuple[str, ...], drawn: tuple[str, ...]
) -> None:
    assert _labels(*given) == list(drawn)


def test_which_attributes_have_an_order() -> None:
    roles = {
        "quasi_identifiers": [
            {"name": "school", "type": "ordinal", "values": ["low", "high"]},
            {"name": "city", "type": "categorical", "values": ["Aix", "Brno"]},
            {"name": "age", "type": "integer"},
        ],
        "sensitive": [
            {"name": "pain", "values": ["none", "some"], "ordered": True},
            {"name": "illness", "values": ["flu", "cold"]},
        ],
    }
    assert orders_of({"roles": roles}) == {"school": ["low", "high"], "pain": ["none", "some"]}
    assert orders_of({}) == {}
