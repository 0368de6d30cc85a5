"""Relative error of random queries (Riyana, 2025, eq. 5 and 6, and the sixth experiment of section 4.2).

A query's number of rows is a result of eq. 6, |n(v) - n(v0)| / n(v); the average of a numeric sensitive
attribute over them, the paper's own query, one of eq. 5, |v - v0| / |v|. v is of the source, v0 what the
published rows are expected to give. Queries that nobody answers in the source, and averages that are 0
there, have no relative error and are left out. Where the published rows give no average, the error is 1.
"""

from __future__ import annotations

import numpy as np

from tasks.types import FloatArray
from tasks.utility.queries import KINDS, Queries, answers, draw_queries, expected
from tasks.utility.released import Released


def query_error(released: Released) -> dict[str, float | None]:
    """Return for each kind of query the mean relative error of the counts and of the averages.

    None where no such query can be asked: no numeric quasi-identifier for ranges, no numeric sensitive
    attribute for averages (of several, the mean).
    """
    found: dict[str, float | None] = {}
    for kind in KINDS:
        queries = draw_queries(released, kind)
        counts, averages = (None, None) if queries is None else errors_of(queries, released)
        found[f"error_{kind}"] = counts
        found[f"error_{kind}_average"] = averages
    return found


def errors_of(queries: Queries, released: Released) -> tuple[float | None, float | None]:
    """Return the mean relative error of the counts, and of the averages."""
    table = released.table
    sensitive = {name: table.sensitive_numbers[name] for name in released.numbers}
    # One line for the number of rows, then two an attribute: its sum and how many of its values are known.
    source = [np.ones(table.n_records), *(line for v in sensitive.values() for line in _sum_and_known(v))]
    rows = [
        np.ones(released.n_published),
        *(line for v in released.numbers.values() for line in _sum_and_known(v)),
    ]
    if not released.noised:
        n_classes = released.classes.n_classes
        rows = [np.bincount(released.class_of, w, n_classes).astype(np.float64) for w in rows]
    truth = np.concatenate(
        [np.stack([(held * w).sum(axis=1) for w in source]) for _, held in answers(queries, table)], axis=1
    )
    guess = np.concatenate(
        [np.stack([(chance * w).sum(axis=1) for w in rows]) for _, chance in expected(queries, released)],
        axis=1,
    )
    averages = [
        _relative(_average(truth[i], truth[i + 1]), _average(guess[i], guess[i + 1]))
        for i in range(1, len(truth), 2)
    ]
    told = [error for error in averages if error is not None]
    return _relative(truth[0], guess[0]), float(np.mean(told)) if told else None


def _sum_and_known(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    known = ~np.isnan(values)
    return np.where(known, values, 0.0), known.astype(np.float64)


def _average(total: FloatArray, known: FloatArray) -> FloatArray:
    """Return the averages (Q,); nan where no value is known."""
    return np.where(known > 0, total / np.where(known > 0, known, 1.0), np.nan)


def _relative(truth: FloatArray, guess: FloatArray) -> float | None:
    asked = np.nan_to_num(truth) != 0
    if not asked.any():
        return None
    error = np.abs(truth[asked] - guess[asked]) / np.abs(truth[asked])
    return float(np.nan_to_num(error, nan=1.0).mean())
