"""What a method is: a preset of the four parts, with the parameters that a policy may set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from policy.model import Privacy
from tasks.partitioning.constraints import Constraints
from tasks.types import IntArray, PreparedTable, Progress, Representation


class Parameters(BaseModel):
    """A method's parameters: unknown ones are refused, every one has a default."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True)
class BoundMethod:
    """A method whose parameters were checked, ready for one table after another.

    `represent(table, progress)` places the records; `partition(table, representation, constraints,
    progress)` and `aggregate(representation, labels, constraints, progress)` return one label a record, (n,).
    """

    name: str
    parameters: Parameters
    max_group_size: int
    represent: Callable[[PreparedTable, Progress], Representation]
    partition: Callable[[PreparedTable, Representation, Constraints, Progress], IntArray]
    aggregate: Callable[[Representation, IntArray, Constraints, Progress], IntArray]


@dataclass(frozen=True)
class Method:
    """A named method: what it does, where it is from, what it guarantees, and how it is bound."""

    name: str
    summary: str
    source: str
    guarantees: str
    parameters: type[Parameters]
    bind: Callable[[Parameters, Privacy, int], BoundMethod]
