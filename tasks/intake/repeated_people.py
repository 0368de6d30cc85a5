"""Find people who have several rows in a table, where the policy says one row a person."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations, islice

from policy.errors import InputError
from policy.model import ReleasePolicy
from tasks.intake.columns import display_column
from tasks.intake.database import Database
from tasks.intake.whose_rows import KEY_HINT, key_is_nobody
from tasks.sql import identifier
from tasks.types import Doubt

MOST_ROWS = 300_000  # that are looked at
_TABLE = "releasegate_people"
LEAST_PEOPLE = 6  # with several rows
LEAST_ROWS, SEVERAL_ROWS = 1.05, 1.5  # of a person in the mean, by one column and by anything else
MOST_ROWS_EACH = 100.0  # of one by two quasi-identifiers: more are a town's, or a stratum's
SAME = 0.8  # share of the pairs of a person's rows that have the same quasi-identifiers
ALL_THE_SAME = 0.95
SAME_OF_SOME = 0.7  # where only some people are looked at
SOME_PEOPLE, SOME_ROWS = 2_000, 30_000
MOST_IN_PAIRS = 12  # columns of which each two are looked at together
BEYOND_NEIGHBOURS = 2.5  # among 490 choices of columns of four tables with one row a person 1.6 was the most
NEAR_OF_ALL = 0.1  # share of the variance of all numbers
LEAST_NUMBERS = 20  # different ones, for many to have one next to them
_ALIKE = 0.9  # share of the pairs of rows from which on it says nothing that a person's are alike
_NEAR = 0.9  # of approximate counts
_NO_PERSONS = 0.2  # share of the rows with a value from which on it is no one person's, such as no income


@dataclass(frozen=True)
class RepeatedPeople:
    """Columns that are people, or none, how many of them have how many rows, and what their rows share.

    It is `certain` enough to refuse a table if columns that tell nothing else determine all that is known.
    """

    columns: tuple[str, ...]
    people: int
    rows: int
    same: tuple[str, ...]
    certain: bool = False

    def __str__(self) -> str:
        """Say what was found."""
        return self.said()

    def said(self, hidden: Collection[str] = ()) -> str:
        """Say what was found without the names of `hidden` columns."""
        same = ", ".join(map(display_column, self.same))
        if not self.columns:
            return (
                f"{self.rows:,} rows have {self.people:,} combinations of {same}, and far more rows agree in "
                "them than nearly agree: they may be of one person"
            )
        names = [
            "a column that is not published" if one in hidden else f"the column {display_column(one)}"
            for one in self.columns
        ]
        subject = f"{' and '.join(names)} {'has' if len(names) == 1 else 'have together'}"
        return (
            f"{subject} {self.people:,} values in {self.rows:,} rows, and rows with the same value have the "
            f"same {same}: they may be of one person"
        )

    @property
    def hint(self) -> str:
        """Say what to do about it."""
        key = "the column that says whose a row is"
        if self.certain:
            key = "it" if len(self.columns) == 1 else "a column of both, which source.query can make,"
        columns = ", ".join(map(display_column, self.columns))
        it = "it" if len(self.columns) == 1 else "both"
        accept = (
            f"name {it} in expectations.repeats: [{columns}]"
            if columns
            else "set expectations.repeats: accepted"
        )
        return (
            f"If they are, make {key} roles.key, and set rows: several to count people. If not, as where the "
            f"values are places or employers, {accept}."
        )


def repeated_people(
    connection: Database,
    relation: str,
    names: Sequence[str],
    policy: ReleasePolicy,
    n_parts: int = 1,
) -> list[RepeatedPeople]:
    """Return what shows that people have several rows; nothing where the policy says so or accepts it.

    `names` are the columns of `relation`; see `people_among` and `_beyond_neighbours`. Of a table in several
    parts, each is looked at together with those before it.
    """
    others, known = _looked_at(names, policy)
    if not known:
        return []
    with _kept(connection, relation, others, known, n_parts) as rows:
        accepted = policy.expectations.repeating
        if found := list(_people_among(rows, others, policy.privacy.k, accepted)):
            return _not_of(accepted, found)
        return list(islice(_beyond_neighbours(rows, _numbers(known, policy)), 1))


def _not_of(accepted: Sequence[str], found: Sequence[RepeatedPeople]) -> list[RepeatedPeople]:
    return [one for one in found if not {*one.columns} <= {*accepted}]


def _looked_at(names: Sequence[str], policy: ReleasePolicy) -> tuple[list[str], list[str]]:
    """Return the columns that may be people, and the quasi-identifiers; none where repeats are accepted."""
    roles = policy.roles
    if policy.rows != "one_per_person" or policy.expectations.repeats == "accepted":
        return [], []
    if not {*roles.quasi_identifiers} <= {*names}:
        return [], []
    may_be = dict.fromkeys((*roles.dropped, *roles.identifiers, *roles.kept))
    others = [name for name in may_be if name in names and name not in roles.quasi_identifiers]
    return others, [*roles.quasi_identifiers]


def _numbers(known: Sequence[str], policy: ReleasePolicy) -> list[str]:
    """Return the quasi-identifiers that are numbers."""
    kinds = policy.roles.quasi_identifiers
    return [name for name in known if kinds[name].type in ("integer", "numeric")]


@dataclass(frozen=True)
class _Rows:
    """A table of the cells as hashes, and of the quasi-identifiers as numbers; its columns by their names."""

    connection: Database
    hashes: Mapping[str, str]
    numbers: Mapping[str, str]
    n_rows: int

    @property
    def known(self) -> list[str]:
        """The quasi-identifiers."""
        return [*self.numbers]

    def ask(self, query: str) -> tuple[float, ...]:
        """Return the first row of a query; what is missing is zero."""
        found = self.connection.execute(query).fetchone() or ()
        return tuple(0.0 if one is None else one for one in found)

    def of(self, names: Sequence[str]) -> str:
        """Return the SQL of one hash of several columns."""
        return f"hash({', '.join(self.hashes[name] for name in names)})" if names else "0"

    def filled(self, names: Sequence[str]) -> str:
        """Return the SQL that tells whether a row has a value in each of several columns."""
        return " AND ".join(f"{self.hashes[name]} IS NOT NULL" for name in names)

    def alike(
        self, whose: Sequence[str], told: Sequence[str], *, most: float = _NO_PERSONS, each: int = 0
    ) -> tuple[int, int, int, int, float]:
        """Return how many rows, values of `whose`, of them in several rows, and of `told` there are, and how
        alike rows of a value are.

        Values of `whose` that more than the share `most` of the rows have are left out. Where `each` is over
        0, some rows are looked at, of one in so many values. How alike they are is the share of pairs of rows
        with the same values of `whose` that have the same of `told`, beyond the share by chance: 0 as by
        chance, 1 all.
        """
        some = f" AND {self.of(whose)} % {each} = 0 LIMIT {SOME_ROWS}" if each else ""
        n, people, several, n_told, same, pairs, by_chance, filled = self.ask(
            f"WITH counts AS (SELECT {self.of(whose)} AS whose, {self.of(told)} AS told, "
            f"count(*)::DOUBLE AS n FROM (FROM {_TABLE} WHERE {self.filled(whose)}{some}) GROUP BY ALL), "
            f"cells AS (FROM counts QUALIFY sum(n) OVER (PARTITION BY whose) <= {most} * {self.n_rows}) "
            ", each AS (SELECT sum(n) AS n FROM cells GROUP BY whose) "
            "SELECT sum(n), (SELECT count(*) FROM each), (SELECT count(*) FROM each WHERE n > 1), "
            "count(DISTINCT told), sum(n * (n - 1)), (SELECT sum(n * (n - 1)) FROM each), "
            "(SELECT sum(n * n) FROM (SELECT sum(n) AS n FROM cells GROUP BY told)), "
            "(SELECT sum(n) FROM counts) FROM cells"
        )
        chance = by_chance / (n * n) if n else 1.0
        share = (same / pairs - chance) / (1 - chance) if pairs and chance < 1 and 2 * n > filled else 0.0
        return int(n), int(people), int(several), int(n_told), share

    def is_near(self, whose: Sequence[str], number: str) -> bool:
        """Tell whether the numbers of a value's rows are near one another, as ages that grow.

        That is where their variance is a tenth of that of all numbers at most.
        """
        within, rows, total = self.ask(
            f"WITH numbers AS (SELECT {self.of(whose)} AS whose, {self.numbers[number]} AS n FROM {_TABLE} "
            f"WHERE {self.filled(whose)}), "
            "own AS (SELECT count(n) AS n, var_samp(n) AS spread FROM numbers GROUP BY whose) "
            "SELECT sum((n - 1) * spread), sum(n - 1), "
            f"(SELECT var_samp({self.numbers[number]}) FROM {_TABLE}) FROM own WHERE n > 1"
        )
        return bool(rows) and total > 0 and within / rows <= NEAR_OF_ALL * total

    def informative(self) -> list[str]:
        """Return the quasi-identifiers in which two rows are not nearly always alike."""
        alike = (
            f"(SELECT sum(n * n) / (sum(n) * sum(n)) FROM "
            f"(SELECT count(*)::DOUBLE AS n FROM {_TABLE} GROUP BY {self.hashes[name]}))"
            for name in self.known
        )
        shares = self.ask(f"SELECT {', '.join(alike)}")
        return [name for name, share in zip(self.known, shares, strict=True) if share <= _ALIKE]

    def in_range(self, several: Sequence[tuple[str, ...]]) -> list[tuple[tuple[str, ...], int]]:
        """Return of choices of columns those with about as many rows a value as people have, or more.

        With them comes about how many values there are for each of 2,000 of them.
        """
        if not several:
            return []
        told = (f"CASE WHEN {self.filled(names)} THEN {self.of(names)} END" for names in several)
        sizes = (f"count({one}), approx_count_distinct({one})" for one in told)
        counts = self.ask(f"SELECT {', '.join(sizes)} FROM {_TABLE}")
        return [
            (names, max(1, int(values) // SOME_PEOPLE))
            for names, filled, values in zip(several, counts[::2], counts[1::2], strict=True)
            if values >= LEAST_PEOPLE * _NEAR and filled / values >= LEAST_ROWS * _NEAR
        ]


@contextmanager
def _kept(
    connection: Database, relation: str, others: Sequence[str], known: Sequence[str], n_parts: int = 1
) -> Iterator[_Rows]:
    """Keep the cells of the first rows for a while; of several parts, for as long as the connection."""
    hashes = {name: f"h{i}" for i, name in enumerate((*known, *others))}
    numbers = {name: f"n{i}" for i, name in enumerate(known)}
    columns = ", ".join(
        [
            *(f"{hashed(name)} AS {column}" for name, column in hashes.items()),
            *(f"TRY_CAST({identifier(name)} AS DOUBLE) AS {column}" for name, column in numbers.items()),
        ]
    )
    rows = f"SELECT {columns} FROM {relation} LIMIT {MOST_ROWS // n_parts}"
    connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {_TABLE} AS FROM ({rows}) LIMIT 0")
    connection.execute(f"INSERT INTO {_TABLE} {rows}")
    (n_rows,) = connection.execute(f"SELECT count(*) FROM {_TABLE}").fetchone() or (0,)
    try:
        yield _Rows(connection, hashes, numbers, n_rows)
    finally:
        if n_parts == 1:
            connection.execute(f"DROP TABLE {_TABLE}")


def people_among(
    connection: Database,
    relation: str,
    others: Sequence[str],
    known: Sequence[str],
    k: int = 1,
    accepted: Sequence[str] = (),
) -> list[RepeatedPeople]:
    """Return which of the columns `others` of a relation are people, as `_people_among`."""
    if not known:
        return []
    with _kept(connection, relation, others, known) as rows:
        return _not_of(accepted, list(_people_among(rows, others, k, accepted)))


def _people_among(
    rows: _Rows, others: Sequence[str], k: int, accepted: Sequence[str] = ()
) -> Iterator[RepeatedPeople]:
    """Yield which of the columns `others` are people, or which two where none is by itself.

    Such a column has several rows a value, and nearly all of them have the same quasi-identifiers, of which
    there are two or more, and not by chance. One may differ where fewer than `k` people share the rest; and a
    quasi-identifier may be people that determines all others. For each column or two that may be people, a
    pass over 30,000 rows for each quasi-identifier, and over 300,000 at most where it seems to be.

    Of what is `accepted`, one column is told too, which explains why rows repeat; two of them are not, nor
    what one determines with another.
    """
    known = rows.informative()
    if len(known) < 2:
        return
    found, explained = False, dict[str, set[str]]()
    alone = [((name,), [*known]) for name in others]
    if len(known) > 2:
        alone += [((name,), [one for one in known if one != name]) for name in known]
    told: dict[tuple[str, ...], list[str]] = dict(alone)
    for whose, each in rows.in_range([*told]):
        if same := _same_for_each(rows, whose, told[whose], each, k if whose[0] in others else 1):
            if whose[0] in accepted:
                explained[whose[0]] = {*same.same}
            else:
                found = True
            yield same
    if found:
        return
    pairs = [two for two in combinations(others[:MOST_IN_PAIRS], 2) if not {*two} <= {*accepted}]
    for whose, each in rows.in_range(pairs):
        same = _same_for_each(rows, whose, [*known], each, k)
        if same is None or any({*same.same} <= explained.get(name, set()) for name in whose):
            continue
        if not any(_told_by_one(rows, name) for name in whose):
            yield same
            return


def _same_for_each(
    rows: _Rows, whose: tuple[str, ...], told: list[str], each: int, k: int
) -> RepeatedPeople | None:
    """Return that rows with the same values of `whose` have the same of `told`, or of all of it but one.

    Some people are looked at first, one in `each`.
    """
    but_one, varying = False, ""
    _, _, several, _, share = rows.alike(whose, told, each=each)
    if share < SAME_OF_SOME:
        if len(told) < 3 or k < 2 or several < LEAST_PEOPLE:
            return None
        by_itself = {name: rows.alike(whose, [name], each=each)[-1] for name in told}
        varying, *told = sorted(told, key=by_itself.__getitem__)
        if rows.alike(whose, told, each=each)[-1] < SAME_OF_SOME:
            return None
        but_one = True
    n, people, several, combined, share = rows.alike(whose, told)
    most = MOST_ROWS_EACH if len(told) == 2 else n
    least = LEAST_ROWS if len(whose) == 1 else SEVERAL_ROWS
    if share < SAME or several < LEAST_PEOPLE or not least <= n / people <= most:
        return None
    certain = not but_one and not {*whose} & {*rows.known}
    if but_one and people >= k * combined and not rows.is_near(whose, varying):
        return None
    return RepeatedPeople(whose, people, n, (*told,), certain)


def _told_by_one(rows: _Rows, name: str) -> bool:
    """Tell whether one quasi-identifier determines a column, as it does another writing of it."""
    return any(rows.alike([one], [name], most=1)[-1] >= SAME for one in rows.known)


def _beyond_neighbours(rows: _Rows, numbers: Sequence[str]) -> Iterator[RepeatedPeople]:
    """Yield quasi-identifiers of which equal ones are far more frequent than nearly equal ones.

    Where each row is somebody else's, pairs of rows that agree in a number and in the other quasi-identifiers
    are about as frequent as pairs whose numbers are next to each other, or as among all rows; a person's rows
    are all among the first. One of the other quasi-identifiers may differ from row to row. Those that tell
    the number by themselves, or that it tells, are left out.

    About q passes for each of the numbers, of q quasi-identifiers, and 3 q where there is something to tell.
    """
    for number in numbers:
        others = [name for name in rows.known if name != number]
        found = list(_agreeing(rows, number, others))
        if found:  # columns that tell the number make it look so, and never hide it
            rest = [name for name in others if not _function(rows, name, number)]
            found = found if rest == others else list(_agreeing(rows, number, rest))
        yield from found


def _agreeing(rows: _Rows, number: str, rest: Sequence[str]) -> Iterator[RepeatedPeople]:
    """Yield with which of `rest`, all or all but one, far more rows agree in a number than nearly agree."""
    _, _, by_itself = _equal_to_next(rows, number, ())
    but_one = combinations(rest, len(rest) - 1) if len(rest) > 1 else ()
    for beside in (rest, *but_one):
        n, people, ratio = _equal_to_next(rows, number, beside)
        beyond = ratio > BEYOND_NEIGHBOURS * max(by_itself, 1.0)
        if beyond and n >= SEVERAL_ROWS * people and people >= LEAST_PEOPLE:
            yield RepeatedPeople((), people, n, (*beside, number))


def _function(rows: _Rows, name: str, number: str) -> bool:
    """Tell whether a column tells a number, or the number it: then none next to it need be there."""
    told = rows.alike([name], [number], most=1)[-1]
    return told >= SAME or rows.alike([number], [name], most=1)[-1] >= ALL_THE_SAME


def _equal_to_next(rows: _Rows, number: str, beside: Sequence[str]) -> tuple[int, int, float]:
    """Return how many rows and combinations there are, and how many pairs are equal for each that is next.

    Numbers that many people have are left out; none where they are half of the rows, or others are few.
    """
    n, combined, equal, n_numbers, near = rows.ask(
        f"WITH numbers AS (SELECT {rows.of(beside)} AS rest, {rows.numbers[number]} AS number "
        f"FROM {_TABLE}), "
        "own AS (SELECT number, count(*) AS n FROM numbers WHERE number IS NOT NULL GROUP BY number), "
        "placed AS (SELECT number, row_number() OVER (ORDER BY number) AS place FROM own "
        f"WHERE n <= {_NO_PERSONS} * {rows.n_rows}), "
        "cells AS (SELECT rest, place, count(*)::DOUBLE AS n FROM numbers JOIN placed USING (number) "
        "GROUP BY ALL) "
        "SELECT sum(n), count(*), sum(n * (n - 1)), (SELECT count(*) FROM placed), "
        "(SELECT sum(a.n * b.n) FROM (SELECT rest, place + unnest([1, 2, 3]) AS place, n FROM cells) a "
        "JOIN cells b USING (rest, place)) / 3 FROM cells"  # an equality: a range would be n^2 comparisons
    )
    if 2 * n <= rows.n_rows or n_numbers < LEAST_NUMBERS:
        return 0, 0, 0.0
    return int(n), int(combined), equal / max(near, 1.0)


def hashed(name: str) -> str:
    """Return the SQL of a column's cells as hashes, which tell different ones apart and are small."""
    return f"CASE WHEN {identifier(name)} IS NOT NULL THEN hash({identifier(name)}) END"


