"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from policy.location import Location, location_of

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
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
    typer.Option("--signed", metavar="TEXT", help="The line that `sign` printed, instead of a key or token."),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason; stored in the audit log.")]
PublicReason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Reason; public, and stored in the audit log.")
]
PolicyFile = Annotated[Path, typer.Argument(metavar="POLICY", help="The policy's YAML file.")]
Candidate = Annotated[str, typer.Argument(metavar="CANDIDATE")]
Release = Annotated[str, typer.Argument(metavar="RELEASE")]
Period = Annotated[
    str | None,
    typer.Option(metavar="PERIOD", help="For example 2026Q1 (default: from the policy and the date)."),
]


def _input(written: str) -> Location:
    return location_of(written, "--input")


Input = Annotated[
    Any,  # Location | None, which typer cannot tell
    typer.Option(
        "--input",
        metavar="FILE",
        parser=_input,
        help="Input table, s3://BUCKET/KEY or postgresql://HOST/DATABASE?table=TABLE (default: policy).",
    ),
]
OldInput = Annotated[
    Any, typer.Option("--input", metavar="FILE", parser=_input, help="The original input table.")
]


def store_of(context: typer.Context) -> Path:
    """Return the folder of the release store, which stands before the command."""
    found: Path = context.obj
    return found
