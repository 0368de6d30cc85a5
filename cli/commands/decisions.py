"""Commands by which people decide."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from cli.options import (
    Candidate,
    Json,
    Key,
    PublicReason,
    Reason,
    Release,
    Signed,
    TokenFile,
    store_of,
)
from cli.output import exit_code, write_json
from policy.errors import UsageError
from release_store.approval.credentials import PrivateKey, credential_of
from release_store.approval.signing import read_to_sign, sign_statement
from release_store.permission import Act
from release_store.publishing.public_files import kept_folder, tombstone_file
from release_store.store import ReleaseStore
from reports.documents import record_document
from reports.text import sanitize_text
from services.decisions import decide
from services.outcome import outcome_document
from services.purge import purge_rows, what_is_purgeable
from services.questions import answer as answer_question
from services.questions import ask as ask_question
from services.stale_periods import command_to_run_again
from services.withdrawal import withdraw_or_restore

app = typer.Typer()
By = Annotated[str, typer.Option(metavar="NAME", help="Who decides.")]
Proof: TypeAlias = tuple[Path | None, Path | None, str | None]
"""A key's file, a token's file, or a signed line."""


class Signable(StrEnum):
    """What can be signed when the store is not available."""

    APPROVE = "approve"
    REJECT = "reject"
    ASK = "ask"
    OVERRIDE = "override"
    WITHDRAW = "withdraw"
    RESTORE = "restore"


@app.command()
def approve(
    context: typer.Context,
    candidate: Candidate,
    by: By,
    reason: Reason,
    key: Key = None,
    token_file: TokenFile = None,
    signed: Signed = None,
    json: Json = False,
) -> int:
    """Approve a candidate that awaits approval; the last required approval publishes it."""
    return _decide(store_of(context), candidate, "approve", by, reason, (key, token_file, signed), json)


@app.command()
def reject(
    context: typer.Context,
    candidate: Candidate,
    by: By,
    reason: Reason,
    key: Key = None,
    token_file: TokenFile = None,
    signed: Signed = None,
    json: Json = False,
) -> int:
    """Reject a candidate that awaits approval."""
    return _decide(store_of(context), candidate, "reject", by, reason, (key, token_file, signed), json)


@app.command()
def override(
    context: typer.Context,
    candidate: Candidate,
    by: By,
    reason: Reason,
    key: Key = None,
    token_file: TokenFile = None,
    signed: Signed = None,
    json: Json = False,
) -> int:
    """Override the gates and publish; needs two administrators."""
    return _decide(store_of(context), candidate, "override", by, reason, (key, token_file, signed), json)


def _decide(root: Path, candidate: str, decision: str, by: str, reason: str, proof: Proof, json: bool) -> int:
    store = ReleaseStore.open_to_work(root)
    outcome = decide(store, candidate, decision, by=by, reason=reason, credential=credential_of(*proof))
    if json:
        write_json(outcome_document(outcome))
    else:
        print(sanitize_text(outcome.message))
        for stale in outcome.stale:
            command = command_to_run_again(store, stale)
            print(sanitize_text(f"{stale.candidate_id} is stale now; run its period again: {command}"))
    waits = decision == "override" and outcome.state == "blocked"  # for another administrator
    return {"rejected": 0}.get(outcome.state, 5 if waits else exit_code(outcome))


@app.command()
def ask(
    context: typer.Context,
    candidate: Candidate,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who asks.")],
    question: Annotated[
        str, typer.Option(metavar="TEXT", help="What is to be answered; stored in the audit log.")
    ],
    key: Key = None,
    token_file: TokenFile = None,
    signed: Signed = None,
    json: Json = False,
) -> int:
    """Return a candidate with a question; it cannot be approved before the answer."""
    found = ask_question(
        ReleaseStore.open_to_work(store_of(context)),
        candidate,
        by=by,
        question=question,
        credential=credential_of(key, token_file, signed),
    )
    if json:
        write_json({"candidate": candidate, **found.document()})
    else:
        print(f"{candidate} is returned with question {found.number}")
        print(f"next: releasegate answer {candidate} --by NAME --answer TEXT --key FILE")
    return 0


@app.command()
def answer(
    context: typer.Context,
    candidate: Candidate,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who answers.")],
    answer: Annotated[str, typer.Option(metavar="TEXT", help="The answer; stored in the audit log.")],
    question: Annotated[
        int | None, typer.Option(metavar="N", help="The question's number (default: the only open one).")
    ] = None,
    key: Key = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Answer a question with which a candidate was returned."""
    found = answer_question(
        ReleaseStore.open_to_work(store_of(context)),
        candidate,
        by=by,
        answer=answer,
        number=question,
        credential=credential_of(key, token_file),
    )
    if json:
        write_json({"candidate": candidate, **found.document()})
    else:
        print(f"question {found.number} on {candidate} is answered")
    return 0


