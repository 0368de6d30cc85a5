"""The four parts that a method is made of: representation, partition, aggregation, recoding.

A part is a name, the parameters that a policy may set, and `bind`, which fixes them and returns a plain
function. One protocol each:

- representation: where the records lie;
- partition: one leaf label a record (-1: the record is left out);
- aggregation: finer labels inside the leaves;
- recoding: the published cells of the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from policy.model import Privacy, ReleasePolicy
from policy.recoding import Closure
from policy.roles import Roles
from tasks.partitioning.constraints import Constraints
from tasks.types import IntArray, Partition, PreparedTable, Progress, Recoded, Representation


class Parameters(BaseModel):
    """A part's parameters: unknown ones are refused, every one has a default."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class CommonParameters(Parameters):
    """What every method has: the size that classes are kept to where they can be, 3k if None; and how large
    a table is decided at once.
    """

    max_group_size: Annotated[int | None, Field(ge=2)] = Field(
        None, description="records a class has at most, where the model can be held with it; none: 3k"
    )
    fragment_size: Annotated[int, Field(ge=1000)] = Field(
        1_000_000, description="distinct records above which a table is decided in fragments of so many"
    )


class NeighbourParameters(Parameters):
    """How many neighbours a record has in the graph along which geodesic distances are taken."""

    neighbours: Annotated[int, Field(ge=1, le=1000)] = Field(
        10, description="neighbours of a record in the graph along which distances go"
    )


class SizeParameters(Parameters):
    """How many records a group is grown to."""

    group_size: Annotated[int | None, Field(ge=2)] = Field(
        None, description="records that a group is grown to; none: `group_factor` times k; never under k"
    )
    group_factor: Annotated[float, Field(ge=1, le=100)] = Field(1.0, description="see `group_size`")

    def size(self, k: int) -> int:
        """Return the size for a least size of k."""
        return max(k, round(self.group_factor * k) if self.group_size is None else self.group_size)


class BlockParameters(Parameters):
    """Tables of more than `whole_up_to` records are cut into blocks of at most `block_size`, since the
    method's cost grows with the square of their size.
    """

    whole_up_to: Annotated[int, Field(ge=2)] = Field(
        20_000, description="records up to which a table is one block: the cost grows with their square"
    )
    block_size: Annotated[int, Field(ge=100)] = Field(
        4_000, description="records of a block of a larger table, at most"
    )


class Represent(Protocol):
    """Places the records of a table."""

    def __call__(self, table: PreparedTable, progress: Progress, /) -> Representation:
        """Return where the records lie."""


class Cut(Protocol):
    """Cuts the records into leaves."""

    def __call__(
        self,
        table: PreparedTable,
        representation: Representation,
        constraints: Constraints,
        progress: Progress,
        /,
    ) -> Partition:
        """Return one leaf label a record, (n,), and how it came about."""


class Group(Protocol):
    """Makes groups inside the leaves."""

    def __call__(
        self,
        table: PreparedTable,
        representation: Representation,
        labels: IntArray,
        constraints: Constraints,
        progress: Progress,
        /,
    ) -> IntArray:
        """Return finer labels, (n,); -1 stays -1."""


class Recode(Protocol):
    """Writes the cells of groups."""

    def __call__(
        self,
        table: PreparedTable,
        representation: Representation,
        labels: IntArray,
        policy: ReleasePolicy,
        seed: int,
        /,
    ) -> Recoded:
        """Return the rows that would be published; records with label -1 are left out."""


F = TypeVar("F")


@dataclass(frozen=True)
class Extra:
    """A package that a part needs, and how to install it: the base of releasegate does not have it."""

    package: str
    hint: str

    def is_installed(self) -> bool:
        """Tell whether the package can be imported; it is not."""
        return find_spec(self.package) is not None


@dataclass(frozen=True)
class BuildContext:
    """What a part is bound to beside its own parameters: the policy's roles, model and seed, the largest
    group, the size that groups are grown to, whether an aggregation follows, the share of the records that
    may be left out, the levels of full-domain generalization that the policy decides, what each categorical
    quasi-identifier's sets are closed up to, the name of the representation, and
    the label of missing values.
    """

    roles: Roles
    privacy: Privacy
    seed: int
    max_group_size: int
    group_size: int
    grouped: bool
    max_suppression: float
    levels: Mapping[str, int]
    closures: Mapping[str, Closure]
    representation: str
    missing: str


@dataclass(frozen=True)
class Component(Generic[F]):
    """One choice for one of the four parts. `bind` takes the parameters, of which it reads its own.

    `extra` is what must be installed beside the base. `weighted` parts take a table of distinct records
    that stand for several rows each, and give what they would for the rows.
    """

    name: str
    summary: str
    parameters: type[Parameters]
    bind: Callable[[Any, BuildContext], F]
    extra: Extra | None = None
    weighted: bool = False


def named_parts(*parts: Component[F]) -> dict[str, Component[F]]:
    """Return parts by their names."""
    return {part.name: part for part in parts}
