"""Whether a table as a whole can hold the policy's model: where it cannot, no method can.

Counts of values of a part are those of the whole at most, and the share of the most frequent value, or the
entropy, of some part is no better than that of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Protocol

import numpy as np

from policy.model import Privacy, ReleasePolicy
from policy.text import number_of
from tasks.privacy.diversity import entropy
from tasks.privacy.similar import groups_of
from tasks.types import FloatArray, IntArray
from tasks.validation.feasible_models import FIELD, added_missed, largest_k, models_missed

LEAST_COMBINATIONS = 30  # whose numbers of rows have a common divisor once in 2^30 by chance
REPEATS_HINT = (
    "Name the column that says whose they are as roles.key, and set rows: several to count people; or, if "
    "they are of different people, set expectations.repeats: accepted."
)


class WholeTable(Protocol):
    """What is counted of a table, whatever holds it."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    def distinct(self, column: str) -> int:
        """Return how many values a column has, missing ones left out."""

    def stands_for(self) -> float:
        """Return how many people of the population all rows stand for; nan where a weight is none."""

    def values(self, name: str) -> Sequence[str | None]:
        """Return the m distinct values of a sensitive attribute, always in one order; None: missing."""

    def counts(self, name: str, groups: IntArray | None, key: str | None) -> IntArray:
        """Return how many rows, or people where a `key` names them, have each value, (m,), or, where `groups`
        (m,) of `values` are given, one of each group.
        """

    def span(self, name: str) -> tuple[float, float] | None:
        """Return the least and the greatest number of an attribute, (0, 0) without any.

        None: not all are numbers, or doubles do not hold them.
        """

    def combinations(self) -> IntArray:
        """Return how many rows have each combination of quasi-identifiers, in any order."""

    def numbers(self, name: str) -> FloatArray:
        """Return the numbers that the values of an attribute stand for, (m,), nan where one is none."""


@dataclass(frozen=True)
class Shortfall:
    """What the whole table misses, and how to correct it; `said` is empty where it misses nothing."""

    column: str | None
    said: str
    hint: str


def shortfalls(table: WholeTable, policy: ReleasePolicy) -> list[Shortfall]:
    """Return one for k and one for each sensitive attribute; a missing value is one of its own. O(n).

    Where people or households are counted, one may be in several classes. Then entropies say nothing of all
    classes together, and a share says something beside the number of rows alone, which classes have at most.
    """
    privacy, models = policy.privacy, policy.gates.models
    key, counted = units_of(policy)
    people = table.rows if key is None else table.distinct(key)
    field, k = max(("privacy.k", privacy.k), largest_k(models), key=lambda each: each[1])
    said = f"the table of {people} {counted} has fewer than {field} ({k})" if people < k else ""
    found = [Shortfall(None, said, f"Give more {counted}, or lower {field}.")]
    if key is not None and (models.km is not None or models.lkc is not None):
        said = f"{FIELD}.{'lkc' if models.km is None else 'km'} adds up rows, and {counted} are counted"
        found.append(Shortfall(None, said, "Leave the model out, or count rows."))
    if policy.gates.k_map is not None:
        stands_for, least = table.stands_for(), policy.gates.k_map.k
        said = f"all rows together stand for {stands_for:,.0f} people, fewer than gates.k_map.k ({least})"
        short = stands_for < least * (1 - 1e-12)  # no number, where a weight is none: another check says so
        found.append(Shortfall(None, said if short else "", "Lower gates.k_map.k."))
    if said := _repeated(table, policy):
        found.append(Shortfall(None, said, REPEATS_HINT))
    for name in policy.roles.sensitive:
        said, section = _missed(table, policy, name, key, people, counted)
        hint = f"No class can satisfy it: correct the input, or change {section}."
        found.append(Shortfall(name, said, hint))
    return found


