"""The command that compares two releases."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.difference_tables import show_difference
from cli.options import Json, store_of
from cli.output import write_json
from release_store.store import ReleaseStore
from services.difference import difference_document

app = typer.Typer()


@app.command()
def diff(
    context: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A")],
    b: Annotated[str, typer.Argument(metavar="B")],
    json: Json = False,
) -> int:
    """Compare two releases or candidates."""
    document = difference_document(ReleaseStore.open(store_of(context)), a, b)
    if json:
        write_json(document)
    else:
        show_difference(document)
    return 0
