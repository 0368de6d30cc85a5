"""The command that lists methods; no store is needed."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.method_list import methods_document, show_methods
from cli.options import Json, store_of
from cli.output import write_json
from services.trust import trusted_in

app = typer.Typer()


@app.command()
def methods(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="METHOD", help="Show this method's parameters.")
    ] = None,
    json: Json = False,
) -> int:
    """List the methods that a policy can name."""
    trusted_in(store_of(context))
    document = methods_document(name)
    if json:
        write_json(document)
    else:
        show_methods(document)
    return 0
