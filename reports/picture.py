"""A picture: a Vega-Lite specification made by Altair, its data apart, and what it says in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ROWS = "rows"  # the name under which a specification asks for its data
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Picture:
    """What one picture shows.

    `spec` asks for the data by the name `ROWS`, and has no colours: those are the theme's. `words` say what
    is seen to whoever does not see it; `columns` are the fields of `rows` that its table of numbers has, with
    their headings.
    """

    name: str
    title: str
    words: str
    spec: Mapping[str, Any]
    rows: Sequence[Row]
    columns: tuple[tuple[str, str], ...]

    def whole(self) -> dict[str, Any]:
        """Return the specification with its data."""
        return {**self.spec, "data": {"name": ROWS, "values": list(self.rows)}}
