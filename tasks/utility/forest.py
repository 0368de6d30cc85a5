"""How well a random forest that learns from the published rows predicts a sensitive attribute of the source.

The source's records are split into 70% and 30%. One forest learns from the published rows about the 70%,
another from those records themselves, and both predict the 30% as they are in the source. A published
interval is its midpoint; a set is one column a value, each of its values with an equal share.
"""

from __future__ import annotations

import numpy as np

from tasks.types import FloatArray, IntArray
from tasks.utility.queries import value_shares
from tasks.utility.released import Released

TEST_SHARE = 0.3
MOST_ROWS = 20_000
TREES = 50
SMALLEST_LEAF = 5

FIGURES = ("forest", "forest_source", "forest_majority")


def forest_accuracy(released: Released, seed: int = 0) -> dict[str, float | None]:
    """Return the accuracy of the forest that learnt from the published rows, of the one that learnt from the
    source, and of always telling the most frequent value.

    The target is the first categorical sensitive attribute; None where there is none, or nothing to learn
    from. Tables of over 20,000 records to learn from are sampled. One thread; equal for a seed.
    """
    table = released.table
    targets = [name for name in table.sensitive_names if name not in released.numbers]
    order = np.random.default_rng(seed).permutation(table.n_records)
    n_test = round(TEST_SHARE * table.n_records)
    test, train = order[:n_test], np.sort(order[n_test:][:MOST_ROWS])
    taught = np.flatnonzero(np.isin(released.records, train))
    if not (targets and len(test) and len(taught)):
        return dict.fromkeys(FIGURES)
    name = targets[0]
    truth = np.array(table.sensitive_values[name], dtype=object)[
        table.sensitive[:, table.sensitive_names.index(name)]
    ]
    told = np.array(released.classes.sensitive_values[name], dtype=object)[released.values[name][taught]]
    source = _source_features(released)
    names, counts = np.unique(truth[train], return_counts=True)
    return {
        "forest": _accuracy(_published_features(released, taught), told, source[test], truth[test], seed),
        "forest_source": _accuracy(source[train], truth[train], source[test], truth[test], seed),
        "forest_majority": float((truth[test] == names[counts.argmax()]).mean()),
    }


def _accuracy(known: FloatArray, told: np.ndarray, asked: FloatArray, truth: np.ndarray, seed: int) -> float:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(TREES, min_samples_leaf=SMALLEST_LEAF, random_state=seed, n_jobs=1)
    return float((forest.fit(known, told).predict(asked) == truth).mean())


def _source_features(released: Released) -> FloatArray:
    table = released.table
    columns = [np.where(np.isnan(v), np.nanmedian(v), v)[:, None] for v in table.numeric.T]
    columns += [
        (codes[:, None] == np.arange(len(table.domains[name]))).astype(np.float64)
        for codes, name in zip(table.codes.T, table.categorical_names, strict=True)
    ]
    return np.concatenate(columns, axis=1)


def _published_features(released: Released, rows: IntArray) -> FloatArray:
    """Return the features of some published rows, in the columns of the source's."""
    table, classes, class_of = released.table, released.classes, released.class_of[rows]
    columns = [
        (released.noised[n][rows] if n in released.noised else classes.intervals[n].mean(axis=1)[class_of])[
            :, None
        ]
        for n in table.numeric_names
    ]
    columns += [value_shares(classes.sets[n], table.domains[n])[class_of] for n in table.categorical_names]
    return np.concatenate(columns, axis=1)
