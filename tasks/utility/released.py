"""Published rows beside the source that they come from: what every measure of utility is taken on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from expectations.numbers import as_numbers, number_text
from policy.model import ReleasePolicy
from policy.recoding import Form
from release_store.records import EquivalenceClasses, SetCells
from tasks.geometry.space import distinct_rows
from tasks.privacy.similar import groups_by_attribute, together
from tasks.recoding.labels import Labels, labels_of, read_cell
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable


@dataclass(frozen=True)
class Released:
    """m published rows of a table of n records.

    `classes` are the rows with equal cells, `class_of` (m,) the class of each row, `records` (m,) the
    record that it is about, `groups` (m,) the method's own group of that record. The cells of the
    quasi-identifiers in `replaced` are values put in place of those of the class's people. `noised[qi]`
    (m,) holds the values of a quasi-identifier that differs from row to row; it has no cell in `classes`.
    `numbers[attribute]` (m,) are the published values of a numeric sensitive attribute, `values[attribute]`
    (m,) places in `classes.sensitive_values[attribute]`.
    """

    policy: ReleasePolicy
    table: PreparedTable
    classes: EquivalenceClasses
    class_of: IntArray
    records: IntArray
    groups: IntArray
    noised: dict[str, FloatArray]
    numbers: dict[str, FloatArray]
    values: dict[str, IntArray]

    @property
    def n_published(self) -> int:
        """How many rows are published."""
        return len(self.class_of)

    @property
    def n_suppressed(self) -> int:
        """How many records of the source are not published."""
        return self.table.n_records - len(self.class_of)

    @property
    def untrue(self) -> frozenset[str]:
        """The quasi-identifiers whose cells stand in place of their people's values, and need not hold
        them.
        """
        return self.classes.replaced | self.noised.keys()

    @cached_property
    def person(self) -> IntArray | None:
        """Whose each row is, (m,), where a person may have several."""
        return None if self.table.person is None else self.table.person[self.records]

    @cached_property
    def counted(self) -> EquivalenceClasses:
        """The classes with the people in them: `classes`, where each row is another person's."""
        return self._counted(self.person, {})

    @cached_property
    def units(self) -> EquivalenceClasses:
        """The classes as the privacy model counts: with the households in them, else the people."""
        return self._counted(self._unit, {}) if self.table.household is not None else self.counted

    @cached_property
    def units_alike(self) -> EquivalenceClasses:
        """The same, with similar sensitive values as one; `sensitive_values` stays."""
        return self._counted(self._unit, self.similar) if self.similar else self.units

    @cached_property
    def alike(self) -> EquivalenceClasses:
        """The classes with the people in them, and similar sensitive values as one."""
        return self._counted(self.person, self.similar) if self.similar else self.counted

    @cached_property
    def similar(self) -> dict[str, IntArray]:
        """The groups of similar values of each attribute that has any, (n_values,)."""
        values, missing = self.classes.sensitive_values, self.policy.source.missing_label
        return groups_by_attribute(self.policy.roles, values, missing)

    @property
    def _unit(self) -> IntArray | None:
        return None if self.table.unit is None else self.table.unit[self.records]

    def _counted(self, whose: IntArray | None, groups: dict[str, IntArray]) -> EquivalenceClasses:
        """Return the classes with those counted `whose` (m,) rows they have, once for a group of values."""
        if whose is None:
            counted = self.classes.counts
            as_one = {name: together(counted[name], of) for name, of in groups.items()}
            return replace(self.classes, counts={**counted, **as_one}) if groups else self.classes
        whose = pd.factorize(whose)[0].astype(np.int64)
        both = self.class_of * (int(whose.max(initial=0)) + 1) + whose
        n_classes = self.classes.n_classes
        _, first, place = np.unique(both, return_index=True, return_inverse=True)
        counts: dict[str, IntArray] = {}
        for name, codes in self.values.items():
            n_values = max(len(self.classes.sensitive_values[name]), 1)
            group = np.arange(n_values)
            if name in groups:
                group, n_values = groups[name], int(groups[name].max(initial=0)) + 1
            once = np.unique(place.reshape(-1) * n_values + group[codes])
            flat = self.class_of[first][once // n_values] * n_values + once % n_values
            counts[name] = np.bincount(flat, minlength=n_classes * n_values).reshape(n_classes, n_values)
        size = np.bincount(self.class_of[first], minlength=n_classes)
        return replace(self.classes, size=size, counts=counts)

    @cached_property
    def by_class(self) -> tuple[IntArray, IntArray]:
        """The rows in the order of their classes, (m,), and where each class begins, (n_classes,)."""
        size = self.classes.size
        return np.argsort(self.class_of, kind="stable"), np.cumsum(size) - size

    @property
    def all_true(self) -> bool:
        """Whether every cell holds the values of its people."""
        return not self.untrue


def released(
    frame: pd.DataFrame, records: IntArray, labels: IntArray, table: PreparedTable, policy: ReleasePolicy
) -> Released:
    """Read the classes from the published `frame` (m rows, about `records`), as `read_classes` does of a
    file.

    `labels` (n,) are the method's groups. Classes are numbered by their first row. O(m) a column.
    """
    numbers: dict[str, FloatArray] = {}
    bounds: dict[str, FloatArray] = {}
    noised: dict[str, FloatArray] = {}
    sets: dict[str, SetCells] = {}
    columns: list[np.ndarray] = []
    for name in policy.roles.quasi_identifiers:
        form = policy.form(name)
        if name not in policy.roles.numeric:
            codes, _ = pd.factorize(frame[name])
            columns.append(codes)
        elif form is Form.NOISED:
            noised[name] = frame[name].to_numpy(dtype=np.float64)
        else:
            ends = (name, name) if form is Form.REPLACED else (f"{name}_min", f"{name}_max")
            bounds[name] = np.column_stack([frame[end].to_numpy(dtype=np.float64) for end in ends])
            columns += list(bounds[name].T)
    first, class_of = distinct_rows(columns) if columns else _one_class(len(frame))
    for name in policy.roles.categorical:
        sets[name] = _set_cells(frame[name].iloc[first], labels_of(policy, name))
    size = np.bincount(class_of, minlength=len(first)).astype(np.int64)
    values: dict[str, IntArray] = {}
    texts: dict[str, tuple[str, ...]] = {}
    counts: dict[str, IntArray] = {}
    for name, attribute in policy.roles.sensitive.items():
        values[name], texts[name] = _texts(frame[name], policy.source.missing_label)
        if attribute.type == "numeric":
            numbers[name] = as_numbers(frame[name])
        flat = np.bincount(
            class_of * max(len(texts[name]), 1) + values[name], minlength=len(first) * len(texts[name])
        )
        counts[name] = flat.reshape(len(first), len(texts[name])).astype(np.int64)
    replaced = frozenset(n for n in policy.roles.quasi_identifiers if policy.form(n) is Form.REPLACED)
    classes = EquivalenceClasses(
        size, {name: cells[first] for name, cells in bounds.items()}, sets, texts, counts, replaced
    )
    return Released(policy, table, classes, class_of, records, labels[records], noised, numbers, values)


def _one_class(n: int) -> tuple[IntArray, IntArray]:
    """Return the one class of rows of which every quasi-identifier was noised."""
    return np.zeros(min(n, 1), dtype=np.int64), np.zeros(n, dtype=np.int64)


def _set_cells(cells: pd.Series[str], labels: Labels | None) -> SetCells:
    codes, texts = pd.factorize(cells)
    read = [read_cell(str(text), labels) for text in texts]
    domain = tuple(sorted({value for values in read if values is not None for value in values}))
    rank = {value: i for i, value in enumerate(domain)}
    member = np.zeros((len(read), len(domain)), dtype=bool)
    whole: BoolArray = np.array([values is None for values in read], dtype=bool)
    for i, values in enumerate(read):
        member[i, slice(None) if values is None else [rank[value] for value in values]] = True
    return SetCells(domain, member[codes], whole[codes])


def _texts(column: pd.Series[str], missing_label: str) -> tuple[IntArray, tuple[str, ...]]:
    """Return codes and the texts that they stand for, sorted; the missing are one value."""
    codes, found = pd.factorize(column, use_na_sentinel=True)
    if pd.api.types.is_numeric_dtype(column):
        texts = [number_text(float(value)) for value in found]
    else:
        texts = [str(value) for value in found]
    texts.append(missing_label)
    place, names = pd.factorize(np.array(texts, dtype=object)[codes], sort=True)
    return place.astype(np.int64), tuple(str(name) for name in names)
