"""The command that drafts a policy; no store is needed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from services.drafting.draft import draft as draft_policy

app = typer.Typer()


@app.command()
def draft(
    tables: Annotated[
        list[Path],
        typer.Argument(metavar="TABLE", help="CSV or Parquet files with the same columns."),
    ],
    trial: Annotated[bool, typer.Option(help="Try the policy on the last table.")] = True,
) -> int:
    """Draft a commented policy from tables."""
    sys.stdout.write(draft_policy(*tables, trial=trial))
    return 0