def _repeated(table: WholeTable, policy: ReleasePolicy) -> str:
    """Say that people may have several rows each: so many with every combination of quasi-identifiers.

    Not where a key tells people apart.
    """
    known = policy.rows != "one_per_person" or policy.roles.key is not None
    if known or policy.expectations.repeats == "accepted":
        return ""
    sizes = table.combinations()
    each = int(np.gcd.reduce(sizes)) if len(sizes) >= LEAST_COMBINATIONS else 1
    return (
        f"each of {len(sizes):,} combinations of quasi-identifiers is in {each:,} rows, or a multiple of it: "
        f"they may be of one person"
        if each > 1
        else ""
    )


def units_of(policy: ReleasePolicy) -> tuple[str | None, str]:
    """Return the column that names what k counts, None for rows, and a word for these."""
    if policy.roles.household is not None:
        return policy.roles.household, "households"
    if policy.rows == "several" and policy.roles.key is not None:
        return policy.roles.key, "people"
    return None, "rows"


def _missed(
    table: WholeTable, policy: ReleasePolicy, name: str, key: str | None, people: int, counted: str
) -> tuple[str, str]:
    """Return what no class can satisfy of an attribute, "" if there is nothing, and the policy's section."""
    rows, models, attribute = table.rows, policy.gates.models, policy.roles.sensitive[name]
    own, place = policy.privacy.of(name), partial(policy.privacy.place, name)
    missing = policy.source.missing_label
    texts = [missing if value is None else value for value in table.values(name)]
    groups = groups_of(attribute, texts, missing)
    counts = table.counts(name, groups, key)
    said = _too_few(table, name, len(counts), own, place, numeric=attribute.type == "numeric")
    if not said and name in policy.privacy.own_least() and len(counts) < own.l:
        said = f"'{name}' has {number_of(len(counts), 'distinct value')}, fewer than {place('l')} ({own.l})"
    most = own.p_max * (people if key is None else rows)
    if not said and len(counts) and counts.max() > most + 1e-9:
        share = f"{counts.max() / people:.1%} of the {counted}"
        if key is not None:
            share = f"that of {counts.max():,} {counted} in {rows:,} rows"
        said = f"the most frequent value of '{name}' is {share}, over {place('p_max')}"
    if not said and key is None and len(counts) and entropy(counts) < own.h_min - 1e-12:
        said = f"'{name}' has an entropy of {float(entropy(counts)):.3f}, under {place('h_min')}"
    if said:
        return said, "privacy"
    table_rows = None if key is None else rows
    values = _values_of_groups(texts, groups, len(counts))
    said = models_missed(name, attribute, counts, values, people, counted, models, table_rows)
    if not said and models.added and key is None:
        numbers = table.numbers(name) if attribute.type == "numeric" else None
        said = added_missed(name, table.counts(name, None, None), numbers, people, models)
    return said, FIELD


def _too_few(
    table: WholeTable,
    name: str,
    n_values: int,
    own: Privacy,
    place: Callable[[str], str],
    *,
    numeric: bool,
) -> str:
    """Say that an attribute has too few values, or too narrow a range; "" where it has not."""
    if numeric:
        low, high = table.span(name) or (-np.inf, np.inf)
        span = float(Decimal(repr(high)) - Decimal(repr(low)))  # 4.1 - 3.1 of doubles is under 1
        if span < own.e:
            return f"'{name}' ranges over less than {place('e')} ({own.e:g})"
        if span < own.spread * max(abs(low), abs(high)) - 1e-12:
            return f"'{name}' ranges over less than {place('spread')} ({own.spread:g}) of its largest value"
    elif n_values < own.e:
        distinct = number_of(n_values, "distinct value")
        return f"'{name}' has {distinct}, fewer than {place('e')} ({own.e:g})"
    return ""


def _values_of_groups(texts: Sequence[str], groups: IntArray | None, n_groups: int) -> list[frozenset[str]]:
    """Return the values of each group; without groups each is its own."""
    of_group = np.arange(len(texts)) if groups is None else groups
    values: list[set[str]] = [set() for _ in range(n_groups)]
    for text, group in zip(texts, of_group.tolist(), strict=True):
        values[group].add(text)
    return [frozenset(each) for each in values]
