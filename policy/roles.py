"""What the columns of a table are: key, identifiers, quasi-identifiers, sensitive attributes, kept ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from policy.categorical import CategoricalQuasiIdentifier, SetQuasiIdentifier
from policy.hierarchy import Hierarchy
from policy.section import Section


class NumericQuasiIdentifier(Section):
    """A quasi-identifier that is published as an interval.

    `widths` is its hierarchy: the widths of the intervals that `recoding: hierarchy` publishes, ascending,
    counted from the lower bound; above them is the whole of `bounds`. `sensitivity` is the difference of two
    people's numbers that noise has to hide, the width of `bounds` if None.
    """

    type: Literal["numeric", "integer"]
    bounds: tuple[float, float]
    widths: tuple[Annotated[float, Field(gt=0)], ...] = ()
    weight: Annotated[float, Field(gt=0)] = 1.0
    moves: tuple[float, float] = (0.0, 0.0)
    # Left out of the document where there is none: the digests of older policies stay.
    sensitivity: Annotated[float | None, Field(gt=0, exclude_if=lambda value: value is None)] = None
    description: str = ""

    @property
    def noise_sensitivity(self) -> float:
        """The sensitivity of the Laplace mechanism: the declared one, else the width of the bounds."""
        return self.bounds[1] - self.bounds[0] if self.sensitivity is None else self.sensitivity

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.bounds[0] < self.bounds[1]:
            raise ValueError("bounds must be [smallest, largest], the first under the second")
        if max(map(abs, self.bounds)) >= 2**53:  # from here on, two whole numbers can be one double
            raise ValueError("bounds must be under 2^53: divide larger numbers in source.query")
        if not self.moves[0] <= self.moves[1]:
            raise ValueError("moves must be [least change, greatest change] a period")
        for finer, wider in pairwise(self.widths):
            times = Fraction(repr(wider)) / Fraction(repr(finer))  # of the decimals, as they are written
            if not (finer < wider and times.denominator == 1):
                raise ValueError("widths must ascend, each a multiple of the one before")
        if self.type == "integer" and not all(width.is_integer() for width in self.widths):
            raise ValueError("widths of an integer are whole numbers")
        return self


QuasiIdentifier = Annotated[NumericQuasiIdentifier | SetQuasiIdentifier, Field(discriminator="type")]


class RuleOfChange(Section):
    """How a number changes from each period to the next, as attackers know: times `factor`, plus `sum`."""

    factor: Annotated[float, Field(gt=0)] = 1.0
    sum: float = 0.0


Distance = Literal["equal", "ordered", "hierarchical"]


class SensitiveAttribute(Section):
    """An attribute that is published as it is, and that must not be tied to a person.

    `values`, or the leaves of `hierarchy`, are all that it may hold; `ordered` says that `values` stand in
    their order. Numbers at most `width` apart count as one value where possible worlds are counted. `change`
    is how they change for many people at once. Values that are `similar`, and numbers in one of the `ranges`
    (which end below these numbers), count as one wherever a class's values are counted.
    """

    stability: Literal["stable", "transient"]
    type: Literal["categorical", "numeric"] = "categorical"
    values: tuple[str, ...] | None = None
    # Left out of the document where there are none: the digests of older policies stay.
    hierarchy: Annotated[Hierarchy | None, Field(exclude_if=lambda value: value is None)] = None
    ordered: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    width: Annotated[float, Field(ge=0)] = 0.0
    change: RuleOfChange | None = None
    # Left out of the document where there are none: the digests of older policies stay.
    similar: tuple[Annotated[tuple[str, ...], Field(min_length=2)], ...] = Field(
        default=(), exclude_if=lambda value: not value
    )
    ranges: tuple[float, ...] = Field(default=(), exclude_if=lambda value: not value)
    description: str = ""

    @property
    def allowed(self) -> tuple[str, ...] | None:
        """The values that may stand in the source, or None where the policy does not say."""
        return self.hierarchy.leaves if self.hierarchy is not None else self.values

    @property
    def own_distance(self) -> Distance:
        """How far apart its values are for t-closeness, unless the model says `equal`."""
        if self.hierarchy is not None:
            return "hierarchical"
        return "ordered" if self.ordered or self.type == "numeric" else "equal"

    def with_similar(self, values: Iterable[str]) -> frozenset[str]:
        """Return values and those that are similar to one of them."""
        named = frozenset(values)
        return named.union(*(group for group in self.similar if not named.isdisjoint(group)))

    @model_validator(mode="after")
    def _as_one(self) -> Self:
        if self.ranges and self.type != "numeric":
            raise ValueError("ranges are of numbers: type must be numeric")
        if self.ranges and self.width:
            raise ValueError("ranges and width both say which numbers count as one: leave one of them out")
        if any(not low < high for low, high in pairwise(self.ranges)):
            raise ValueError("ranges must ascend")
        named = [value for group in self.similar for value in group]
        if self.similar and (self.type == "numeric" or self.allowed is None):
            raise ValueError("similar needs values, which it lists again, and type: categorical")
        for value in named:
            if named.count(value) > 1:
                raise ValueError(f"similar lists '{value}' twice")
            if self.allowed is not None and value not in self.allowed:
                domain = "values" if self.hierarchy is None else "the hierarchy"
                raise ValueError(f"similar lists '{value}', which is not in {domain}")
        return self

    @model_validator(mode="after")
    def _one_domain(self) -> Self:
        if self.hierarchy is not None:
            if self.type == "numeric":
                raise ValueError("a hierarchy is of categories: type must be categorical")
            if self.values is not None:
                raise ValueError(
                    "give values or a hierarchy, not both: the hierarchy's leaves are the values"
                )
        if self.ordered:
            if self.type == "numeric":
                raise ValueError("numbers have their own order: leave out ordered")
            if self.values is None:
                raise ValueError("ordered needs values, from the lowest to the highest")
            if len(set(self.values)) != len(self.values):
                raise ValueError("values holds a value twice")
        return self

    @model_validator(mode="after")
    def _of_numbers(self) -> Self:
        if self.width and self.type != "numeric":
            raise ValueError("width applies to numbers: type must be numeric")
        if self.change is not None and (self.type != "numeric" or self.stability != "transient"):
            raise ValueError("change needs type: numeric and stability: transient")
        return self


class Roles(Section):
    """What every column of the source is. A column without a role is an error.

    `weight` is how many people of the population a record stands for. It alone may be kept too, and is
    published only then. Where there is a `household`, the privacy model counts households in place of people.
    """

    key: str | None = None
    # Left out of the document where there is none: the digests of older policies stay.
    household: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None
    weight: str | None = None
    identifiers: tuple[str, ...] = ()
    quasi_identifiers: dict[str, QuasiIdentifier] = Field(min_length=1)
    sensitive: dict[str, SensitiveAttribute] = Field(min_length=1)
    kept: tuple[str, ...] = ()
    kept_values: dict[str, tuple[str, ...]] = Field(default={})  # that a kept column may hold
    dropped: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        seen: set[str] = set()
        for name in self.columns():
            if name in seen:
                raise ValueError(f"the column '{name}' has two roles")
            seen.add(name)
        for name in self.kept_values:
            if name not in self.kept:
                raise ValueError(f"roles.kept_values names '{name}', which is not a column of roles.kept")
        return self

    def columns(self) -> Iterator[str]:
        """Every column that the source must have, in the order of the roles."""
        if self.key is not None:
            yield self.key
        if self.household is not None:
            yield self.household
        if self.unpublished_weight is not None:
            yield self.unpublished_weight
        yield from self.identifiers
        yield from self.quasi_identifiers
        yield from self.sensitive
        yield from self.kept
        yield from self.dropped

    def declared(self, column: str) -> bool:
        """Tell whether the policy lists the values that a published column may hold."""
        categorical = self.categorical.get(column)
        if categorical is not None:
            return categorical.allowed is not None
        sensitive = self.sensitive.get(column)
        return column in self.kept_values or (sensitive is not None and sensitive.allowed is not None)

    @property
    def unpublished_weight(self) -> str | None:
        """The column of weights, unless it is kept or there is none."""
        return None if self.weight in self.kept else self.weight

    def columns_read(self) -> list[str]:
        """Return the columns that a source's frame holds, in their order: all but identifiers and dropped."""
        single = (self.key, self.household, self.unpublished_weight)
        return [
            *(name for name in single if name is not None),
            *self.quasi_identifiers,
            *self.sensitive,
            *self.kept,
        ]

    @property
    def numeric(self) -> dict[str, NumericQuasiIdentifier]:
        """The numeric quasi-identifiers, in the policy's order."""
        return {n: q for n, q in self.quasi_identifiers.items() if isinstance(q, NumericQuasiIdentifier)}

    @property
    def categorical(self) -> dict[str, CategoricalQuasiIdentifier]:
        """The categorical quasi-identifiers, in the policy's order."""
        return {n: q for n, q in self.quasi_identifiers.items() if isinstance(q, CategoricalQuasiIdentifier)}
