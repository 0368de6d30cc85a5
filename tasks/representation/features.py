"""Scaled attributes: what distances are taken in, and what the autoencoder sees."""

from __future__ import annotations

from typing import Literal

import numpy as np

from policy.errors import PolicyError
from tasks.types import FloatArray, IntArray, PreparedTable

MOST_BYTES = 2_500_000_000

Encoding = Literal["one-hot", "integer"]


def z_scored(table: PreparedTable, *, encoding: Encoding = "one-hot", clip: float = 0.01) -> FloatArray:
    """Return features (n, d): imputed, clipped, z-scored numbers, then the encoded categories.

    `clip` is the share cut off at either end of each numeric attribute. Only the features are
    imputed and clipped; published intervals come from the true values (Hu et al., 2026, section 4.3).
    With `integer`, a category is its z-scored code, as in the paper. Means and quantiles are those of the
    rows that the records stand for. Raises PolicyError where one-hot features would take more than 2.5 GB.
    """
    if encoding == "one-hot":
        _check_width(table)
    rows = table.rows
    columns = [_z(_clipped(imputed(values, rows), clip, rows), rows) for values in table.numeric.T]
    if encoding == "integer":
        columns += [_z(codes.astype(np.float64), rows) for codes in table.codes.T]
        return np.column_stack(columns)
    blocks = [np.column_stack(columns)] if columns else []
    blocks += [_one_hot(codes, len(table.domains[n])) for n, codes in _coded(table)]
    return np.concatenate(blocks, axis=1)


def _check_width(table: PreparedTable) -> None:
    """Raise PolicyError where one column a value would not fit in memory, before any work is done."""
    width = len(table.numeric_names) + sum(len(domain) for domain in table.domains.values())
    if 8 * width * table.n_records > MOST_BYTES:
        raise PolicyError(
            f"one-hot features of {width} columns and {table.n_records} records would take "
            f"{8e-9 * width * table.n_records:.0f} GB",
            where="method.parameters.encoding",
            hint="Set `encoding: integer`, or group the values of the widest quasi-identifier.",
        )


def unit_ranges(table: PreparedTable) -> FloatArray:
    """Return (n, p + q): numbers and codes, each scaled to [0, 1] over the table (classic Mondrian)."""
    columns = [_unit(imputed(values, table.rows)) for values in table.numeric.T]
    columns += [_unit(codes.astype(np.float64)) for codes in table.codes.T]
    return np.column_stack(columns)


def ranks(table: PreparedTable) -> FloatArray:
    """Return (n, d): numbers as ranks in [0, 1], and categories at half their one-hot weight."""
    blocks = [_ranked(imputed(values))[:, None] for values in table.numeric.T]
    blocks += [0.5 * _one_hot(codes, len(table.domains[n])) for n, codes in _coded(table)]
    return np.concatenate(blocks, axis=1)


def _coded(table: PreparedTable) -> list[tuple[str, np.ndarray]]:
    return list(zip(table.categorical_names, table.codes.T, strict=True))


def imputed(values: FloatArray, rows: IntArray | None = None) -> FloatArray:
    """Return numbers (n,) with the median in place of missing ones; 0 where a fragment has no number.

    A record may stand for several `rows` (n,).
    """
    missing = np.isnan(values)
    if not missing.any():
        return values
    known = _of_rows(values[~missing], None if rows is None else rows[~missing])
    return np.where(missing, 0.0 if missing.all() else np.median(known), values)


def _of_rows(values: FloatArray, rows: IntArray | None) -> FloatArray:
    """Return the values of all rows that records stand for."""
    return values if rows is None else np.repeat(values, rows)


def _clipped(values: FloatArray, share: float, rows: IntArray | None) -> FloatArray:
    low, high = np.quantile(_of_rows(values, rows), [share, 1 - share])
    # A long constant stretch would clip the attribute to one value: then it stays as it is.
    return np.clip(values, low, high) if low < high else values


def _z(values: FloatArray, rows: IntArray | None) -> FloatArray:
    every = _of_rows(values, rows)
    spread = every.std()
    return np.asarray((values - every.mean()) / (spread if spread > 0 else 1.0))


def _unit(values: FloatArray) -> FloatArray:
    span = values.max() - values.min()
    return np.asarray((values - values.min()) / (span if span > 0 else 1.0))


def _ranked(values: FloatArray) -> FloatArray:
    distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    return middle[place] / len(values) if len(distinct) > 1 else np.zeros(len(values))


def _one_hot(codes: np.ndarray, n_values: int) -> FloatArray:
    return np.asarray(codes[:, None] == np.arange(n_values), dtype=np.float64)
