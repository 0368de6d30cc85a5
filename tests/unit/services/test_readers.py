"""What `check` says that a reader could do follows the policy: a line goes where the policy closes it."""

from __future__ import annotations

from typing import Any

import pytest

from services.checking.readers import reader_lines
from tests.support.small import small_policy

KEY = {"key": "person"}
GATES = {"forced": {"max": 0.1}, "inversion": {"max": 0.1}, "membership": {"max": 0.1}}
MEASURED = {"gates": GATES, "linkage": {"control": "others.csv"}}


@pytest.mark.parametrize(
    ("part", "sections", "closed"),
    [
        ("be 80% sure of somebody's 'illness'", {"privacy": {"p_max": 0.8}}, {"privacy": {"p_max": 1.0}}),
        ("read town as it is", {"roles": {"kept": ["town"]}}, {}),
        ("assign everybody to classes at once", {}, MEASURED),
        ("knowing the method", {}, MEASURED),
        ("guess who is in the table", {}, MEASURED),
        ("follow somebody from release to release", {}, {"roles": KEY}),
        ("releases of different periods", {"population": "independent"}, {"roles": KEY}),
        (
            "compare pay of people for whom it did not change",
            {"sensitive": {"pay": {"stability": "transient"}}, "gates": {"transient": "ignore"}},
            {"sensitive": {"pay": {"stability": "transient"}}},
        ),
        ("such as a family its income", {}, {"roles": {"household": "home"}}),
    ],
)
def test_a_line_goes_where_the_policy_closes_it(
    part: str, sections: dict[str, Any], closed: dict[str, Any]
) -> None:
    assert sum(part in line for line in reader_lines(small_policy(**sections))) == 1
    assert not any(part in line for line in reader_lines(small_policy(**closed)))


def test_what_no_gate_examines_is_always_said() -> None:
    lines = reader_lines(small_policy(roles=KEY, **MEASURED))
    assert sum("such as their own" in line for line in lines) == 1
    assert sum("other series" in line for line in lines) == 1
