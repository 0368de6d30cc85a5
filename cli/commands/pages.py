"""Commands that write pages and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import Json, store_of
from cli.output import write_json
from cli.picture_files import picture_options, pictures_for, select_pictures, write
from cli.report_files import write_report, write_site
from policy.errors import VerificationFailed
from policy.text import number_of
from release_store.store import ReleaseStore
from reports.text import sanitize_text

app = typer.Typer()


@app.command()
def report(
    context: typer.Context,
    id: Annotated[  # noqa: A002 -- the name that the help shows
        str | None,
        typer.Argument(metavar="ID", help="A release or candidate: write its report alone, as one file."),
    ] = None,
    series: Annotated[str | None, typer.Option(metavar="SERIES", help="Only this series.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="A folder (default: ./report), with ID a file (default: ./ID.html)."
        ),
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Put the evidence of each release beside its page.")
    ] = False,
    json: Json = False,
) -> int:
    """Write the store's web pages, or the report of one release or candidate."""
    store = ReleaseStore.open(store_of(context))
    if id is not None:
        document = write_report(store, id, out, series=series, evidence=evidence)
        done = f"wrote {document['path']}"
    else:
        document = write_site(store, out, series=series, evidence=evidence)
        pages = number_of(document["pages"], "page")
        done = f"wrote {pages} to {document['path']}/ in {document['seconds']:.1f} s"
    findings = document["findings"]
    if json:
        write_json(document)
    else:
        print(sanitize_text(done))
        for one in [*findings, *document["not_shown"]]:
            print(sanitize_text(f"{one['where']}: {one['what']}"))
    return VerificationFailed.exit_code if findings else 0


@app.command()
def pictures(
    context: typer.Context,
    id: Annotated[  # noqa: A002 -- the name that the help shows
        str, typer.Argument(metavar="ID|SERIES", help="A release, a candidate, or a whole series.")
    ],
    format: Annotated[  # noqa: A002 -- the option's name
        str, typer.Option(metavar="svg,png", help="svg (the default), png, or both.", show_default=False)
    ] = "svg",
    only: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="These pictures, by name or by group, such as values (default: all).",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Output folder (default: ./ID.pictures).")
    ] = None,
    scale: Annotated[
        float,
        typer.Option(metavar="N", help="A PNG is 640 times N pixels wide (default: 2).", show_default=False),
    ] = 2.0,
    no_titles: Annotated[bool, typer.Option("--no-titles", help="Omit titles.")] = False,
    json: Json = False,
) -> int:
    """Export the figures of a report as files."""
    asked = picture_options(format, only, not no_titles, scale)
    store = ReleaseStore.open(store_of(context))
    found = select_pictures(pictures_for(store, id), asked.only)
    written = write(found, asked, out if out is not None else Path(f"{id}.pictures"), store.root)
    if json:
        write_json({"of": id, "files": written})
    else:
        for one in written:
            print(sanitize_text(f"wrote {one['path']}: {one['title']}"))
    return 0
