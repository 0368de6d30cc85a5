"""Whether the whole table can hold the policy's model: where it cannot, no method can.

Counts of values of a part are those of the whole at most, and the share of the most frequent value, or the
entropy, of some part is no better than that of the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from expectations.numbers import as_numbers
from policy.model import Privacy, ReleasePolicy
from policy.roles import SensitiveAttribute
from policy.text import number_of
from tasks.privacy.diversity import entropy
from tasks.privacy.similar import groups_of
from tasks.types import FloatArray, IntArray, SourceTable
from tasks.validation.check import ExpectationResult
from tasks.validation.feasible_models import FIELD, added_missed, largest_k, models_missed

NAME = "expect_table_to_hold_the_model"


def feasible(table: SourceTable, policy: ReleasePolicy) -> list[ExpectationResult]:
    """Return a result for k and one for each sensitive attribute; a missing value is one of its own. O(n).

    Where people or households are counted, one may be in several classes. Then entropies say nothing of all
    classes together, and a share says something beside the number of rows alone, which classes have at most.
    """
    rows, privacy = len(table.frame), policy.privacy
    key, people, counted = units_of(table, policy)
    models = policy.gates.models
    field, k = max(("privacy.k", privacy.k), largest_k(models), key=lambda each: each[1])
    said = f"the table of {people} {counted} has fewer than {field} ({k})" if people < k else ""
    found = [_result(None, rows, said, f"Give more {counted}, or lower {field}.")]
    if key is not None and (models.km is not None or models.lkc is not None):
        said = f"{FIELD}.{'lkc' if models.km is None else 'km'} adds up rows, and {counted} are counted"
        found.append(_result(None, rows, said, "Leave the model out, or count rows."))
    if policy.gates.k_map is not None:
        stands_for, least = _stands_for(table, policy), policy.gates.k_map.k
        said = f"all rows together stand for {stands_for:,.0f} people, fewer than gates.k_map.k ({least})"
        short = stands_for < least * (1 - 1e-12)  # no number, where a weight is none: another check says so
        found.append(_result(None, rows, said if short else "", "Lower gates.k_map.k."))
    for name in policy.roles.sensitive:
        said, section = _missed(table, policy, name, key, people, counted)
        found.append(
            _result(name, rows, said, f"No class can satisfy it: correct the input, or change {section}.")
        )
    return found


def units_of(table: SourceTable, policy: ReleasePolicy) -> tuple[str | None, int, str]:
    """Return the column that names what k counts, None for rows; how many of these there are, and a word."""
    if policy.roles.household is not None:
        key, counted = policy.roles.household, "households"
    elif policy.rows == "several" and policy.roles.key is not None:
        key, counted = policy.roles.key, "people"
    else:
        return None, len(table.frame), "rows"
    return key, int(table.frame[key].nunique()), counted


def _stands_for(table: SourceTable, policy: ReleasePolicy) -> float:
    """Return how many people of the population all rows stand for; a person's several rows count once."""
    weight, fraction = policy.roles.weight, policy.linkage.sampling_fraction
    whose = table.frame[policy.roles.key] if policy.rows == "several" and policy.roles.key else None
    if weight is None or fraction is not None:
        return (len(table.frame) if whose is None else int(whose.nunique())) / (fraction or 1.0)
    weights = pd.to_numeric(table.frame[weight], errors="coerce")
    return float((weights if whose is None else weights.groupby(whose).min()).sum(skipna=False))


def _missed(
    table: SourceTable, policy: ReleasePolicy, name: str, key: str | None, people: int, counted: str
) -> tuple[str, str]:
    """Return what no class can satisfy of an attribute, "" if there is nothing, and the policy's section."""
    rows, models, attribute = len(table.frame), policy.gates.models, policy.roles.sensitive[name]
    own, place = policy.privacy.of(name), partial(policy.privacy.place, name)
    counts, values = _counts(table, policy, name, key)
    said = _too_few(table, attribute, name, len(counts), own, place)
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
    said = models_missed(name, attribute, counts, values, people, counted, models, table_rows)
    if not said and models.added and key is None:
        said = added_missed(name, *_each_value(table, policy, name), people, models)
    return said, FIELD


def _too_few(
    table: SourceTable,
    attribute: SensitiveAttribute,
    name: str,
    n_values: int,
    own: Privacy,
    place: Callable[[str], str],
) -> str:
    """Say that an attribute has too few values, or too narrow a range; "" where it has not."""
    column = table.frame[name]
    if attribute.type == "numeric" and column.dtype.kind == "f":
        known = column.dropna()
        span = float(known.max() - known.min()) if len(known) else 0.0
        if span < own.e:
            return f"'{name}' ranges over less than {place('e')} ({own.e:g})"
        if span < own.spread * float(known.abs().max()) - 1e-12:
            return f"'{name}' ranges over less than {place('spread')} ({own.spread:g}) of its largest value"
    elif n_values < own.e:
        distinct = number_of(n_values, "distinct value")
        return f"'{name}' has {distinct}, fewer than {place('e')} ({own.e:g})"
    return ""


def _counts(
    table: SourceTable, policy: ReleasePolicy, name: str, key: str | None
) -> tuple[IntArray, list[frozenset[str]]]:
    """Return how many rows have each value, (m,), and the values; similar ones are one.

    With a `key`, people are counted.
    """
    codes, distinct = pd.factorize(table.frame[name], use_na_sentinel=False)
    missing = policy.source.missing_label
    texts = [missing if pd.isna(value) else str(value) for value in distinct]
    groups = groups_of(policy.roles.sensitive[name], texts, missing)
    if groups is not None:
        codes = groups[codes]
    if key is not None:
        whose = pd.factorize(table.frame[key])[0]
        codes = codes[np.unique(np.column_stack([whose, codes]), axis=0, return_index=True)[1]]
    n_values = len(texts) if groups is None else int(groups.max(initial=-1)) + 1
    of_group = np.arange(len(texts)) if groups is None else groups
    values: list[set[str]] = [set() for _ in range(n_values)]
    for text, group in zip(texts, of_group.tolist(), strict=True):
        values[group].add(text)
    return np.bincount(codes, minlength=n_values), [frozenset(each) for each in values]


def _each_value(table: SourceTable, policy: ReleasePolicy, name: str) -> tuple[IntArray, FloatArray | None]:
    """Return how many rows have each value, (m,), similar or not, and the numbers of a numeric attribute."""
    codes, distinct = pd.factorize(table.frame[name], use_na_sentinel=False)
    numeric = policy.roles.sensitive[name].type == "numeric"
    numbers = as_numbers(pd.Series(distinct)) if numeric else None
    return np.bincount(codes), numbers


def _result(column: str | None, rows: int, said: str, hint: str) -> ExpectationResult:
    return ExpectationResult(NAME, column, not said, None, rows, said, hint if said else "")
