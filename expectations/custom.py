"""Expectations that Great Expectations lacks: text and numbers in any column type, distance from a release.

Importing this module imports Great Expectations, which takes seconds: import it where it is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import ColumnAggregateExpectation, ColumnMapExpectation
from great_expectations.expectations.metrics import (
    ColumnAggregateMetricProvider,
    ColumnMapMetricProvider,
    column_aggregate_value,
    column_condition_partial,
)

from expectations.drift import total_variation
from expectations.number_text import WHOLE_LIMIT
from expectations.numbers import as_numbers

# mypy: disable-error-code="misc, untyped-decorator"
# Great Expectations has no types of its own that could be checked here.


class _Text(ColumnMapMetricProvider):
    condition_metric_name = "column_values.text"
    condition_value_keys = ()

    @column_condition_partial(engine=PandasExecutionEngine)
    def _pandas(cls, column: pd.Series, **_: Any) -> pd.Series:  # noqa: N805 -- the library binds the class
        codes, distinct = pd.factorize(column)
        texts = np.fromiter((isinstance(one, str) for one in distinct), dtype=bool, count=len(distinct))
        return pd.Series(np.append(texts, True)[codes], index=column.index)


class _FiniteNumber(ColumnMapMetricProvider):
    condition_metric_name = "column_values.finite_number"
    condition_value_keys = ()

    @column_condition_partial(engine=PandasExecutionEngine)
    def _pandas(cls, column: pd.Series, **_: Any) -> pd.Series:  # noqa: N805 -- as above
        return pd.Series(np.isfinite(as_numbers(column)), index=column.index)


class _WholeNumber(ColumnMapMetricProvider):
    condition_metric_name = "column_values.whole_number"
    condition_value_keys = ()

    @column_condition_partial(engine=PandasExecutionEngine)
    def _pandas(cls, column: pd.Series, **_: Any) -> pd.Series:  # noqa: N805 -- as above
        numbers = as_numbers(column)
        whole = (numbers == np.round(numbers)) & (np.abs(numbers) < WHOLE_LIMIT)
        return pd.Series(~np.isfinite(numbers) | whole, index=column.index)


class _NumberWithin(ColumnMapMetricProvider):
    condition_metric_name = "column_values.number_within"
    condition_value_keys = ("smallest", "largest")

    @column_condition_partial(engine=PandasExecutionEngine)
    def _pandas(cls, column: pd.Series, smallest: float, largest: float, **_: Any) -> pd.Series:  # noqa: N805 -- as above
        numbers = as_numbers(column)
        within = (numbers >= smallest) & (numbers <= largest)
        return pd.Series(~np.isfinite(numbers) | within, index=column.index)


class _TotalVariation(ColumnAggregateMetricProvider):
    metric_name = "column.total_variation"
    value_keys = ("reference", "missing_label")

    @column_aggregate_value(engine=PandasExecutionEngine, filter_column_isnull=False)
    def _pandas(cls, column: pd.Series, reference: dict[str, int], missing_label: str, **_: Any) -> float:  # noqa: N805 -- as above
        return total_variation(column, reference, missing_label)


class ExpectColumnValuesToBeText(ColumnMapExpectation):
    """Every value that is present is text."""

    map_metric = "column_values.text"


class ExpectColumnValuesToBeFiniteNumbers(ColumnMapExpectation):
    """Every value that is present is a finite number, or text that is written like one."""

    map_metric = "column_values.finite_number"


class ExpectColumnNumbersToBeWhole(ColumnMapExpectation):
    """Every number is whole; others are left to the expectation on numbers."""

    map_metric = "column_values.whole_number"


class ExpectColumnNumbersToBeWithin(ColumnMapExpectation):
    """Every number lies in [smallest, largest]; others are left to the expectation on numbers."""

    smallest: float
    largest: float

    map_metric = "column_values.number_within"
    success_keys = ("smallest", "largest", "mostly")


class ExpectColumnTotalVariationToBeAtMost(ColumnAggregateExpectation):
    """The total variation distance between the column's shares and the last release's is limited."""

    reference: dict[str, int]
    missing_label: str
    max_distance: float

    metric_dependencies = ("column.total_variation",)
    success_keys = ("reference", "missing_label", "max_distance")

    def _validate(self, metrics: dict[str, Any], **_: Any) -> dict[str, Any]:
        distance = metrics["column.total_variation"]
        return {"success": bool(distance <= self.max_distance), "result": {"observed_value": distance}}
