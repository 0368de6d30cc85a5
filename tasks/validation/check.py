"""Run the policy's expectation suite over a table, and tell in counts what does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

import pandas as pd

from expectations.quiet import quiet
from expectations.suite import LastRelease, build_suite
from policy.errors import ValidationFailed
from policy.model import ReleasePolicy
from policy.text import number_of
from tasks.types import SourceTable

COUNTS_ONLY = {"result_format": "BASIC", "partial_unexpected_count": 0}
MOST_FINDINGS = 3
CELLS_AT_ONCE = 20_000_000  # that expectations look at before what they say of each is forgotten


@dataclass(frozen=True)
class ExpectationResult:
    """What one expectation says of the table, in names and counts.

    `unexpected_rows` is None where an expectation does not judge rows one by one, or could not be
    judged; `detail` is empty where it passed; `hint` tells what to do otherwise.
    """

    expectation: str
    column: str | None
    passed: bool
    unexpected_rows: int | None
    rows: int
    detail: str
    hint: str = ""


def validate(table: SourceTable, policy: ReleasePolicy, last: LastRelease | None) -> list[ExpectationResult]:
    """Hold the table against the policy's suite, and return one result an expectation, in the suite's order.

    An expectation that cannot be judged has not passed. Raises ValidationFailed where the suite
    cannot be run at all.
    """
    suite = build_suite(policy, last)
    problem = ""
    results: list[ExpectationResult] = []
    try:
        with quiet():
            results = _run(suite, table)
    except MemoryError:
        raise
    except Exception as error:
        problem = type(error).__name__  # its message may quote cells
    if problem:
        raise ValidationFailed(
            f"the expectations could not be evaluated ({problem})",
            where=table.origin,
            hint="Check the input's columns against the policy's roles.",
        )
    return results


def raise_if_failed(results: Sequence[ExpectationResult], where: str, more_of_it: str = "") -> None:
    """Raise ValidationFailed with the first findings, the number of the others, and what else is known of
    them, if there are any.
    """
    failed = [result for result in results if not result.passed]
    if not failed:
        return
    told = "; ".join(result.detail for result in failed[:MOST_FINDINGS])
    more = f"; and {len(failed) - MOST_FINDINGS} more" if len(failed) > MOST_FINDINGS else ""
    beside = f" ({more_of_it})" if more_of_it else ""
    raise ValidationFailed(told + more + beside, where=where, hint=failed[0].hint)


def as_records(results: Sequence[ExpectationResult]) -> list[dict[str, Any]]:
    """Return the results as plain JSON values for the store, where hints are mends: names and counts only."""
    return [
        {("mend" if name == "hint" else name): value for name, value in asdict(result).items()}
        for result in results
    ]


def _run(suite: Any, table: SourceTable) -> list[ExpectationResult]:
    import great_expectations as gx
    from great_expectations import execution_engine
    from great_expectations import expectations as gxe
    from great_expectations.data_context.types.base import ProgressBarsConfig
    from great_expectations.expectations.expectation import ColumnMapExpectation

    # The library would hash the whole table three times, for a mark of the batch that nothing reads.
    execution_engine.pandas_execution_engine.hash_pandas_dataframe = _no_fingerprint
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("source").add_dataframe_asset("table")
    found: dict[int, ExpectationResult] = {}
    number = count()

    def ask(asked: pd.DataFrame, expectations: Sequence[Any], result_format: Any) -> None:
        """Hold a frame against expectations; one that was asked before gets the last result."""
        frame = asked.copy(deep=False)  # the library keeps it for as long as the process lives
        named = asset.add_batch_definition_whole_dataframe(f"batch {next(number)}")
        batch = named.get_batch({"dataframe": frame})
        at_once = max(1, CELLS_AT_ONCE // max(len(frame), 1))
        for at in range(0, len(expectations), at_once):
            part = gx.ExpectationSuite(
                name=f"part {next(number)}", expectations=[*expectations[at : at + at_once]]
            )
            for result in batch.validate(part, result_format=result_format).results:
                found[result.expectation_config.meta["number"]] = _told(result, table.n_rows)
            # It would keep what each expectation says of each cell.
            asset.datasource.get_execution_engine()._metric_cache.clear()
        frame.drop(columns=[*frame.columns], inplace=True)

    by_row = [e for e in suite.expectations if isinstance(e, ColumnMapExpectation)]
    whole = [e for e in suite.expectations if not isinstance(e, ColumnMapExpectation)]
    ask(table.frame, by_row, COUNTS_ONLY)
    ask(table.frame, whole, "BOOLEAN_ONLY")
    if table.rows is not None:
        # What each different row meets, all rows meet. All else is asked of the rows that these stand for.
        for one in by_row:
            result = found[one.meta["number"]]
            there = one.meta["column"] in table.frame
            if there and (not result.passed or result.unexpected_rows):
                ask(_rows_of(table, one.meta["column"]), [one], COUNTS_ONLY)
        for one in whole:
            if not isinstance(one, gxe.ExpectTableColumnsToMatchOrderedList):
                ask(_rows_of(table, one.meta["column"]), [one], "BOOLEAN_ONLY")
    if len(found) != len(suite.expectations):
        raise RuntimeError("an expectation gave no result")
    return [found[number] for number in sorted(found)]


def _rows_of(table: SourceTable, column: str | None) -> pd.DataFrame:
    """Return one column of all rows that the distinct ones stand for; None: the rows without a column."""
    if column is None:
        return pd.DataFrame(index=pd.RangeIndex(table.n_rows))
    return pd.DataFrame({column: table.frame[column].array.repeat(table.rows)}, copy=False)


def _no_fingerprint(_: Any) -> str:
    return ""


def _told(result: Any, rows: int) -> ExpectationResult:
    """Keep of the library's result what holds no value: success, and the count of unexpected rows."""
    config = result.expectation_config
    name, column = config.type, config.meta["column"]
    subject = f"the table of {number_of(rows, 'row')}" if column is None else f"the column '{column}'"
    if _was_broken(result.exception_info):
        detail = f"{subject} could not be evaluated ({name})"
        return ExpectationResult(name, column, False, None, rows, detail, config.meta["mend"])
    count = result.result.get("unexpected_count")
    if result.success:
        return ExpectationResult(name, column, True, count, rows, "")
    said = subject if count is None else f"{count} of {number_of(rows, 'row')} in '{column}'"
    return ExpectationResult(
        name, column, False, count, rows, f"{said} {config.meta['what']}", config.meta["mend"]
    )


def _was_broken(exception_info: dict[str, Any]) -> bool:
    """Tell whether a metric raised: the library gives one record, or one a metric.

    Raises MemoryError where one of them did: that says nothing of the table.
    """
    records = [exception_info] if "raised_exception" in exception_info else [*exception_info.values()]
    raised = [record for record in records if record["raised_exception"]]
    if any("MemoryError" in str(record.get("exception_traceback")) for record in raised):
        raise MemoryError
    return bool(raised)
