"""Commands that make a release."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from cli.options import Candidate, Input, Json, Key, OldInput, Period, PolicyFile, TokenFile, store_of
from cli.output import exit_code, write_json
from cli.progress import progress_reporter
from cli.tables import show_outcome
from flows.runtime.local_run import run_rejudge, run_release
from release_store.approval.credentials import credential_of
from reports.advice_text import POLICY
from services.outcome import Outcome, outcome_document

app = typer.Typer()


@app.command()
def run(
    context: typer.Context,
    policy: PolicyFile,
    period: Period = None,
    input_path: Input = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who makes the candidate (default: your OS account)."),
    ] = None,
    key: Key = None,
    token_file: TokenFile = None,
    revise: Annotated[
        str | None,
        typer.Option(
            metavar="REASON",
            help="Replace the period's existing release; REASON is logged and published.",
        ),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for an input that is late (source.wait).")
    ] = False,
    json: Json = False,
) -> int:
    """Release one period's table, if every gate passes."""
    store = store_of(context)
    credential = credential_of(key, token_file)
    with progress_reporter() as progress:
        outcome = run_release(
            policy,
            store=store,
            period=period,
            input_path=input_path,
            actor=by,
            revise=revise,
            credential=credential,
            wait=wait,
            progress=progress,
        )
    return _print_outcome(outcome, store, json=json, policy=shlex.quote(str(policy)))


@app.command()
def rejudge(
    context: typer.Context,
    candidate: Candidate,
    input_path: OldInput = None,
    by: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who asks for it (default: your OS account).")
    ] = None,
    key: Key = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Assess a stale or expired candidate again, against the current history."""
    store = store_of(context)
    credential = credential_of(key, token_file)
    with progress_reporter() as progress:
        outcome = run_rejudge(
            candidate, store=store, input_path=input_path, actor=by, credential=credential, progress=progress
        )
    return _print_outcome(outcome, store, json=json)


def _print_outcome(outcome: Outcome, store: Path, *, json: bool, policy: str = POLICY) -> int:
    if json:
        write_json(outcome_document(outcome))
    else:
        show_outcome(outcome, store, policy)
    return exit_code(outcome)
