"""Quasi-identifiers that are published as sets of values: categories, ordered ones, codes and dates."""

from __future__ import annotations

import re
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from policy.hierarchy import ROOT, Hierarchy
from policy.section import Section

BETWEEN = ".."  # the first and the last value of a published range
MOST_PERIODS = 10_000  # of a date
_DATE = re.compile(r"\s*(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ].*)?)?)?\s*$", re.DOTALL)


class CategoricalQuasiIdentifier(Section):
    """A quasi-identifier that is published as a set of values."""

    if TYPE_CHECKING:  # each kind has these fields, after its own
        weight: float
        may_change: bool
        description: str

    @property
    def allowed(self) -> tuple[str, ...] | None:
        """The values that a table may hold once it is read, or None where the policy does not say."""
        raise NotImplementedError

    @property
    def tree(self) -> Hierarchy | None:
        """The hierarchy of the values, if there is one."""
        return None

    @property
    def order(self) -> tuple[str, ...] | None:
        """The values from the first to the last, where a cell is a range of them."""
        return None

    @property
    def reads(self) -> bool:
        """Whether some cells of the source stand for another value."""
        return False

    def value(self, text: str) -> str:
        """Return the value that a cell of the source stands for."""
        return text


class NominalQuasiIdentifier(CategoricalQuasiIdentifier):
    """Categories without an order. Values that are not listed are read as `others`, if it is given."""

    type: Literal["categorical"]
    values: tuple[str, ...] | None = None
    hierarchy: Hierarchy | None = None
    # Left out of the document where there is none: the digests of older policies stay.
    others: Annotated[str | None, Field(min_length=1, exclude_if=lambda value: value is None)] = None
    weight: Annotated[float, Field(gt=0)] = 1.0
    may_change: bool = False
    description: str = ""

    @model_validator(mode="after")
    def _one_domain(self) -> Self:
        if self.values is not None and self.hierarchy is not None:
            raise ValueError("give values or a hierarchy, not both: the hierarchy's leaves are the values")
        if self.values is not None and len(set(self.values)) != len(self.values):
            raise ValueError("values holds a value twice")
        if self.others is not None:
            _check_others(self.others, self._listed, self.hierarchy)
        return self

    @property
    def _listed(self) -> tuple[str, ...] | None:
        return self.hierarchy.leaves if self.hierarchy is not None else self.values

    @property
    def allowed(self) -> tuple[str, ...] | None:
        """The values that a table may hold once it is read, or None where the policy does not say."""
        return _with_others(self._listed, self.others)

    @property
    def tree(self) -> Hierarchy | None:
        """The hierarchy of the values, if there is one."""
        return self.hierarchy

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.allowed or ())

    @property
    def reads(self) -> bool:
        """Whether some cells of the source stand for another value."""
        return self.others is not None

    def value(self, text: str) -> str:
        """Return the value that a cell of the source stands for."""
        return text if self.others is None or text in self._known else self.others


class OrdinalQuasiIdentifier(CategoricalQuasiIdentifier):
    """Values in an order, published as ranges of neighbours."""

    type: Literal["ordinal"]
    values: Annotated[tuple[str, ...], Field(min_length=2)]
    weight: Annotated[float, Field(gt=0)] = 1.0
    may_change: bool = False
    description: str = ""

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if len(set(self.values)) != len(self.values):
            raise ValueError("values holds a value twice")
        if any(BETWEEN in value for value in self.values):
            raise ValueError(f"no value may hold '{BETWEEN}', which stands between the ends of a range")
        return self

    @property
    def allowed(self) -> tuple[str, ...]:
        """The values, from the first to the last."""
        return self.values

    @property
    def order(self) -> tuple[str, ...]:
        """The values, from the first to the last."""
        return self.values


