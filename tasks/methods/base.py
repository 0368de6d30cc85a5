"""What a method is: a preset of the four parts, with the parameters that a policy may set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from policy.recoding import Recoding
from tasks.parts import Component, Cut, Group, Parameters, Recode, Represent

PLACES = ("representation", "partition", "aggregation", "recoding")


@dataclass(frozen=True)
class Method:
    """A named method: what it does, where it is from, what it guarantees, and its four parts.

    A part is named, or given itself where a method brings its own. `recoding` is the one that the source
    has; a policy says in `method.recoding` if cells may be anything but intervals and sets. `defaults` are of
    parameters that differ from those of the parts.
    """

    name: str
    summary: str
    source: str
    guarantees: str
    representation: str | Component[Represent]
    partition: str | Component[Cut]
    aggregation: str | Component[Group]
    recoding: Recoding = "sets"
    defaults: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BoundMethod:
    """A method whose parameters were checked, ready for one table after another.

    `parts` are the names of the four in their order. The first `n_weighted` of the first three take
    distinct records; the method `needs_rows` unless all four do.
    """

    name: str
    parts: tuple[str, str, str, str]
    parameters: Parameters
    max_group_size: int
    fragment_size: int
    seed: int
    n_weighted: int
    needs_rows: bool
    represent: Represent
    partition: Cut
    aggregate: Group
    recode: Recode
