"""Published set cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.recoding.cells import read_set, write_set

WRITTEN = {
    "one value": (["Hull"], "Hull"),
    "values are sorted": (["York", "Hull"], "Hull|York"),
    "a bar": (["a|b", "c"], r"a\|b|c"),
    "a backslash": (["a\\"], r"a\\"),
    "a backslash before a bar": (["\\|"], r"\\\|"),
    "a lone star is no whole domain": (["*"], r"\*"),
    "nor beside others": (["*", "b"], r"\*|b"),
    "a star inside a value stays": (["a*", "**"], "**|a*"),
    "quotes, commas and letters of any script": (['"é,ß"'], '"é,ß"'),
    "an empty text": ([""], ""),
    "an empty text beside others": (["", "a"], "|a"),
}


@pytest.mark.parametrize(("values", "cell"), WRITTEN.values(), ids=WRITTEN)
def test_a_set_is_written_and_read(values: list[str], cell: str) -> None:
    assert write_set(values) == cell
    assert read_set(cell) == tuple(sorted(values))


def test_a_star_is_the_whole_domain() -> None:
    assert read_set("*") is None


@pytest.mark.parametrize("cell", ["b|a", "a|a", "a\\", r"a\b", "*|a", r"\*\*", "a|*"])
def test_a_cell_that_is_never_written_is_refused(cell: str) -> None:
    with pytest.raises(ValueError, match="not a cell"):
        read_set(cell)


@given(st.sets(st.text(alphabet="ab|\\*\n ", max_size=5), min_size=1))
def test_every_set_comes_back(values: set[str]) -> None:
    cell = write_set(sorted(values))
    assert cell != "*"
    assert read_set(cell) == tuple(sorted(values))


@given(st.text(alphabet="ab|\\*", max_size=8))
def test_no_two_cells_mean_the_same_set(cell: str) -> None:
    try:
        values = read_set(cell)
    except ValueError:
        return
    assert values is None or write_set(values) == cell