@app.command()
def withdraw(
    context: typer.Context,
    release: Release,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who withdraws it.")],
    reason: PublicReason,
    key: Key = None,
    token_file: TokenFile = None,
    signed: Signed = None,
    json: Json = False,
) -> int:
    """Withdraw a release from the public folder; a tombstone stays."""
    proof = key, token_file, signed
    return _withdraw_or_restore(store_of(context), Act.WITHDRAW, release, by, reason, proof, json)


@app.command()
def restore(
    context: typer.Context,
    release: Release,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who restores it.")],
    reason: Reason,
    key: Key = None,
    token_file: TokenFile = None,
    signed: Signed = None,
    json: Json = False,
) -> int:
    """Publish a withdrawn release again, with the same bytes."""
    proof = key, token_file, signed
    return _withdraw_or_restore(store_of(context), Act.RESTORE, release, by, reason, proof, json)


def _withdraw_or_restore(
    root: Path, act: Act, release: str, by: str, reason: str, proof: Proof, json: bool
) -> int:
    store = ReleaseStore.open_to_work(root)
    found = withdraw_or_restore(store, act, release, by=by, reason=reason, credential=credential_of(*proof))
    folder = kept_folder(store.root, found)
    tombstone = tombstone_file(store.root, found.series, release) if act is Act.WITHDRAW else None
    if json:
        stone = {"tombstone": str(tombstone)} if tombstone else {}
        write_json({"release": release, "state": str(found.state), **stone, "folder": str(folder)})
    elif tombstone is None:
        print(f"{release} is restored: {folder}/")
    else:
        print(f"{release} is withdrawn; {tombstone} stands in its place")
        print(f"its files are kept in {folder}/")
    return 0


@app.command()
def purge(
    context: typer.Context,
    older_than: Annotated[
        int,
        typer.Option(
            metavar="DAYS", min=0, max=36_500, help="Only what ended at least so many days ago; 0 for all."
        ),
    ],
    by: Annotated[str, typer.Option(metavar="NAME", help="Who purges.")] = "",
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Reason; stored in the audit log.")
    ] = "",
    series: Annotated[str | None, typer.Option(metavar="NAME", help="One series (default: all).")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would lose its rows, and change nothing.")
    ] = False,
    key: Key = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Remove the rows of candidates that ended and of withdrawn releases; their digests stay."""
    store = ReleaseStore.open_to_work(store_of(context))
    if dry_run:
        found = what_is_purgeable(store, older_than, series)
    else:
        credential = credential_of(key, token_file)
        found = purge_rows(store, older_than, series, by=by, reason=reason, credential=credential)
    states = {name: state for one in found for name, state in one.states.items()}
    if json:
        write_json({"dry_run": dry_run, "purged": states})
    else:
        for name, state in states.items():
            print(f"{name} ({state}): its rows {'would be' if dry_run else 'are'} removed")
        if not states:
            print("nothing to remove")
    return 0


@app.command()
def sign(
    context: typer.Context,
    act: Annotated[
        Signable, typer.Argument(metavar="ACT", help="approve, reject, ask, override, withdraw or restore.")
    ],
    id: Annotated[  # noqa: A002 -- the name that the help shows
        str, typer.Argument(metavar="ID", help="The candidate, or the release to withdraw or restore.")
    ],
    by: Annotated[str, typer.Option(metavar="NAME", help="Who signs.")],
    reason: Reason,
    key: Key = None,
    document_file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="What `show ID --json` wrote, when the store is not available.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Sign a decision offline, to submit on the machine with the store."""
    credential = credential_of(key)
    if not isinstance(credential, PrivateKey):
        raise UsageError("nothing to sign with", hint="Give --key FILE, or name it in RELEASEGATE_KEY.")
    if document_file is not None:
        document = read_to_sign(document_file, id)
    else:
        document = record_document(ReleaseStore.open(store_of(context)), id)["to_sign"]
    text = sign_statement(document, act.value, by=by, reason=reason, key=credential)
    if json:
        write_json({"act": act.value, "id": id, "signed": text})
    else:
        print(text)
    return 0
