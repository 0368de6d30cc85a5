"""The command that checks a policy and its table before a run; no store is needed."""

from __future__ import annotations

import typer

from cli.options import Input, Json, Period, PolicyFile, store_of
from services.checking.check import CheckResult
from services.checking.check import check as check_table

app = typer.Typer()


@app.command()
def check(
    context: typer.Context,
    policy: PolicyFile,
    period: Period = None,
    input_path: Input = None,
    json: Json = False,
) -> int:
    """Check a policy and its table before a run; publishes nothing."""
    result = check_table(policy, store=store_of(context), period=period, input_path=input_path)
    if json:
        from cli.output import write_json

        write_json(_document(result))
    else:
        _show(result)
    return result.exit_code


def _document(result: CheckResult) -> dict[str, object]:
    return {
        "ok": result.exit_code == 0,
        "policy": str(result.policy),
        "period": result.period,
        "input": result.input or None,
        "rows": result.rows,
        "columns": result.columns,
        "findings": [one.document for one in result.findings],
        "readers": list(result.readers),
        "next": result.next_command or None,
    }


def _show(result: CheckResult) -> None:
    from policy.text import number_of
    from reports.text import sanitize_text

    for one in result.findings:
        print(sanitize_text(one.line))
    if result.exit_code:
        n = sum(not one.is_warning for one in result.findings)
        print(f"{number_of(n, 'error')}: correct {'it' if n == 1 else 'them'}, and check again")
        return
    size = (
        ""
        if result.rows is None or result.columns is None
        else (f" ({number_of(result.rows, 'row')}, {number_of(result.columns, 'column')})")
    )
    told = "no error in" if result.findings else "nothing is wrong with"
    print(sanitize_text(f"{told} {result.policy} and {result.input}{size}"))
    print("a reader of the releases could:")
    for line in result.readers:
        print(sanitize_text(f"  {line}"))
    print(sanitize_text(f"next: {result.next_command}"))
