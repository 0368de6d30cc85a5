"""Commands that read the history."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import Json, store_of
from cli.output import write_json
from cli.tables import show_history, show_record
from release_store.store import ReleaseStore
from reports.documents import history_document, record_document

app = typer.Typer()


@app.command()
def history(
    context: typer.Context,
    series: Annotated[str | None, typer.Argument(metavar="SERIES")] = None,
    json: Json = False,
) -> int:
    """List releases and unpublished candidates."""
    store = ReleaseStore.open(store_of(context))
    if json:
        write_json(history_document(store, series))
    else:
        show_history(store, series)
    return 0


@app.command()
def show(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID")],  # noqa: A002 -- the name that the help shows
    json: Json = False,
) -> int:
    """Show a release or candidate and the results of its gates."""
    document = record_document(ReleaseStore.open(store_of(context)), id)
    if json:
        write_json(document)
    else:
        show_record(document)
    return 0
