"""Who of a table is in the next one: whether a series only grows, overlaps, or has others each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policy.text import number_of
from services.drafting.facts import TableFacts
from services.drafting.guesses import hardly_repeats
from tasks.sql import identifier

STAY = 0.9  # of a table's people or rows in the next one, from which newcomers are few beside those who stay
TOLD_APART = (
    0.5  # of the rows, that must be the only one of their values, for equal rows to be the same people's
)
BY_CHANCE = 0.1  # of the rows that come again, below which they may be equal rows of other people


@dataclass(frozen=True)
class Overlap:
    """How many of the people of a table, or of its rows that no other equals, are in the next one; of the two
    tables that have most in common.
    """

    here: int
    again: int
    counted: str
    growing: bool  # no table has fewer rows than the one before it

    @property
    def share(self) -> float:
        """The share that comes again."""
        return self.again / max(self.here, 1)

    @property
    def stays(self) -> bool:
        """Whether newcomers are few beside those who stay, so that subtraction of two releases tells them."""
        return self.share >= STAY


def overlap_of(facts: TableFacts, key: str | None) -> Overlap | None:
    """Return the overlap of consecutive tables, by `key` or by equal rows; None where nothing tells it.

    Where not nearly all rows come again, they are compared without amounts too, such as pay, which may have
    changed. By chance, 1/e of the rows can be alone with the same values in two tables, so more than a half
    has to come again. O(n) for a key, and O(n) a column for rows.
    """
    if facts.tables == 1:
        return None
    found = _overlap(facts, key)
    if key is None and found is not None and not found.stays:
        amounts = [
            one.name
            for one in facts.columns
            if one.money or one.name in facts.steps.rounded or hardly_repeats(one)
        ]
        others = _overlap(facts, key, amounts) if amounts else None
        if others is not None and others.share > max(TOLD_APART, found.share):
            return others
    return found


def _overlap(facts: TableFacts, key: str | None, without: Sequence[str] = ()) -> Overlap | None:
    """Return the overlap by `key`, or by rows that are equal in all columns but some."""
    table = identifier(facts.number)
    if key is not None:
        who = f"SELECT DISTINCT {table} AS t, {identifier(key)} AS who FROM cells WHERE who IS NOT NULL"
    else:
        same = [
            identifier(one.name)
            for one in facts.columns
            if any(distinct > 1 for distinct, _ in one.in_tables)
            and not one.unique
            and one.name not in without
        ]
        if not same:
            return None
        row = f"hash({', '.join(same)})"
        who = f"SELECT {table} AS t, {row} AS who FROM cells GROUP BY ALL HAVING count(*) = 1"
    found = facts.connection.execute(
        f"""
        WITH people AS ({who})
        SELECT a.t, count(*), count(b.who) FROM people AS a
        LEFT JOIN people AS b ON a.who = b.who AND b.t = a.t + 1
        GROUP BY a.t ORDER BY a.t
        """
    ).fetchall()
    pairs = [(here, again) for t, here, again in found if t < facts.tables - 1]
    if key is None:
        alone = {t: here for t, here, _ in found}
        if any(alone.get(t, 0) < TOLD_APART * size for t, size in enumerate(facts.sizes)):
            return None
    if not pairs:
        return None
    here, again = max(pairs, key=lambda one: one[1] / max(one[0], 1))
    growing = all(before <= after for before, after in zip(facts.sizes, facts.sizes[1:], strict=False))
    return Overlap(here, again, "people" if key is not None else "rows", growing)


def population_lines(facts: TableFacts, key: str | None, *, followed: bool) -> Iterator[str]:
    """Write who is in several releases, as the tables say, and what a series without a key is in for.

    `followed` says whether the key has one row a person, so that the gates follow people by it.
    """
    overlap = overlap_of(facts, key)
    stays = overlap is not None and overlap.stays
    if overlap is not None:
        among = number_of(overlap.here, "person", "people") if key is not None else f"{overlap.here:,} rows"
        told = "" if key is not None else " that no other equals"
        yield f"# Of {among}{told} in a table, {overlap.again:,} are in the next one ({overlap.share:.1%})."
        if stays and followed:
            yield "# So a release beside the one before it can tell newcomers by subtraction: the gates by"
            yield "# person and `worlds` look for them by the key."
            if overlap.again == overlap.here and overlap.growing:
                yield "# If each release holds everybody of earlier ones, `population: cumulative` asks for"
                yield "# more: k newcomers in a class, or none. It blocks a release that lacks somebody."
        cumulative = stays and key is None and overlap.growing
        if cumulative:
            yield "# Each table must then hold everybody of earlier ones: the gates `difference` and `size`"
            yield "# look for newcomers."
        yield f"population: {'cumulative' if cumulative else 'overlapping'}"
        yield ""
    if key is None:
        yield from _without_key(stays=stays, others=overlap is None or overlap.share < BY_CHANCE)
        yield ""


def _without_key(*, stays: bool, others: bool) -> Iterator[str]:
    yield "# Nobody is followed without a key: the second period is blocked by the gate `worlds`. Give a"
    if stays:
        yield "# key: nearly all rows come again, so that a second release without one tells who came and"
        yield "# who left by subtraction. Do not accept that."
    else:
        yield "# key, or accept by `gates.worlds.unfollowed: accept` that each release is assessed by itself."
        if others:
            yield "# If nobody is in the tables of two periods, say so by `population: independent`, too."
