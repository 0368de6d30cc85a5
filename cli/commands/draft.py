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
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A CSV or Parquet file.")],
) -> int:
    """Draft a commented policy from a table."""
    sys.stdout.write(draft_policy(table))
    return 0
