"""The command that drafts a policy; no store is needed."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.options import store_of
from policy.location import ObjectAddress, location_of
from services.drafting.draft import draft as draft_policy
from services.drafting.tables import InputOptions

app = typer.Typer()


@app.command()
def draft(
    context: typer.Context,
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE",
            help="Files (CSV, Parquet, Excel, SQLite) with the same columns, s3://BUCKET/KEY or "
            "postgresql://HOST/DATABASE?table=TABLE.",
        ),
    ],
    sheet: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sheet of a workbook with several.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Table of a SQLite database with several.")
    ] = None,
    trial: Annotated[bool, typer.Option(help="Try the policy on the last table.")] = True,
) -> int:
    """Draft a commented policy from tables."""
    options = InputOptions(sheet, table)
    locations = [location_of(one, "TABLE") for one in tables]
    if any(isinstance(one, ObjectAddress) for one in locations):
        from release_store.trusted import load_trusted

        options = InputOptions(sheet, table, load_trusted(store_of(context)).objects)
    sys.stdout.write(draft_policy(*locations, options=options, trial=trial))
    return 0
