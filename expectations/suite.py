"""The expectation suite of a policy: what a period's table must meet before any work is done on it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from expectations.number_text import NOT_WHOLE_HINT
from expectations.numbers import as_numbers
from expectations.quiet import quiet
from policy.errors import PolicyError
from policy.model import ReleasePolicy
from policy.text import number_of

# A share such as 1 - 0.58 is not exact in binary: a count that meets it exactly must pass.
ROUNDING = 1e-9


@dataclass(frozen=True)
class LastRelease:
    """What is known of the series' last release: its records, and its counts by sensitive value."""

    n_rows: int
    sensitive: dict[str, dict[str, int]]


def build_suite(policy: ReleasePolicy, last: LastRelease | None) -> Any:
    """Return the policy's great_expectations.ExpectationSuite; `last` is None before the first release.

    Each expectation's `meta` holds `column` (None for the table), `what` (what is said of rows, column or
    table where it fails), `mend`, and `number`, its place in the suite. Raises PolicyError where
    `expectations.missing_in` names a column that is not in the frame.
    """
    _check_missing_in(policy)
    with quiet():
        from great_expectations import ExpectationSuite

        expectations = []
        for number, (kind, column, arguments, what, hint) in enumerate(_expectations(policy, last)):
            about = {} if column is None else {"column": column}
            meta = {"column": column, "what": what, "mend": hint, "number": number}
            expectations.append(kind(**about, **arguments, meta=meta))
        return ExpectationSuite(name=policy.series, expectations=expectations)


def _check_missing_in(policy: ReleasePolicy) -> None:
    for name in policy.expectations.missing_in:
        if name not in policy.roles.columns_read():
            raise PolicyError(
                f"'{name}' is an identifier or dropped, and is not read",
                where="expectations.missing_in",
                hint="Remove it there.",
            )


Expected = tuple[Any, str | None, dict[str, Any], str, str]
"""An expectation's class, column, arguments, and the words for its failure and mend."""


def _expectations(policy: ReleasePolicy, last: LastRelease | None) -> Iterator[Expected]:
    yield from _of_table(policy, last)
    yield from _of_key(policy)
    yield from _of_household(policy)
    yield from _of_weight(policy)
    yield from _of_quasi_identifiers(policy)
    yield from _of_sensitive(policy, last)
    yield from _of_kept(policy)
    yield from _of_missing(policy)


def _of_table(policy: ReleasePolicy, last: LastRelease | None) -> Iterator[Expected]:
    from great_expectations import expectations as gxe

    names = policy.roles.columns_read()
    yield (
        gxe.ExpectTableColumnsToMatchOrderedList,
        None,
        {"column_list": names},
        "does not have exactly the columns of the policy's roles",
        "Give every column of the input a role.",
    )
    rows = policy.expectations.rows
    most = "any number" if rows.max is None else f"{rows.max}"
    yield (
        gxe.ExpectTableRowCountToBeBetween,
        None,
        {"min_value": rows.min, "max_value": rows.max},
        f"has a number of rows outside {rows.min} to {most}",
        "Check that the input covers the whole period, or change expectations.rows.",
    )
    if rows.drift is not None and last is not None:
        least = max(0, math.ceil(last.n_rows * (1 - rows.drift) - ROUNDING))
        most_rows = math.floor(last.n_rows * (1 + rows.drift) + ROUNDING)
        yield (
            gxe.ExpectTableRowCountToBeBetween,
            None,
            {"min_value": least, "max_value": most_rows},
            (
                f"drifts too far from the last release's {number_of(last.n_rows, 'row')}: "
                f"{least:,} to {most_rows:,} are allowed"
            ),
            "Check that the input covers the whole period, or change expectations.rows.drift.",
        )


def _of_key(policy: ReleasePolicy) -> Iterator[Expected]:
    from great_expectations import expectations as gxe

    key = policy.roles.key
    if key is None:
        return
    yield _text(key)
    if policy.rows == "one_per_person" and policy.expectations.unique_key:
        hint = "Give one row per person, or set rows: several to count people."
        yield gxe.ExpectColumnValuesToNotBeNull, key, {}, "have no key", hint
        yield gxe.ExpectColumnValuesToBeUnique, key, {}, "share their key with another row", hint


def _of_household(policy: ReleasePolicy) -> Iterator[Expected]:
    from great_expectations import expectations as gxe

    household = policy.roles.household
    if household is not None:
        yield _text(household)
        hint = "Give every row a household, of its own for who lives alone, or remove roles.household."
        yield gxe.ExpectColumnValuesToNotBeNull, household, {}, "have no household", hint


