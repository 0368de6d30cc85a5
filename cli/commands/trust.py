"""The command by which an account accepts what others own or made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.options import Json
from cli.output import write_json
from policy.accepted import (
    TRUST_VARIABLE,
    Accepted,
    accept,
    accepted_by_environment,
    forget,
    own_accepted,
    own_stores,
)
from policy.errors import UsageError
from policy.ownership import user_named
from reports.text import sanitize_text

app = typer.Typer()


@app.command()
def trust(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Accept this folder and what is in it (default: list all)."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Files there may belong to any member of this group."),
    ] = None,
    forgotten: Annotated[
        Path | None, typer.Option("--forget", metavar="DIR", help="Accept this folder no longer.")
    ] = None,
    json: Json = False,
) -> int:
    """Accept a folder of another account, or a store made elsewhere."""
    if group is not None and folder is None:
        raise UsageError("needs a folder", where="--group", hint="Run `releasegate trust DIR --group NAME`.")
    if folder is not None and forgotten is not None:
        raise UsageError("do not go together", where="DIR and --forget", hint="Give one of the two.")
    if folder is not None:
        accept(folder, group)
    if forgotten is not None:
        forget(forgotten)
    document = _document()
    if json:
        write_json(document)
    else:
        _show(document)
    return 0


def _document() -> dict[str, Any]:
    return {
        "accepted": [_row(one, "") for one in own_accepted()]
        + [_row(one, TRUST_VARIABLE) for one in accepted_by_environment()],
        "stores": [{"path": one.path, "store_id": one.store_id} for one in own_stores()],
    }


def _row(one: Accepted, by: str) -> dict[str, Any]:
    return {"path": one.path, "owner": one.owner, "group": one.group, "by": by or None}


def _show(document: dict[str, Any]) -> None:
    for one in document["accepted"]:
        group = f" or a member of {one['group']}" if one["group"] else ""
        by = f", by {one['by']}" if one["by"] else ""
        print(sanitize_text(f"{one['path']}: what {user_named(one['owner'])}{group} owns there{by}"))
    for one in document["stores"]:
        print(sanitize_text(f"{one['path']}: a store that this account made"))
    if not document["accepted"] and not document["stores"]:
        print("this account accepts nothing but its own files and root's")
