"""The model that every group must satisfy: k, p_max, h_min, e and the policy's privacy models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil, log
from typing import Any

import numpy as np

from policy.model import Privacy, ReleasePolicy
from policy.privacy_models import LKC, TCloseness
from tasks.counting import counted
from tasks.privacy.added import AddedCondition, added_conditions
from tasks.privacy.condition import Attribute, Condition
from tasks.privacy.diversity import Distinct, entropy
from tasks.privacy.partial_knowledge import held_by_each_class
from tasks.privacy.ranges import from_least
from tasks.privacy.registry import conditions_of
from tasks.privacy.shares import Alpha
from tasks.privacy.similar import any_of, groups_by_attribute
from tasks.privacy.value_tree import order_and_tree
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable


@dataclass(frozen=True)
class ValueLimits:
    """What a group's sensitive values must hold beside the privacy models, as in `Constraints`."""

    p_max: float
    h_min: float
    e: float
    spread: float = 0.0


@dataclass(frozen=True)
class SensitiveColumn:
    """One sensitive attribute of n records: `codes` (n,) into `n_values` values, any numbers, and the
    conditions of the policy's privacy models on it. `own` limits are in place of those of all attributes.
    `numbers` are less `least`, where doubles would not tell the numbers themselves apart.
    """

    codes: IntArray
    n_values: int
    numbers: FloatArray | None = None
    conditions: tuple[Condition, ...] = ()
    own: ValueLimits | None = None
    least: float = 0.0

    def take(self, records: IntArray) -> SensitiveColumn:
        """Return the attribute of some of the records, under the same conditions."""
        numbers = None if self.numbers is None else self.numbers[records]
        return replace(self, codes=self.codes[records], numbers=numbers)


@dataclass(frozen=True)
class Constraints:
    """What a group must hold: at least `k` records, and for each sensitive attribute a largest share of
    at most `p_max`, an entropy (natural logarithm) of at least `h_min`, and at least `e` distinct values
    (a numeric attribute: a range of at least `e`; Zhang et al., 2007), which is at least `spread` of the
    largest absolute value; and the conditions of its privacy models.

    With `person` (n,), whose a record is, all but the range is of people: a person counts once in a group,
    and once for each of the values that their records there have. With `weights` (n,), the people of the
    population that a record stands for, a group stands for at least `k_map` of them: of the records of one
    person the least counts. With `rows` (n,), a record stands for so many equal ones, each of which counts;
    there is no `person` then. Of a `fragment`, models compare with the whole table that it is part of.
    """

    k: int
    p_max: float
    h_min: float
    e: float
    columns: tuple[SensitiveColumn, ...]
    spread: float = 0.0
    person: IntArray | None = None
    weights: FloatArray | None = None
    k_map: float = 0.0
    fragment: bool = False
    rows: IntArray | None = None

    def limits_of(self, column: SensitiveColumn) -> ValueLimits:
        """Return the limits that an attribute is held to."""
        return column.own or ValueLimits(self.p_max, self.h_min, self.e, self.spread)

    def column_holds(
        self,
        column: SensitiveColumn,
        counts: IntArray,
        low: FloatArray | None,
        high: FloatArray | None,
        size: IntArray | None = None,
    ) -> BoolArray:
        """Tell for groups (...,) with value counts (..., m) whether one attribute's conditions hold.

        `size` (...,) counts the people where the counts are of people, of whom one may have several values.
        """
        size = counts.sum(axis=-1) if size is None else size
        limits = self.limits_of(column)
        holds = counts.max(axis=-1) <= limits.p_max * size + 1e-9
        if limits.h_min > 0:
            holds &= entropy(counts) >= limits.h_min - 1e-12
        if column.numbers is None:
            holds &= (counts > 0).sum(axis=-1) >= limits.e
        elif low is not None and high is not None:
            holds &= high - low >= limits.e
            if limits.spread > 0:
                largest = np.maximum(np.abs(high + column.least), np.abs(low + column.least))
                holds &= high - low >= limits.spread * largest - 1e-12
        for condition in column.conditions:
            holds &= condition.shortfall(counts, size) <= 0
        return np.asarray(holds & (size > 0))

    def group_holds(self, records: IntArray) -> bool:
        """Tell whether these records together are a valid group."""
        size = np.asarray(self.size(records))
        if size < self.k or self.stands_for(records) < self.k_map * (1 - 1e-12):
            return False
        for column in self.columns:
            counts = self.counts(column, records)
            low, high = number_range(column, records)
            if not bool(self.column_holds(column, counts, low, high, size)):
                return False
        return True

    def stands_for(self, records: IntArray) -> float:
        """Return how many people of the population these records stand for; 0 where no model asks that."""
        if self.weights is None:
            return 0.0
        weights = self.weights[records]
        if self.person is None:
            return float(weights.sum())
        order = np.lexsort([weights, self.person[records]])
        first = np.append(True, np.diff(self.person[records][order]) != 0)[: len(order)]
        return float(weights[order][first].sum())

    def take(self, records: IntArray) -> Constraints:
        """Return the constraints on some of the records."""
        person = None if self.person is None else self.person[records]
        weights = None if self.weights is None else self.weights[records]
        columns = tuple(one.take(records) for one in self.columns)
        rows = None if self.rows is None else self.rows[records]
        return replace(self, columns=columns, person=person, weights=weights, rows=rows)

    @property
    def compares(self) -> bool:
        """Whether a model compares a group with the whole table."""
        return any(one.compares for column in self.columns for one in column.conditions)

    def among(self, records: IntArray) -> Constraints:
        """Return the constraints on all records, in a table of these alone: some models compare with it."""
        if not self.compares or self.fragment:
            return self
        columns = []
        for column in self.columns:
            counts = self.counts(column, records)
            columns.append(replace(column, conditions=tuple(one.among(counts) for one in column.conditions)))
        return replace(self, columns=tuple(columns))

    def size(self, records: IntArray) -> int:
        """Return how many these records are to the model: people, or rows."""
        if self.person is not None:
            return len(np.unique(self.person[records]))
        return len(records) if self.rows is None else int(self.rows[records].sum())

    def counts(self, column: SensitiveColumn, records: IntArray) -> IntArray:
        """Return how often each value counts in a group of these records, (n_values,): of a person once."""
        codes = column.codes[records]
        if self.person is not None:
            codes = np.unique(self.person[records] * column.n_values + codes) % column.n_values
        return counted(codes, None if self.rows is None else self.rows[records], column.n_values)


