"""Whether rows with the same value in a column can be one person's, as a key of several rows says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from policy.model import ReleasePolicy
from policy.text import number_of
from tasks.intake.column_words import words_of
from tasks.intake.columns import display_column
from tasks.sql import identifier

BIRTH_WORDS = frozenset(
    (
        *(
            "birth",
            "born",
            "birthday",
            "birthdate",
            "dob",
            "yob",
            "geburtsdatum",
            "geburtstag",
            "geburtsjahr",
        ),
        *("geburtsmonat", "geb", "geburt", "naissance", "nacimiento", "nascimento", "nascita", "geboorte"),
        *("geboortejaar", "f\u00f6delse", "f\u00f8dsel", "urodzenia"),
    )
)
# What hardly changes of a person: rows that differ in it are different people's.
PERSONAL_WORDS = BIRTH_WORDS | frozenset(
    ("age", "sex", "gender", "race", "ethnic", "ethnicity", "nationality", "birthplace")
)
ABOUT_PEOPLE = frozenset(("person", "patient", "subject", "insured", "member", "client", "customer"))
FEWEST_ROWS = 50  # with a value that is not alone, from which agreement is told
AGREEMENT = 0.5  # beyond chance, up to which rows are different people's
VARIED = 0.95  # of pairs of rows that agree by chance, from which a column tells nothing
MANY_ROWS = 20  # of a value on average: more are no person's unless something agrees

KEY_HINT = "k would count these values: name the column of people in roles.key, or leave key and rows out."

Rows = Callable[[str], Sequence[tuple[Any, ...]]]
"""What returns the rows of a query."""


@dataclass(frozen=True)
class SeveralRows:
    """How alike the rows with the same value are: the column in which they agree most, in which share of the
    pairs of rows, and how far beyond chance (Cohen's kappa, 1960); `column` is empty where none could tell.
    """

    values: int
    rows: int
    column: str = ""
    agreement: float = 0.0
    beyond_chance: float = 1.0

    @property
    def each(self) -> float:
        """The mean number of rows of a value."""
        return self.rows / max(self.values, 1)

    def contradicts(self, *, about_people: bool) -> bool:
        """Tell whether the values cannot be people.

        Where a name or marks say that they are, a few rows each may be untidy.
        """
        if self.each < MANY_ROWS and about_people:
            return False
        return self.beyond_chance <= AGREEMENT if self.column else self.each >= MANY_ROWS

    @property
    def said(self) -> str:
        """Why its values are no people, in figures."""
        told = f"{number_of(self.values, 'value')} in {number_of(self.rows, 'row')}, {self.each:,.0f} each"
        if not self.column:
            return f"{told}, and no column shows that these are one person's"
        return (
            f"{told}: rows with the same value are different people's, as "
            f"{display_column(self.column)} is the same in {self.agreement:.0%} of their pairs only"
        )


def key_is_nobody(rows_of: Rows, table: str, policy: ReleasePolicy) -> str:
    """Return why the key of several rows a person cannot be people, or nothing, as `several_rows`."""
    key = policy.roles.key
    if key is None or policy.rows != "several":
        return ""
    found = several_rows(rows_of, table, key, policy.roles.columns_read())
    about_people = bool(words_of(key) & ABOUT_PEOPLE)
    return f"the key is no person's: {found.said}" if found.contradicts(about_people=about_people) else ""


def several_rows(
    rows_of: Rows, table: str, name: str, others: Sequence[str], number: str | None = None
) -> SeveralRows:
    """Compare the rows of the relation `table` with the same value in `name`, in the columns `others`.

    Those about a person are compared, by their names; where there is none, nothing is. Rows of different
    tables, which the column `number` tells apart, are not compared. O(n) for each column.
    """
    key, part = identifier(name), "0" if number is None else identifier(number)
    found = rows_of(
        f"SELECT count(DISTINCT ({part}, {key})), count({key}) FROM {table} WHERE {key} IS NOT NULL"
    )
    best = SeveralRows(*found[0])
    for other in others:
        if other == name or not words_of(other) & PERSONAL_WORDS:
            continue
        query = f"""
            WITH cells_of AS (
                SELECT {part} AS t, {key} AS k, {identifier(other)} AS v, count(*) AS n
                FROM {table} WHERE k IS NOT NULL AND v IS NOT NULL GROUP BY ALL
            ), people AS (SELECT sum(n) AS m, sum(n * n) AS s FROM cells_of GROUP BY t, k),
            anybody AS (
                SELECT sum(n) AS m, sum(n * n) AS s
                FROM (SELECT t, v, sum(n) AS n FROM cells_of GROUP BY t, v) GROUP BY t
            )
            SELECT sum((s - m) / (m - 1)), sum(m),
                   (SELECT sum((s - m) / (m - 1)) / sum(m) FROM anybody WHERE m > 1)
            FROM people WHERE m > 1
            """
        agreeing, rows, chance = rows_of(query)[0]
        if rows is None or rows < FEWEST_ROWS or chance > VARIED:
            continue
        agreement = agreeing / rows
        beyond = (agreement - chance) / (1 - chance)
        if not best.column or beyond > best.beyond_chance:
            best = SeveralRows(best.values, best.rows, other, agreement, beyond)
    return best