class CodeQuasiIdentifier(CategoricalQuasiIdentifier):
    """Codes whose first characters group them: postal codes, diagnoses, occupations.

    The first `length` characters are read, all without one. `values` are those codes; a code that is not
    among them is read as `others`, if it is given. Their hierarchy has a level for each of the `prefixes`,
    the numbers of first characters, from the longest to the shortest.
    """

    type: Literal["code"]
    values: Annotated[tuple[str, ...], Field(min_length=1)]
    length: Annotated[int | None, Field(ge=1)] = None
    prefixes: tuple[Annotated[int, Field(ge=1)], ...] = ()
    others: Annotated[str | None, Field(min_length=1)] = None
    weight: Annotated[float, Field(gt=0)] = 1.0
    may_change: bool = False
    description: str = ""

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if len(set(self.values)) != len(self.values):
            raise ValueError("values holds a code twice")
        longest = max(map(len, self.values))
        if self.length is not None and longest > self.length:
            raise ValueError(f"length is {self.length}, and values holds a longer code")
        lengths = [longest, *self.prefixes]
        if any(not shorter < longer for longer, shorter in pairwise(lengths)):
            raise ValueError("prefixes must descend from under the length of the longest code")
        if self.others is not None:
            _check_others(self.others, self.values, None)
        nodes = {node for path in self.tree.paths for node in path[1:-1]}
        if nodes & {*self.values, self.others}:
            raise ValueError(f"no code may end in '{_ANY}', which stands for all codes of a prefix")
        return self

    @property
    def allowed(self) -> tuple[str, ...]:
        """The codes in their alphabetical order, and `others`."""
        return _with_others(tuple(sorted(self.values)), self.others) or ()

    @cached_property
    def tree(self) -> Hierarchy:
        """The hierarchy of prefixes."""
        return Hierarchy(tuple(self._path(code) for code in sorted(self.values)))

    def _path(self, code: str) -> tuple[str, ...]:
        return (code, *(code[:length].ljust(length) + _ANY for length in self.prefixes), ROOT)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.allowed)

    @property
    def reads(self) -> bool:
        """Whether some cells of the source stand for another value."""
        return self.length is not None or self.others is not None

    def value(self, text: str) -> str:
        """Return the code that a cell of the source stands for."""
        code = text[: self.length]
        return code if self.others is None or code in self._known else self.others


class DateQuasiIdentifier(CategoricalQuasiIdentifier):
    """Dates, published as ranges of years, quarters or months.

    `bounds` are the first and the last date. In the source a date is yyyy-mm-dd, yyyy-mm or yyyy, once
    `source.dates` has read other formats.
    """

    type: Literal["date"]
    bounds: tuple[str, str]
    resolution: Literal["year", "quarter", "month"] = "year"
    weight: Annotated[float, Field(gt=0)] = 1.0
    may_change: bool = False
    description: str = ""

    @field_validator("bounds", mode="before")
    @classmethod
    def _as_texts(cls, given: object) -> object:
        if not isinstance(given, (list, tuple)):
            return given
        return [str(one) if isinstance(one, int) else one for one in given]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        ends = [self._number(end) for end in self.bounds]
        first, last = ends
        if first is None or last is None:
            such = "[1930, 2010]" if self.resolution == "year" else "[1930-01, 2010-12]"
            raise ValueError(f"bounds must be two dates, such as {such}")
        if first > last:
            raise ValueError("bounds must be [first, last], the first before the second")
        if last - first >= MOST_PERIODS:
            raise ValueError(f"bounds hold over {MOST_PERIODS:,} of such a resolution: choose a coarser one")
        return self

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The periods from the first to the last."""
        first, last = (self._number(end) or 0 for end in self.bounds)
        return tuple(self._name(number) for number in range(first, last + 1))

    @property
    def allowed(self) -> tuple[str, ...]:
        """The periods from the first to the last."""
        return self.order

    @property
    def reads(self) -> bool:
        """Whether some cells of the source stand for another value."""
        return True

    def value(self, text: str) -> str:
        """Return the period of a date as it is written in the source; what is no date stays as it is."""
        number = self._number(text)
        return text if number is None else self._name(number)

    def _number(self, text: str) -> int | None:
        """Return the number of the period that a text is of, None where it is no date."""
        found = _DATE.match(text)
        if found is None or (found[2] is None and self.resolution != "year"):
            return None
        try:
            day = date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
        except ValueError:
            return None
        quarter = (day.month - 1) // 3
        return {"year": day.year, "quarter": day.year * 4 + quarter, "month": day.year * 12 + day.month - 1}[
            self.resolution
        ]

    def _name(self, number: int) -> str:
        if self.resolution == "year":
            return f"{number:04d}"
        if self.resolution == "quarter":
            return f"{number // 4:04d}Q{number % 4 + 1}"
        return f"{number // 12:04d}-{number % 12 + 1:02d}"


_ANY = "*"  # after a prefix


def _with_others(values: tuple[str, ...] | None, others: str | None) -> tuple[str, ...] | None:
    if values is None or others is None or others in values:
        return values
    return (*values, others)


def _check_others(others: str, values: tuple[str, ...] | None, hierarchy: Hierarchy | None) -> None:
    if values is None:
        raise ValueError("others needs values or a hierarchy: it stands for all that they do not list")
    above = {node for path in hierarchy.paths for node in path[1:]} if hierarchy is not None else {ROOT}
    if others in above:
        raise ValueError(f"others '{others}' is a node of the hierarchy: choose another name")


SetQuasiIdentifier = (
    NominalQuasiIdentifier | OrdinalQuasiIdentifier | CodeQuasiIdentifier | DateQuasiIdentifier
)
