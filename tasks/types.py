"""What travels between the stages: few frozen types, named once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from release_store.records import EquivalenceClasses, PersonHashes
from release_store.summary import Repair

if TYPE_CHECKING:
    import pandas as pd  # at run time it is slow to import, and nothing here needs it

_CHUNK = 1_000_000  # rows that are looked at together

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Note: TypeAlias = "int | float | str | Sequence[Note] | Mapping[str, Note] | None"
Notes = Mapping[str, Note]
"""What a part tells of its work, by names that depend on it: counts and sizes, never a value of the data."""

Progress = Callable[[float, str], None]
"""Told the share done (0 to 1) and a few words, from any stage that takes more than a few seconds."""


def code_type(n: int) -> type[np.signedinteger]:
    """Return the smallest type that holds the codes of n values, and -1."""
    return np.int8 if n <= 1 << 7 else np.int16 if n <= 1 << 15 else np.int32


def no_progress(_share: float, _words: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Doubt:
    """Why rows may not be of different people: as a run says it, and as it is kept, which may be published
    and names no column that nobody sees.
    """

    said: str
    kept: str


@dataclass(frozen=True)
class SourceTable:
    """One period's table as it was read: the columns of the policy's roles, in the input's row order.

    Numeric columns are float64 with NaN for missing, or text where a value is no number (validation then
    refuses the table) or where a double does not hold a sensitive number; all others are text with missing
    values as None/NaN. Text is categorical where it has few different values. `removed_duplicates` are the
    rows that were left out because they repeat the row before them, None where nobody looked. With `rows`
    (d,), the frame has the d different rows of the table, in no order that counts, and each stands for so
    many.
    """

    frame: pd.DataFrame
    digest: str  # SHA-256 of the input file's bytes, or of a query's rows as CSV; it is kept nowhere
    origin: str  # the file's name, or "query"
    identifiers: pd.DataFrame | None = None  # those columns as text, in the same rows
    commitment: str = ""  # what is recorded of the digest: see release_store/commitment.py
    draw_key: bytes = field(default=b"", repr=False)  # of the store, which makes the seed of draws secret
    removed_duplicates: int | None = None
    rows: IntArray | None = None
    doubts: tuple[Doubt, ...] = ()

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return len(self.frame) if self.rows is None else int(self.rows.sum())


@dataclass(frozen=True)
class ReusedCells:
    """The `cells` of an earlier release's classes, and the number of the cell that takes each record of a
    table, `of_record` (n,); -1 for a record of none.

    A group of records of one cell is published with that cell; any other with the cells of its records.
    """

    cells: EquivalenceClasses
    of_record: IntArray


@dataclass(frozen=True)
class PreparedTable:
    """The source in the shape that methods compute on.

    n records, p numeric and q categorical quasi-identifiers, s sensitive attributes:
    `numeric` (n, p) true values, NaN missing; `codes` (n, q) index into `domains[name]`;
    `sensitive` (n, s) index into `sensitive_values[name]`, both of the smallest type of signed whole numbers
    that holds them.
    `domains` are the values present in the source, in the policy's order (hierarchy leaves, listed
    values, else sorted), so that neighbours in the order are neighbours in meaning.
    """

    frame: pd.DataFrame
    numeric_names: tuple[str, ...]
    numeric: FloatArray
    categorical_names: tuple[str, ...]
    codes: NDArray[np.signedinteger]
    domains: dict[str, tuple[str, ...]]
    sensitive_names: tuple[str, ...]
    sensitive: NDArray[np.signedinteger]
    sensitive_values: dict[str, tuple[str, ...]]
    sensitive_numbers: dict[str, FloatArray]  # numeric sensitive attributes only, (n,)
    exact_numbers: frozenset[str] = frozenset()  # those that doubles do not hold: their texts are published
    person: IntArray | None = None  # (n,) whose a record is, where a person may have several
    household: IntArray | None = None  # (n,) that of the record's person, where the policy counts households
    weights: FloatArray | None = None  # (n,) people of the population that a record stands for, over 0
    identifying: pd.DataFrame | None = None  # key and identifiers as text, to look for in what is published
    draw_key: bytes = field(default=b"", repr=False)
    reused: ReusedCells | None = None  # where the policy uses cells of an earlier release
    overall: dict[str, IntArray] | None = None  # of a fragment: the whole table's counts of sensitive values
    rows: IntArray | None = None  # (n,) of distinct records: how many rows each stands for; None: one
    reduction: Reduction | None = None  # its distinct records, where they are much fewer

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return len(self.frame)

    @property
    def n_rows(self) -> int:
        """How many rows of the source the records stand for."""
        return self.n_records if self.rows is None else int(self.rows.sum())

    @property
    def unit(self) -> IntArray | None:
        """Whose a record is to the privacy model, (n,): a household's, or a person's who may have several."""
        return self.person if self.household is None else self.household

    def take(self, rows: NDArray[np.signedinteger]) -> PreparedTable:
        """Return the records at `rows`, in their order; domains and values stay those of the whole table."""
        return replace(
            self,
            frame=self.frame.iloc[rows].reset_index(drop=True),
            numeric=self.numeric[rows],
            codes=self.codes[rows],
            sensitive=self.sensitive[rows],
            sensitive_numbers={name: numbers[rows] for name, numbers in self.sensitive_numbers.items()},
            person=None if self.person is None else self.person[rows],
            household=None if self.household is None else self.household[rows],
            weights=None if self.weights is None else self.weights[rows],
            identifying=None
            if self.identifying is None
            else self.identifying.iloc[rows].reset_index(drop=True),
            reused=None
            if self.reused is None
            else replace(self.reused, of_record=self.reused.of_record[rows]),
            rows=None if self.rows is None else self.rows[rows],
            reduction=None,
        )


@dataclass(frozen=True)
class Representation:
    """Where records lie: `points`, (n, r), or what computes them each time that `latent` is asked for.

    `blocks` (n,), where there are any, are those inside which distances go along a graph of neighbours.
    `of_method` is false for the attributes of a table whose fragments had each a representation of its own.
    """

    points: FloatArray | Callable[[], FloatArray]
    blocks: IntArray | None = None
    notes: Notes = field(default_factory=dict)
    of_method: bool = True

    @property
    def latent(self) -> FloatArray:
        """The points, (n, r)."""
        return self.points() if callable(self.points) else self.points

    def take(self, rows: IntArray) -> Representation:
        """Return the records at `rows`, in their order."""
        blocks = None if self.blocks is None else self.blocks[rows]
        return replace(self, points=self.latent[rows], blocks=blocks)


@dataclass(frozen=True)
class Partition:
    """One label a record, and how it came about. Label -1 marks a suppressed record.

    `seats` (n, 2), where people are followed: the signature and position of each record, or -1. `repair`
    counts what was changed because of earlier releases, None where nobody looked.
    """

    labels: IntArray
    notes: Notes = field(default_factory=dict)
    seats: IntArray | None = None
    repair: Repair | None = None

    @property
    def n_groups(self) -> int:
        """How many groups there are, the suppressed records not counted."""
        return int(self.labels.max(initial=-1)) + 1


@dataclass(frozen=True)
class Reduction:
    """The distinct records of a table, d of n rows, each with how many `rows` it stands for; `of_row` (n,) is
    the record of each row.

    They are in the order of their values, whatever the order of the rows, and have no kept columns.
    """

    table: PreparedTable
    of_row: NDArray[np.int32]

    def groups_of_rows(self, groups: Partition) -> Partition:
        """Return the groups of the rows, (n,), from those of the records, (d,)."""
        return replace(groups, labels=groups.labels[self.of_row])

    def representation_of_rows(self, representation: Representation) -> Representation:
        """Return where the rows lie; their points, (n, r), are computed each time that they are asked for."""
        blocks = None if representation.blocks is None else representation.blocks[self.of_row]
        return replace(representation, points=lambda: representation.latent[self.of_row], blocks=blocks)

    def in_groups(self, labels: IntArray) -> tuple[Reduction, IntArray]:
        """Return the distinct records in groups `labels` (n,), and their labels.

        A record whose rows are in several groups is several. O(n).
        """
        own = np.empty(self.table.n_records, dtype=labels.dtype)
        own[self.of_row] = labels
        apart = np.concatenate(
            [
                start
                + np.flatnonzero(own[self.of_row[start : start + _CHUNK]] != labels[start : start + _CHUNK])
                for start in range(0, len(labels), _CHUNK)
            ]
        )
        if not len(apart):
            return self, own
        n_records, span = len(own), int(labels.max()) + 2
        key = self.of_row[apart].astype(np.int64) * span + (labels[apart] + 1)
        pairs, place, count = np.unique(key, return_inverse=True, return_counts=True)
        assert self.table.rows is not None  # noqa: S101 -- made so
        left = self.table.rows - np.bincount(self.of_row[apart], minlength=n_records)
        table = self.table.take(np.concatenate([np.arange(n_records), pairs // span]))
        of_row = self.of_row.copy()
        of_row[apart] = n_records + place
        found = Reduction(replace(table, rows=np.concatenate([left, count])), of_row)
        return found, np.concatenate([own, pairs % span - 1])


@dataclass(frozen=True)
class Recoded:
    """The rows that would be published: record `records[i]` of the source has row i of `frame`, (m,).

    Row i of `cells` (d,) stands `times[i]` times, one after another; None: each once. Of a source that has
    distinct records alone, `records` (d,) are those of the cells. Columns of text may be categorical. `notes`
    hold counts and sizes, never a value.
    """

    records: IntArray
    cells: pd.DataFrame
    notes: Notes = field(default_factory=dict)
    times: IntArray | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """All rows, made each time that they are asked for."""
        if self.times is None:
            return self.cells
        return self.cells.loc[self.cells.index.repeat(self.times)].reset_index(drop=True)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.records) if self.times is None else int(self.times.sum())

    @property
    def of_cells(self) -> IntArray:
        """A record of each row of `cells`, (d,)."""
        if self.times is None or len(self.records) == len(self.cells):
            return self.records
        return np.asarray(self.records[np.cumsum(self.times) - self.times])

    @property
    def of_rows(self) -> IntArray:
        """The record of each row, (m,)."""
        if self.times is None or len(self.records) == self.n_rows:
            return self.records
        return np.repeat(self.records, self.times)


@dataclass(frozen=True)
class Candidate:
    """A staged release: files that hold only what would be published, and their digests."""

    candidate_id: str
    series: str
    period: str
    folder: Path
    files: dict[str, str]  # file name to SHA-256
    digest: str  # SHA-256 over the names and digests of all files
    n_source: int
    n_published: int
    row_people: IntArray | None = None  # (n_published,) whose each row is, where one may have several
    row_households: IntArray | None = None  # (n_published,) likewise, where the policy counts households
    row_records: IntArray | None = None  # the source's records, as `Recoded` has them
    people: PersonHashes | None = field(default=None, repr=False)  # as the store keeps them, if at hand
