"""How each recoding publishes a quasi-identifier: what a reader may take a cell for."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

Recoding = Literal["sets", "hierarchy", "full-domain", "centroid", "median", "adaptive", "quantized"]
Ends = Literal["attained", "rounded"]
"""Whether an interval ends at numbers of its people, or on a grid that does not depend on them."""

Closure = Literal["none", "nodes", "ranges"]
"""What a set of values is closed up to: nothing, a node of its hierarchy, a range of its order."""
CLOSED = ("sets", "hierarchy")  # recodings that may close each set by itself


class Form(StrEnum):
    """How a published cell stands to the values of its people.

    `CONTAINS`: it holds each of them. `REPLACED`: one value stands for those of all people of a class.
    `NOISED`: each record has a value of its own, changed by noise; it is no part of what makes a class.
    """

    CONTAINS = "contains"
    REPLACED = "replaced"
    NOISED = "noised"


_NUMERIC: dict[str, Form] = {
    "sets": Form.CONTAINS,
    "hierarchy": Form.CONTAINS,
    "full-domain": Form.CONTAINS,
    "centroid": Form.REPLACED,
    "median": Form.REPLACED,
    "adaptive": Form.NOISED,
    "quantized": Form.REPLACED,
}
_CATEGORICAL: dict[str, Form] = {**_NUMERIC, "adaptive": Form.CONTAINS}


def form_of(recoding: Recoding, *, numeric: bool) -> Form:
    """Return the form of a numeric or a categorical quasi-identifier's cells."""
    return (_NUMERIC if numeric else _CATEGORICAL)[recoding]


def contains_its_people(recoding: str) -> bool:
    """Tell whether every published cell is true of the people of its class."""
    return _NUMERIC[recoding] is Form.CONTAINS and _CATEGORICAL[recoding] is Form.CONTAINS
