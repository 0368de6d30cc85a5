"""Turn a validated table into arrays, without changing what will be published.

Missing values: of a categorical quasi-identifier or a sensitive attribute they are one value of their
own, `source.missing_label`; of a numeric quasi-identifier they stay missing, do not widen any
interval, and are imputed (median) in the features alone.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from expectations.numbers import as_numbers, number_text
from policy.errors import InputError
from policy.model import ReleasePolicy
from policy.text import number_of
from tasks.preprocessing.reduction import in_order, with_reduction
from tasks.types import FloatArray, IntArray, PreparedTable, SourceTable, code_type


def prepare(table: SourceTable, policy: ReleasePolicy) -> PreparedTable:
    """Return the source's quasi-identifiers and sensitive attributes as arrays. O(n) per column.

    A source that has different rows alone gives its distinct records, in the order of their values.

    Raises InputError where a numeric column is entirely missing or where the label for missing values
    is itself a value of the column.
    """
    roles = policy.roles
    frame = table.frame
    numeric_names = tuple(roles.numeric)
    numeric = np.empty((len(frame), len(numeric_names)), dtype=np.float64)
    for column, name in enumerate(numeric_names):
        numeric[:, column] = _numbers(frame, name)

    categorical_names = tuple(roles.categorical)
    domains: dict[str, tuple[str, ...]] = {}
    coded = []
    for name in categorical_names:
        found, domains[name] = _encode(frame, name, policy, roles.categorical[name].allowed)
        coded.append(found)
    codes = _side_by_side(coded, len(frame))

    sensitive_names = tuple(roles.sensitive)
    coded = []
    sensitive_values: dict[str, tuple[str, ...]] = {}
    sensitive_numbers: dict[str, FloatArray] = {}
    for name in sensitive_names:
        attribute = roles.sensitive[name]
        if attribute.type == "numeric":
            sensitive_numbers[name] = _without_minus(as_numbers(frame[name]))
        is_number = attribute.type == "numeric"
        order = None if is_number else attribute.allowed
        found, sensitive_values[name] = _encode(frame, name, policy, order, is_number=is_number)
        coded.append(found)
    sensitive = _side_by_side(coded, len(frame))

    published = frame[[*roles.kept]].copy()
    made = PreparedTable(
        frame=published,
        numeric_names=numeric_names,
        numeric=numeric,
        categorical_names=categorical_names,
        codes=codes,
        domains=domains,
        sensitive_names=sensitive_names,
        sensitive=sensitive,
        sensitive_values=sensitive_values,
        sensitive_numbers=sensitive_numbers,
        exact_numbers=frozenset(
            name for name in sensitive_numbers if not pd.api.types.is_numeric_dtype(frame[name])
        ),
        person=None
        if policy.rows == "one_per_person"
        else _numbers_of(frame, policy.roles.key, "key", "people"),
        household=_households(frame, policy),
        weights=None if roles.weight is None else as_numbers(frame[roles.weight]),
        identifying=_identifying(table, policy),
        draw_key=table.draw_key,
        rows=table.rows,
    )
    return with_reduction(made) if made.rows is None else in_order(made)


def _side_by_side(columns: list[np.ndarray], n: int) -> np.ndarray:
    """Return columns (n,) of codes as one array, (n, columns)."""
    kinds = [column.dtype for column in columns] or [np.dtype(np.int8)]
    found = np.empty((n, len(columns)), dtype=max(kinds, key=lambda kind: kind.itemsize), order="F")
    for number, column in enumerate(columns):
        found[:, number] = column
    return found


def _numbers_of(frame: pd.DataFrame, column: str | None, called: str, counted: str) -> IntArray | None:
    """Return whose each record is, by a column. Raises InputError for a record that is nobody's."""
    if column is None:
        return None
    codes, _ = pd.factorize(frame[column])
    if nobody := int((codes < 0).sum()):
        raise InputError(
            f"{number_of(nobody, 'row has', 'rows have')} no {called}, by which {counted} are counted",
            where=f"column '{column}'",
            hint=f"Give every row a {called}, or leave such rows out.",
        )
    return codes.astype(np.int64)


