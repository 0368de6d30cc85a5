"""Every published attribute before and after: counts of the source in bins, beside what was published.

Before are the values of the people who are published, and only those: nobody who is left out enters. They are
told to the nearest multiple of k, so that two releases do not differ by a few. Which counts are told, and
against which attacker, stands in `tasks.reporting.suppression`. Bins are made of published cells alone.
Numbers lie between round edges over the range that the cells show; where cells need not hold their people,
the outer bins are open. A value has a bin of its own only if a published cell names it: one that stands under
`*` alone, or in no cell, is counted with the other values. That there is such a value, or a missing number,
is told by the bin's being there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from policy.model import ReleasePolicy
from policy.recoding import Form
from tasks.counting import counted
from tasks.geometry.space import distinct_rows
from tasks.recoding.labels import labels_of
from tasks.reporting.certain import (
    Classes,
    classes_of,
    of_intervals,
    of_replaced,
    of_sets,
    of_sets_beside_noise,
)
from tasks.reporting.latent import latent_figures
from tasks.reporting.number_bins import NumberBins, number_bins
from tasks.reporting.suppression import Public, describe_suppression, nothing_certain, rounded
from tasks.reporting.value_bins import cells_of, value_bins
from tasks.types import FloatArray, IntArray, PreparedTable, Recoded, Representation

DECIMALS = 3


def table_figures(
    table: PreparedTable,
    rows: Recoded,
    representation: Representation,
    labels: IntArray,
    policy: ReleasePolicy,
) -> dict[str, Any]:
    """Return `attributes`, in the order of the published columns, and `latent` (`latent_figures`).

    `rows` are those that would be published of the source, `labels` (n,) its groups. An
    attribute has a `name`, a `role` (numeric, categorical, sensitive, kept) and `bins`, each with a `label`,
    `after`, how many published rows lie in it, and `before`, how many of their people to the nearest multiple
    of k, None where that is not told; `before_not_told` counts the people of those bins likewise. Sensitive
    and kept columns are published as they are: they have no `before_not_told`, and every `before` is None.

    A published interval is spread evenly over its numbers, a set over its values, `*` over all values that
    published cells name. The order of the rows does not matter. O(d) a column and O(d log d), of the d
    different rows.
    """
    published, records, times = rows.cells, rows.of_cells, rows.times
    if len(records) != len(published):
        raise ValueError("not one record a published row")
    attributes = []
    classes = classes_of(published, policy, times)
    for name in policy.roles.quasi_identifiers:
        if name in policy.roles.numeric:
            values = table.numeric[records, table.numeric_names.index(name)]
            attributes.append(_numeric(name, values, published, classes, policy))
        else:
            codes = table.codes[records, table.categorical_names.index(name)]
            attributes.append(_categorical(name, codes, table.domains[name], published, classes, policy))
    for role, names in (("sensitive", policy.roles.sensitive), ("kept", policy.roles.kept)):
        attributes += [_as_it_is(name, role, published[name], times, policy) for name in names]
    latent = latent_figures(representation, rows, labels, policy)
    return {"attributes": attributes, "latent": latent}


def _attribute(
    name: str, role: str, labels: list[str], readings: list[Public], counts: IntArray, least: int
) -> dict[str, Any]:
    shown = describe_suppression(counts, readings, least)
    untold = int(rounded(counts[~shown].sum(keepdims=True), least)[0])
    before = rounded(counts, least)
    bins = [
        {"label": label, "before": int(count) if is_told else None, "after": round(float(after), DECIMALS)}
        for label, count, is_told, after in zip(labels, before, shown, readings[0].after, strict=True)
    ]
    return {"name": name, "role": role, "bins": bins, "before_not_told": untold}


def _numeric(
    name: str, values: FloatArray, published: pd.DataFrame, classes: Classes, policy: ReleasePolicy
) -> dict[str, Any]:
    qi, form = policy.roles.numeric[name], policy.form(name)
    holds = form is Form.CONTAINS
    ends = (f"{name}_min", f"{name}_max") if holds else (name, name)
    low, high = (published[end].to_numpy(dtype=np.float64) for end in ends)
    missing = np.isnan(values)
    weight = np.ones(len(low), dtype=np.int64) if classes.times is None else classes.times
    bins = None
    labels: list[str] = []
    counts, after = np.zeros(0, dtype=np.int64), np.zeros(0)
    if len(low):
        bins = number_bins(low.min(), high.max(), whole=qi.type == "integer", is_open=not holds)
        labels = bins.labels
        counts = counted(bins.place(values[~missing]), weight[~missing], len(bins))
        if holds:
            after = _spread(bins, low, high, weight)
        else:
            after = counted(bins.place(low), weight, len(bins)).astype(np.float64)
    if missing.any():
        labels.append(policy.source.missing_label)
        counts, after = np.append(counts, weight[missing].sum()), np.append(after, 0.0)
    readings = [nothing_certain(after)]
    if bins and holds:
        closed = policy.method.reuse is not None or not policy.attained(name)
        readings = of_intervals(bins, classes, (low, high), values, after, closed=closed)
    elif bins and form is Form.REPLACED:
        readings = of_replaced(classes, values == low, bins.place(low), after)
    return _attribute(name, "numeric", labels, readings, counts, policy.privacy.k)


def _spread(bins: NumberBins, low: FloatArray, high: FloatArray, weight: IntArray) -> FloatArray:
    """Return the rows of each bin, in whatever order they are."""
    first, row_of = distinct_rows([low, high])
    order = np.lexsort([high[first], low[first]])
    rows = counted(row_of, weight, len(first))[order]
    return bins.spread(low[first][order], high[first][order], rows)


def _categorical(
    name: str,
    codes: IntArray,
    domain: tuple[str, ...],
    published: pd.DataFrame,
    classes: Classes,
    policy: ReleasePolicy,
) -> dict[str, Any]:
    cells = cells_of(published[name], labels_of(policy, name), classes.times)
    by_value = counted(codes, classes.times, len(domain))
    named = set(cells.names)
    unnamed = any(count and value not in named for value, count in zip(domain, by_value, strict=True))
    bins = value_bins(
        cells.names, cells.weight, missing=policy.source.missing_label, others=unnamed or not named
    )
    place, of_value = bins.place(cells.names), bins.place(domain)
    counts = _weighed(of_value, by_value, len(bins), ignored=True).astype(np.int64)
    after = _weighed(place, cells.weight, len(bins))
    if not named:
        after[bins.others] = cells.rows.sum()
    member = np.zeros((len(cells.rows), len(bins)), dtype=bool)
    member[cells.cell, place[cells.value]] = True
    member[cells.whole] = True
    if policy.form(name) is Form.CONTAINS:
        closed = policy.method.reuse is not None or not policy.attained(name)
        readings = of_sets(cells, member, classes, codes, of_value, after, closed=closed)
        if any(policy.form(number) is Form.NOISED for number in policy.roles.numeric):
            finer = classes_of(published, policy, classes.times, noised=True)
            readings.append(of_sets_beside_noise(cells, member, finer, codes, of_value, after))
    else:
        rank = {value: code for code, value in enumerate(domain)}
        stands = np.full(len(cells.rows), -1, dtype=np.int64)
        stands[cells.cell] = [rank.get(cells.names[value], -1) for value in cells.value]
        share = len(domain) if policy.method.recoding == "centroid" else 0
        representation = member.argmax(axis=1)[cells.of_row] if len(bins) else cells.of_row
        readings = of_replaced(classes, codes == stands[cells.of_row], representation, after, share=share)
    return _attribute(name, "categorical", list(bins.labels), readings, counts, policy.privacy.k)


def _as_it_is(
    name: str, role: str, column: pd.Series[Any], times: IntArray | None, policy: ReleasePolicy
) -> dict[str, Any]:
    """Return a column that is published as it is; a text has a bin of its own if k rows or more have it."""
    weight = np.ones(len(column), dtype=np.int64) if times is None else times
    missing_label, least = policy.source.missing_label, policy.privacy.k
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        missing = np.isnan(values)
        known = values[~missing]
        finite = known[np.isfinite(known)]
        labels, after = [], np.zeros(0)
        if len(known):
            low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
            bins = number_bins(
                float(low),
                float(high),
                whole=bool((finite == np.rint(finite)).all()),
                is_open=len(finite) < len(known),
            )
            labels = bins.labels
            after = counted(bins.place(known), weight[~missing], len(bins)).astype(np.float64)
        if missing.any():
            labels, after = [*labels, missing_label], np.append(after, weight[missing].sum())
    else:
        codes, found = pd.factorize(column, use_na_sentinel=True)
        texts = [*(str(each) for each in found), missing_label]
        place, names = pd.factorize(np.array(texts, dtype=object), sort=True)
        rows = counted(place[codes], weight, len(names))  # -1, a missing value, is the last
        named = (rows >= least) | ((names == missing_label) & (rows > 0))
        kept = np.flatnonzero(named)
        others = bool(rows[~named].any())
        chosen = value_bins(
            [str(names[i]) for i in kept], rows[kept].astype(np.float64), missing=missing_label, others=others
        )
        labels = list(chosen.labels)
        after = _weighed(chosen.place([str(name) for name in names]), rows, len(chosen), ignored=True)
    bins_told = [
        {"label": label, "before": None, "after": round(float(n), DECIMALS)}
        for label, n in zip(labels, after, strict=True)
    ]
    return {"name": name, "role": role, "bins": bins_told}


def _weighed(place: IntArray, weight: np.ndarray, n_bins: int, *, ignored: bool = False) -> FloatArray:
    """Return the weight in each bin; where `ignored`, what has no bin has no weight."""
    known = place >= 0
    if not ignored and not known.all():
        raise ValueError("a value without a bin")
    return np.bincount(place[known], weights=weight[known], minlength=n_bins).astype(np.float64)
