"""Commands that judge or make a release again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import Json, OldInput, Release, store_of
from cli.output import write_json
from cli.progress import progress_reporter
from cli.reproduction_tables import show_reproduction
from cli.review_tables import show_review
from policy.errors import Blocked, VerificationFailed
from release_store.permission import check_typed
from release_store.store import ReleaseStore
from services.actor import default_actor
from services.observability.notice_delivery import notify_on_exit
from services.reproduction import reproduce as reproduce_release
from services.review import audit_series

app = typer.Typer()


@app.command()
def audit(
    context: typer.Context,
    series: Annotated[str, typer.Argument(metavar="SERIES")],
    policy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Assess all by this policy (default: each by its own)."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="PERIOD=FILE",
            help="The original input of that period's release, for gates that need it; may be given again.",
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who audits (default: your OS account).")
    ] = None,
    json: Json = False,
) -> int:
    """Re-check published releases against today's gates."""
    check_typed(by or "", "", "--by")
    store = ReleaseStore.open_to_work(store_of(context))
    who = default_actor() if by is None else by
    with notify_on_exit(store.root), progress_reporter() as progress:
        document = audit_series(
            store, series, by=who, policy_path=policy, inputs=inputs or [], progress=progress
        )
    if json:
        write_json(document)
    else:
        show_review(document)
    return 0 if document["passes"] else Blocked.exit_code


@app.command()
def reproduce(
    context: typer.Context, release: Release, input_path: OldInput = None, json: Json = False
) -> int:
    """Reproduce a release, and compare it byte by byte."""
    with progress_reporter() as progress:
        found = reproduce_release(ReleaseStore.open(store_of(context)), release, input_path, progress)
    if json:
        write_json(found.document())
    else:
        show_reproduction(found)
    return 0 if found.same else VerificationFailed.exit_code
