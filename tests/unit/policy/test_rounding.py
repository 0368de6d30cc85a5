"""What was measured is told to few digits, and never better than it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.rounding import bound_text, limit_share, limit_text, measured_share, measured_text

VALUES = st.floats(-1e9, 1e9, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-9)


@pytest.mark.parametrize(
    ("value", "relation", "threshold", "told", "share"),
    [
        (0.2, "<=", 0.2, "0.2", "20%"),
        (0.20004, "<=", 0.2, "0.2001", "20.1%"),
        (0.1 + 0.2, "<=", 0.5, "0.3", "30%"),
        (0.1 + 0.2, "<=", 0.3, "0.30000000000000004", "30.000000000000004%"),
        (7.99999, ">=", 8.0, "7.999", "799.9%"),
        (12_345.0, ">=", 8.0, "12,345", "1,234,500%"),
        (99_999.5, "<=", None, "100,000", "9,999,950%"),
        (-0.0123, "<=", 0.1, "-0.0123", "-1.2%"),
        (0.23341, "<=", 0.35, "0.2335", "23.4%"),
        (0.23341, ">=", 0.1, "0.2334", "23.3%"),
        (0.001234, "<=", 0.1, "0.001234", "0.13%"),
        (0.19961, "<=", 0.1998, "0.1997", "19.98%"),
        (1e-7, "<=", 0.1, "1e-7", "1e-5%"),
        (0.0, "<=", 0.0, "0", "0%"),
        (float("inf"), "<=", 1.0, "inf", "inf%"),
        (None, "<=", 1.0, "", ""),
    ],
)
def test_examples(value: float | None, relation: str, threshold: float | None, told: str, share: str) -> None:
    assert measured_text(value, relation, threshold) == told
    assert measured_share(value, relation, threshold) == share


def test_a_limit_is_told_as_it_is() -> None:
    assert [limit_text(one) for one in (0.12345678, 2.0, 12_345.0, None)] == ["0.12345678", "2", "12,345", ""]
    assert [limit_share(one) for one in (0.125, 1.0, None)] == ["12.5%", "100%", ""]
    assert bound_text("<=", 0.6) == "at most 0.6"
    assert not bound_text("<=", None)


@given(value=VALUES, at_most=st.booleans())
def test_what_is_told_is_no_better_than_what_was_measured(value: float, at_most: bool) -> None:
    told = float(measured_text(value, "<=" if at_most else ">=").replace(",", ""))
    near = float(f"{value:.12g}")
    assert told >= near if at_most else told <= near
    assert told == pytest.approx(value, rel=1.001e-3)


@given(share=st.floats(0, 1), limit=st.floats(0, 1), at_most=st.booleans())
def test_a_share_is_told_no_better_than_it_is_and_on_its_side(
    share: float, limit: float, at_most: bool
) -> None:
    told = float(measured_share(share, "<=" if at_most else ">=", limit).rstrip("%"))
    near, bound = float(f"{share:.12g}") * 100, float(f"{limit:.12g}") * 100
    assert told >= near - 1e-9 if at_most else told <= near + 1e-9
    if near < bound if at_most else near > bound:
        assert told <= bound + 1e-9 if at_most else told >= bound - 1e-9


@given(value=VALUES, threshold=VALUES, at_most=st.booleans())
def test_what_is_told_stands_on_its_side_of_the_limit(value: float, threshold: float, at_most: bool) -> None:
    """What fails is told as a value that fails."""
    relation = "<=" if at_most else ">="
    told = float(measured_text(value, relation, threshold).replace(",", ""))
    bound = float(limit_text(threshold).replace(",", ""))
    if (value > threshold if at_most else value < threshold) and bound == threshold:
        assert told > bound if at_most else told < bound