def constraints_of(table: PreparedTable, policy: ReleasePolicy) -> Constraints:
    """Bind a policy's model, and those of its privacy models that count sensitive values, to a table.

    k^m and LKC are held by each group where the recoding says so (`held_by_each_class`).
    """
    privacy, models = policy.privacy, policy.gates.models
    by_each = held_by_each_class(policy.method.recoding)
    alone = (models.km, models.lkc) if by_each else ()
    k = max([privacy.k, *(model.k for model in (models.alpha_k, *alone) if model is not None)])
    sure = models.lkc if by_each else None
    asked, fraction = policy.gates.k_map, policy.linkage.sampling_fraction
    if asked is not None and fraction is not None:  # each of so many stands for as many
        k = max(k, ceil(asked.k * fraction * (1 - 1e-12)))
    bare = Constraints(
        k,
        privacy.p_max,
        privacy.h_min,
        privacy.e,
        (),
        privacy.spread,
        table.unit,
        weights=None if asked is None else table.weights,
        k_map=0.0 if asked is None or table.weights is None else asked.k,
        fragment=table.overall is not None,
        rows=table.rows,
    )
    missing = policy.source.missing_label
    groups = groups_by_attribute(policy.roles, table.sensitive_values, missing)
    columns: list[SensitiveColumn] = []
    for i, name in enumerate(table.sensitive_names):
        numbers, least = _numbers(table, i, missing)
        column = SensitiveColumn(
            table.sensitive[:, i].astype(np.int64),
            len(table.sensitive_values[name]),
            numbers,
            own=_own_limits(privacy, name),
            least=least,
        )
        bound = _with_models(bare, table, name, column, policy, sure)
        if name in groups:
            columns += _alike(bare, table, name, bound, policy, sure, groups[name])
        else:
            columns.append(bound)
    return replace(bare, columns=tuple(columns))


def _numbers(table: PreparedTable, place: int, missing: str) -> tuple[FloatArray | None, float]:
    """Return the numbers (n,) of a sensitive attribute, and what they are less."""
    name = table.sensitive_names[place]
    if name not in table.exact_numbers:
        return table.sensitive_numbers.get(name), 0.0
    texts = table.sensitive_values[name]
    numbers, least = from_least([None if text == missing else Decimal(text) for text in texts])
    return numbers[table.sensitive[:, place]], least


