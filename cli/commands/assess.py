"""The command that measures any table; no policy and no store is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.assess_tables import show_assessment
from cli.options import Json
from cli.output import write_json
from cli.page_files import write_page
from reports.table_wording import table_document
from services.table_assessment import TableColumns, assess_table, column_list

app = typer.Typer()


@app.command()
def assess(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A CSV or Parquet file.")],
    qi: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="Quasi-identifiers, with commas; `age` may be age_min and age_max."
        ),
    ],
    sensitive: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Sensitive attributes, with commas.")
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="People of the population that a row stands for."),
    ] = None,
    household: Annotated[
        str | None, typer.Option(metavar="NAME", help="Household of a row: the models count these.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(metavar="NAME", help="Person of a row, if one may have several rows.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as a web page, too.")
    ] = None,
    json: Json = False,
) -> int:
    """Measure how safe a table is: privacy models, risks, uniqueness; without a policy, no verdict."""
    columns = TableColumns(
        column_list("--qi", qi),
        () if sensitive is None else column_list("--sensitive", sensitive),
        weight=weight,
        household=household,
        person=person,
    )
    found = assess_table(table, columns)
    if output is not None:
        from reports.table_page import table_page  # Altair takes a second to import

        write_page(table_page(found), output, "--output")
    if json:
        write_json(table_document(found) | {"page": output})
    else:
        show_assessment(found, output)
    return 0