def _of_weight(policy: ReleasePolicy) -> Iterator[Expected]:
    from great_expectations import expectations as gxe

    from expectations import custom

    weight = policy.roles.weight
    if weight is None:
        return
    hint = "Give every row the number of people that it stands for, or remove roles.weight."
    yield gxe.ExpectColumnValuesToNotBeNull, weight, {}, "have no weight", hint
    no_number = "hold a weight that is no finite number"
    yield custom.ExpectColumnValuesToBeFiniteNumbers, weight, {}, no_number, hint
    over_zero = {"smallest": math.nextafter(0, 1), "largest": sys.float_info.max}
    yield custom.ExpectColumnNumbersToBeWithin, weight, over_zero, "hold a weight that is not over 0", hint


def _of_quasi_identifiers(policy: ReleasePolicy) -> Iterator[Expected]:
    from expectations import custom

    for name, qi in policy.roles.numeric.items():
        field = f"roles.quasi_identifiers.{name}"
        yield _number(name)
        if qi.type == "integer":
            yield (
                custom.ExpectColumnNumbersToBeWhole,
                name,
                {},
                "hold a number that is not whole, or one of 2^53 or more",
                NOT_WHOLE_HINT.format(field=field),
            )
        smallest, largest = qi.bounds
        yield (
            custom.ExpectColumnNumbersToBeWithin,
            name,
            {"smallest": smallest, "largest": largest},
            f"lie outside the bounds {smallest:g} to {largest:g}",
            f"Correct the input, or change {field}.bounds.",
        )
    for name, category in policy.roles.categorical.items():
        yield _text(name)
        if category.allowed is not None:
            yield _allowed(name, list(category.allowed), f"roles.quasi_identifiers.{name}")


def _of_sensitive(policy: ReleasePolicy, last: LastRelease | None) -> Iterator[Expected]:
    from expectations import custom

    for name, attribute in policy.roles.sensitive.items():
        numeric = attribute.type == "numeric"
        yield _number(name) if numeric else _text(name)
        if attribute.allowed is not None:
            values: list[str | float] = list(attribute.allowed)
            if numeric:
                # 5 in the policy is 5.0 in a column of numbers, and "5" in one that stayed text.
                values += as_numbers(pd.Series(attribute.allowed, dtype="str")).tolist()
            yield _allowed(name, values, f"roles.sensitive.{name}")
        limit = policy.expectations.sensitive_drift
        if limit is not None and last is not None and name in last.sensitive:
            yield (
                custom.ExpectColumnTotalVariationToBeAtMost,
                name,
                {
                    "reference": last.sensitive[name],
                    "missing_label": policy.source.missing_label,
                    "max_distance": limit + ROUNDING,
                },
                f"drifts from the last release by a total variation distance over {limit:g}",
                "Check the input, or change expectations.sensitive_drift.",
            )


def _of_kept(policy: ReleasePolicy) -> Iterator[Expected]:
    for name in policy.roles.kept:
        yield _text(name)
        if name in policy.roles.kept_values:
            yield _allowed(name, list(policy.roles.kept_values[name]), f"roles.kept_values.{name}")


def _of_missing(policy: ReleasePolicy) -> Iterator[Expected]:
    from great_expectations import expectations as gxe

    wanted = policy.expectations
    for name in policy.roles.columns_read():
        if name == policy.roles.key and name not in wanted.missing_in:
            continue
        if name in (policy.roles.unpublished_weight, policy.roles.household):
            continue
        share = wanted.missing_in.get(name, wanted.missing)
        yield (
            gxe.ExpectColumnValuesToNotBeNull,
            name,
            {"mostly": max(0.0, 1 - share - ROUNDING)},
            f"are missing; the limit is {100 * share:g}%",
            f"Correct the input, or set expectations.missing_in.{name}.",
        )


def _number(name: str) -> Expected:
    from expectations import custom

    hint = "Write numbers as 12, -3.5 or 1e3; source.missing names what stands for missing."
    return custom.ExpectColumnValuesToBeFiniteNumbers, name, {}, "hold no finite number", hint


def _text(name: str) -> Expected:
    from expectations import custom

    return custom.ExpectColumnValuesToBeText, name, {}, "hold no text", "Read it as text."


def _allowed(name: str, values: list[Any], field: str) -> Expected:
    from great_expectations import expectations as gxe

    return (
        gxe.ExpectColumnValuesToBeInSet,
        name,
        {"value_set": values},
        "hold a value that the policy does not allow",
        f"Correct the input, or change {field}.",
    )