def overall_counts(table: PreparedTable) -> dict[str, IntArray]:
    """Return how many of a table's records, or of its people, have each sensitive value, (n_values,)."""
    everybody, found = np.arange(table.n_records), {}
    bare = Constraints(1, 1.0, 0.0, 0.0, (), person=table.unit, rows=table.rows)
    for i, name in enumerate(table.sensitive_names):
        column = SensitiveColumn(table.sensitive[:, i].astype(np.int64), len(table.sensitive_values[name]))
        found[name] = bare.counts(column, everybody)
    return found


def _alike(
    bare: Constraints,
    table: PreparedTable,
    name: str,
    column: SensitiveColumn,
    policy: ReleasePolicy,
    sure: LKC | None,
    groups: IntArray,
) -> list[SensitiveColumn]:
    """Return an attribute with similar values as one, and beside it the conditions on the values themselves.

    Those that compare shares with the whole table's look at each value, and so do those of other packages.
    """
    as_one = replace(
        column, codes=groups[column.codes], n_values=int(groups.max(initial=-1)) + 1, conditions=()
    )
    alike = _with_models(bare, table, name, as_one, policy, sure, groups)
    alone = tuple(one for one in alike.conditions if not one.compares)
    by_value = tuple(one for one in column.conditions if one.compares or isinstance(one, AddedCondition))
    found = [replace(alike, conditions=alone)]
    if by_value:
        nothing = ValueLimits(p_max=1.0, h_min=0.0, e=0.0)
        found.append(replace(column, conditions=by_value, own=nothing))
    return found


def _own_limits(privacy: Privacy, name: str) -> ValueLimits | None:
    if name not in privacy.attributes:
        return None
    own = privacy.of(name)
    return ValueLimits(own.p_max, own.h_min, own.e, own.spread)


def _with_models(
    bare: Constraints,
    table: PreparedTable,
    name: str,
    column: SensitiveColumn,
    policy: ReleasePolicy,
    sure: LKC | None,
    groups: IntArray | None = None,
) -> SensitiveColumn:
    """Return a sensitive attribute under the conditions that the privacy models set for it.

    Its codes are those of values, or of their `groups` (n_values,).
    """

    def attribute(model: Any) -> Attribute:
        if table.overall is not None and groups is None:
            counts = table.overall[name]
        else:
            counts = bare.counts(column, np.arange(table.n_records))
        numbers = None
        if column.numbers is not None:
            numbers = np.full(column.n_values, np.nan)
            numbers[column.codes] = column.numbers + column.least
        values = table.sensitive_values[name]
        chosen = (getattr(model, "values", None) or {}).get(name)
        protected = None if chosen is None else policy.roles.sensitive[name].with_similar(chosen)
        listed = [protected is None or value in protected for value in values]
        marked = any_of(np.array(listed, dtype=bool), groups)
        order, tree = numbers, None
        if isinstance(model, TCloseness):
            order, tree = order_and_tree(model, name, policy.roles.sensitive[name], values, numbers)
        return Attribute(counts, order, marked, tree)

    models = policy.gates.models.of(name)
    conditions = conditions_of(models, attribute)
    least = policy.privacy.own_least().get(name)
    if least is not None:  # what the comparison with earlier releases asks of a class by itself
        conditions = (*conditions, Distinct(least))
    if sure is not None:
        conditions = (*conditions, Alpha(sure.c, attribute(sure).listed))
    if groups is None:
        conditions = (*conditions, *added_conditions(models, lambda: attribute(None)).values())
    return replace(column, conditions=conditions)


def number_range(column: SensitiveColumn, records: IntArray) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the least and greatest number of these records, or None for a categorical attribute.

    Missing numbers are left out; where all are missing the range is empty (nan).
    """
    if column.numbers is None:
        return None, None
    known = column.numbers[records]
    known = known[~np.isnan(known)]
    if not len(known):
        return np.asarray(np.nan), np.asarray(np.nan)
    return np.asarray(known.min()), np.asarray(known.max())


def log_values(column: SensitiveColumn) -> float:
    """Return the largest entropy that the attribute can have; 1 where it has a single value."""
    return log(column.n_values) if column.n_values > 1 else 1.0