def people_in_doubt(
    connection: Database,
    relation: str,
    names: Sequence[str],
    policy: ReleasePolicy,
    where: str,
    n_parts: int = 1,
) -> list[Doubt]:
    """Return what may be people with several rows, as `repeated_in`, or a key of several rows that is nobody.

    Raises InputError where it is certain.
    """
    if why := key_is_nobody(lambda query: connection.execute(query).fetchall(), relation, policy):
        return [
            Doubt(f"{where}: column '{policy.roles.key}': {why}. {KEY_HINT}", "the key may be no person's")
        ]
    doubts, hidden = [], {*policy.roles.dropped, *policy.roles.identifiers}
    for place, found in repeated_in(connection, relation, names, policy, where, n_parts):
        if found.certain:
            raise InputError(str(found), where=place, hint=found.hint)
        doubts.append(Doubt(f"{place}: {found}. {found.hint}", found.said(hidden)))
    return doubts


def repeated_in(
    connection: Database,
    relation: str,
    names: Sequence[str],
    policy: ReleasePolicy,
    where: str,
    n_parts: int = 1,
) -> list[tuple[str, RepeatedPeople]]:
    """Return what shows that people have several rows, as `repeated_people`, each with the place of the rows.

    The cells of `relation` are those after the policy's steps. Dates are whole: they tell people apart better
    than the periods that are published.
    """
    place = where if n_parts == 1 else f"the parts up to {where}"
    return [(place, found) for found in repeated_people(connection, relation, names, policy, n_parts)]
