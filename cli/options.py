"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Write JSON for programs.")]
Key = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The person's private key (default: RELEASEGATE_KEY)."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="The person's token (default: RELEASEGATE_TOKEN)."),
]
Signed = Annotated[
    str | None,
    typer.Option("--signed", metavar="TEXT", help="What `sign` printed, in place of key and token."),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the audit log.")]
PublicReason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the audit log, and public.")
]
PolicyFile = Annotated[Path, typer.Argument(metavar="POLICY", help="The policy's YAML file.")]
Candidate = Annotated[str, typer.Argument(metavar="CANDIDATE")]
Release = Annotated[str, typer.Argument(metavar="RELEASE")]
Period = Annotated[
    str | None,
    typer.Option(metavar="PERIOD", help="Such as 2026Q1; left out, it follows from the policy and the date."),
]
Input = Annotated[
    Path | None,
    typer.Option("--input", metavar="FILE", help="The table, where it is not the policy's own source."),
]
OldInput = Annotated[
    Path | None, typer.Option("--input", metavar="FILE", help="The table that it was made of.")
]


def store_of(context: typer.Context) -> Path:
    """Return the folder of the release store, which stands before the command."""
    found: Path = context.obj
    return found
