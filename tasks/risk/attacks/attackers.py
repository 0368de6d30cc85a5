"""What attackers hold: tables about people of the source, with errors, or about people who are not in it;
and which columns of them the five attackers of doi:10.3390/app152111849 (section 3.3) know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.geometry.space import Space, placed
from tasks.privacy.similar import groups_of
from tasks.types import FloatArray, IntArray, PreparedTable

HALF, ALL, SENSITIVE, HALF_AND_SENSITIVE, OUTSIDE = (
    "half",
    "all",
    "sensitive",
    "half_and_sensitive",
    "outside",
)
KNOWS = {
    HALF: "half of the quasi-identifiers",
    ALL: "all quasi-identifiers",
    SENSITIVE: "a sensitive value",
    HALF_AND_SENSITIVE: "half of the quasi-identifiers and a sensitive value",
    OUTSIDE: "all quasi-identifiers, with errors",
}
KNOW_A_SENSITIVE_VALUE = (SENSITIVE, HALF_AND_SENSITIVE)
MOST_HALVES = 32


@dataclass(frozen=True)
class People:
    """n people in a space: `numbers` (n, p) and `codes` (n, q), nan and -1: unknown.

    `values[attribute]` (n,) tells which of the release's sensitive values each has, -1: none of them;
    `alike[attribute]` (n,) which group of similar ones, where the policy says that some are. With
    `rows` (n,) each stands for so many who are alike, and rows are numbered one person after another.
    """

    numbers: FloatArray
    codes: NDArray[np.int32]
    values: dict[str, IntArray]
    alike: dict[str, IntArray] = field(default_factory=dict)
    rows: IntArray | None = None

    @property
    def n_rows(self) -> int:
        """How many rows these people are."""
        return len(self) if self.rows is None else int(self.rows.sum())

    def of_rows(self, rows: IntArray) -> IntArray:
        """Return which people some rows are, in the shape of `rows`."""
        return rows if self.rows is None else np.searchsorted(np.cumsum(self.rows), rows, side="right")

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: IntArray) -> People:
        """Return the people at `rows`."""
        values = {name: column[rows] for name, column in self.values.items()}
        alike = {name: column[rows] for name, column in self.alike.items()}
        return People(self.numbers[rows], self.codes[rows], values, alike)

    def guessed(self, attribute: str) -> IntArray:
        """Return what a guess of each person's value has to name, (n,): the value, or its group."""
        return self.alike.get(attribute, self.values[attribute])


@dataclass(frozen=True)
class Knowledge:
    """What of a person an attacker knows: columns of `numbers` and of `codes`, and at most one sensitive
    attribute.
    """

    numeric: tuple[int, ...]
    categorical: tuple[int, ...]
    sensitive: str | None = None


def people_of(
    table: PreparedTable, space: Space, classes: EquivalenceClasses, policy: ReleasePolicy
) -> People:
    """Return the records of a table as people who may be attacked with a release. O(n) a column."""
    numbers, codes = placed(table, space)
    values, alike = {}, {}
    for column, name in enumerate(table.sensitive_names):
        if name in classes.sensitive_values:
            rank = {value: i for i, value in enumerate(classes.sensitive_values[name])}
            mine = np.array([rank.get(value, -1) for value in table.sensitive_values[name]], dtype=np.int64)
            values[name] = mine[table.sensitive[:, column]]
            texts = [*classes.sensitive_values[name], *table.sensitive_values[name]]
            groups = groups_of(policy.roles.sensitive[name], texts, policy.source.missing_label)
            if groups is not None:
                released, own = np.split(groups, [len(classes.sensitive_values[name])])
                mine = np.where(np.isin(own, released), own, -1)
                alike[name] = mine[table.sensitive[:, column]]
    return People(numbers, codes, values, alike, table.rows)


def joined(parts: Sequence[People]) -> People:
    """Return several tables of people as one."""
    values = {name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values}
    numbers = np.concatenate([part.numbers for part in parts])
    alike = {name: np.concatenate([part.alike[name] for part in parts]) for name in parts[0].alike}
    return People(numbers, np.concatenate([part.codes for part in parts]), values, alike)


def with_errors(people: People, source: People, share: float, seed: int) -> People:
    """Return people of whom the attacker's table is wrong in a share of the cells, sensitive values apart.

    Each cell is drawn on its own, and replaced by the cell of a row of the source drawn for it: a wrong value
    is as frequent as it is in its column, and some are right by chance.
    """
    rng = np.random.default_rng([seed, len(people)])
    p, q = people.numbers.shape[1], people.codes.shape[1]
    wrong = rng.random((len(people), p + q)) < share
    donor = source.of_rows(rng.integers(0, source.n_rows, (len(people), p + q)))
    numbers, codes = people.numbers.copy(), people.codes.copy()
    for column in range(p):
        numbers[:, column] = np.where(
            wrong[:, column], source.numbers[donor[:, column], column], numbers[:, column]
        )
    for column in range(q):
        other = source.codes[donor[:, p + column], column]
        codes[:, column] = np.where(wrong[:, p + column], other, codes[:, column])
    return People(numbers, codes, people.values, people.alike)


def halves(n_columns: int) -> list[tuple[int, ...]]:
    """Return every set of half of the columns, rounded up; of more than 32 sets 32, always the same."""
    half = -(-n_columns // 2)
    if comb(n_columns, half) <= MOST_HALVES:
        return list(combinations(range(n_columns), half))
    rng = np.random.default_rng(0)
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < MOST_HALVES:
        drawn.add(tuple(sorted(rng.permutation(n_columns)[:half].tolist())))
    return sorted(drawn)


def knowledge_of(attacker: str, n_numeric: int, n_categorical: int, sensitive: list[str]) -> list[Knowledge]:
    """Return all that an attacker may know: one entry for each half and each sensitive attribute."""
    everything = tuple(range(n_numeric + n_categorical))
    columns: list[tuple[int, ...]] = [everything]
    if attacker in (HALF, HALF_AND_SENSITIVE):
        columns = halves(len(everything))
    elif attacker == SENSITIVE:
        columns = [()]
    known: list[str | None] = [*sensitive] if attacker in KNOW_A_SENSITIVE_VALUE else [None]
    return [
        Knowledge(
            tuple(c for c in chosen if c < n_numeric),
            tuple(c - n_numeric for c in chosen if c >= n_numeric),
            attribute,
        )
        for attribute in known
        for chosen in columns
    ]