def _households(frame: pd.DataFrame, policy: ReleasePolicy) -> IntArray | None:
    """Return the household of each record. Raises InputError where somebody has several: k of them need not
    be k people.
    """
    household, key = policy.roles.household, policy.roles.key
    found = _numbers_of(frame, household, "household", "households")
    if found is not None and key is not None:
        whose = pd.factorize(frame[key])[0]
        known = whose >= 0
        both = np.unique(np.column_stack([whose[known], found[known]]), axis=0)
        several = int((np.bincount(both[:, 0]) > 1).sum()) if len(both) else 0
        if several:
            raise InputError(
                f"{number_of(several, 'person has', 'people have')} rows of several households",
                where=f"column '{household}'",
                hint="Give all rows of a person the same household.",
            )
    return found


def _identifying(table: SourceTable, policy: ReleasePolicy) -> pd.DataFrame | None:
    """Return key, household and identifiers; None where an identifier was not read."""
    roles = policy.roles
    known = table.frame if table.identifiers is None else pd.concat([table.frame, table.identifiers], axis=1)
    names = [*(name for name in (roles.key, roles.household) if name is not None), *roles.identifiers]
    return known[names] if set(names) <= {*known.columns} else None


def _numbers(frame: pd.DataFrame, name: str) -> FloatArray:
    values = _without_minus(frame[name].to_numpy(dtype=np.float64))
    if len(values) and np.isnan(values).all():
        raise InputError(
            "every value is missing",
            where=f"column '{name}'",
            hint="Give the column the role `dropped`, or correct the input.",
        )
    return values


def _without_minus(values: FloatArray) -> FloatArray:
    """Return numbers with 0 in place of -0: equal numbers are published alike."""
    return values + 0.0


def column_texts(column: pd.Series[Any], missing_label: str) -> tuple[IntArray, tuple[str, ...]]:
    """Return codes and the texts that they stand for, sorted; the missing are one value."""
    if pd.api.types.is_numeric_dtype(column):
        own, distinct = pd.factorize(column.to_numpy(dtype=np.float64, na_value=np.nan))
        texts = [number_text(value) for value in distinct]
    else:
        own, found = pd.factorize(column)
        texts = [*found]
    missing = [missing_label] if (own < 0).any() else []
    codes, names = pd.factorize(np.array([*texts, *missing], dtype=object), sort=True)
    return codes.astype(np.int64)[own], tuple(str(name) for name in names)


def _encode(
    frame: pd.DataFrame,
    name: str,
    policy: ReleasePolicy,
    order: tuple[str, ...] | None,
    *,
    is_number: bool = False,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return codes and the values present, in the policy's order where it gives one, else sorted."""
    column = frame[name]
    if pd.api.types.is_numeric_dtype(column):
        uniques = np.unique(column.dropna().to_numpy(dtype=np.float64))
        raw = np.searchsorted(uniques, column.to_numpy(dtype=np.float64))
        raw = np.where(column.isna(), -1, raw)
        present = [number_text(value) for value in uniques]
        ranked = np.arange(len(present))
    else:
        raw, found = pd.factorize(column, use_na_sentinel=True)
        present = [str(value) for value in found]
        place = {value: rank for rank, value in enumerate(order or ())}
        value_of = Decimal if is_number else str
        ranked = np.array(
            sorted(
                range(len(present)), key=lambda i: (place.get(present[i], len(place)), value_of(present[i]))
            ),
            dtype=int,
        )
    label = policy.source.missing_label
    missing = bool((raw < 0).any())
    if missing and label in present:
        raise InputError(
            f"the label for missing values, '{label}', is also a value",
            where=f"column '{name}'",
            hint="Choose another source.missing_label.",
        )
    rank_of = np.empty(len(present) + 1, dtype=code_type(len(present) + 1))
    rank_of[ranked] = np.arange(len(present))
    rank_of[-1] = len(present)
    values = tuple(present[i] for i in ranked) + ((label,) if missing else ())
    return rank_of[raw], values
