"""Commands that make a store and keep it in order."""

from __future__ import annotations

import os
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.options import Json, Key, Reason, TokenFile, store_of
from cli.output import write_json
from cli.reviewer_tables import add_person, people_document, show_people
from flows.runtime.settings import contradicted
from policy.accepted import TRUST_VARIABLE
from policy.errors import ReleaseGateError, UsageError, VerificationFailed
from policy.ownership import trust_command
from policy.trusted import TRUSTED_FILE
from release_store.approval.credentials import credential_of
from release_store.approval.expiry import end_expired
from release_store.approval.reviewer_log import log_reviewers
from release_store.approval.reviewers import PEOPLE_VARIABLE, Reviewers, needed_reviewers, people_path
from release_store.audit.clock import correct_clock
from release_store.audit.keys import key_path
from release_store.checkup import Condition, check_store
from release_store.db.connection import DATABASE
from release_store.guarded_files import resolved
from release_store.person_key import person_key_path
from release_store.protocol.clock import corrected_in_words
from release_store.publishing.publication import recover
from release_store.store import ReleaseStore
from reports.text import sanitize_text
from services.actor import default_actor
from services.doctor.setup import check_environment
from services.observability.notice_channels import channels
from services.observability.notice_delivery import (
    CorruptCursors,
    notify_on_exit,
    pending_counts,
    register_channels,
    send_all,
    tell_problems,
)

app = typer.Typer()
people_app = typer.Typer(
    help="List the people who work with the store, or add one.",
    invoke_without_command=True,
    subcommand_metavar="[add]",
)
app.add_typer(people_app, name="people")


class RoleName(StrEnum):
    """The roles of people."""

    OPERATOR = "operator"
    APPROVER = "approver"
    AUDITOR = "auditor"
    ADMIN = "admin"


@app.command()
def init(context: typer.Context) -> int:
    """Create a store and its signing key."""
    root = store_of(context)
    _check_nothing_was_put(root)
    signing, people = key_path(root), person_key_path(root)
    verbs = ["uses" if path.exists() else "created" for path in (signing, people)]
    store = ReleaseStore.create(root)
    print(f"created the store {store.root}/")
    print(f"{verbs[0]} its signing key {signing}")
    print(f"{verbs[1]} the key of people, which hashes who they are: {people}")
    print("keep copies of the keys where nobody who can write to the store can read them")
    if not store.is_accepted:
        print(
            "that this account made the store could not be kept: before you work with it, run "
            f"`{trust_command(resolved(root))}` where there is a home, or set {TRUST_VARIABLE}"
        )
    return 0


def _check_nothing_was_put(root: Path) -> None:
    """Raise UsageError where files that say who may do what lie there before any store does.

    Whoever made the folder may have put them there. What the environment names is the owner's.
    """
    if (root / DATABASE).is_file():
        return  # a store already, which is told by who makes it
    folder = resolved(root).parent
    named = os.environ.get(PEOPLE_VARIABLE)
    for path in (folder / TRUSTED_FILE, *([] if named else [people_path(root)])):
        if os.path.lexists(path):
            raise UsageError(
                "is there before the store is, and would say who may do what in it",
                where=str(path),
                hint="Look at it, move it away, make the store, and put it back.",
            )


@app.command()
def clock(
    context: typer.Context,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who corrects it: an administrator.")],
    reason: Reason,
    key: Key = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Repair the log after a clock error."""
    store = ReleaseStore.open_to_work(store_of(context))
    credential = credential_of(key, token_file)
    with notify_on_exit(store.root):
        event, ended = correct_clock(store, by=by, reason=reason, credential=credential)
        settled = recover(store)
    if json:
        last = event.payload["bound"]["last_event_at"]
        facts = {"event": event.number, "at": event.at, "last_event_at": last}
        write_json({**facts, "stale": ended, "settled": settled})
    else:
        print(sanitize_text(f"event {event.number}: {corrected_in_words(vars(event))}"))
        for name in ended:
            print(f"{name} is stale; `releasegate rejudge {name}` judges it again")
        for line in settled:
            print(sanitize_text(line))
    return 0


@app.command()
def notify(context: typer.Context, json: Json = False) -> int:
    """Send the notices that are due."""
    store = ReleaseStore.open_to_work(store_of(context))
    with suppress(CorruptCursors):  # `send_all` says so
        register_channels(store)
    unread = None
    try:
        log_reviewers(store)
    except ReleaseGateError as error:
        unread = error
    ended = end_expired(store, actor=default_actor())
    sent = send_all(store)
    if unread is not None:
        line = f"a change of the people cannot be told: {unread.where} {unread.message}"
        sent.problems.append(line)
        if isinstance(unread, UsageError):
            sent.hints[line] = unread.hint
    try:
        left = pending_counts(store)
    except CorruptCursors:
        left = {}
    if json:
        facts = {"expired": ended, "channels": sorted(channels()), "delivered": sent.delivered}
        problems = {"problems": sent.problems, "mends": list(sent.hints.values())}
        write_json({"ok": not sent.problems, **facts, "due": left, **problems})
    else:
        for name in ended:
            print(f"{name} has expired")
        for name, number in sent.delivered.items():
            print(f"{name}: {number} delivered, {left.get(name, 0)} due")
        if not channels():
            print("no channel is set: docs/observability.md says how")
        tell_problems(sent)
    if sent.hints:  # waiting does not help
        return UsageError.exit_code
    return 1 if sent.problems else 0


@people_app.callback()
def people(context: typer.Context, json: Json = False) -> int:
    """List the people who work with the store, or add one."""
    if context.invoked_subcommand is not None:
        return 0
    return _show_people(needed_reviewers(store_of(context)), json=json)


@people_app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    role: Annotated[
        list[RoleName],
        typer.Option(metavar="ROLE", help="operator, approver, auditor or admin; may be given again."),
    ],
    public_key: Annotated[
        str | None, typer.Option(metavar="HEX|FILE", help="The person's Ed25519 public key.")
    ] = None,
    make_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a new private key for the person to FILE.")
    ] = None,
    make_token: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a new token for the person to FILE.")
    ] = None,
    account: Annotated[
        str | None,
        typer.Option(metavar="LOGIN", help="OS account whose runs are attributed to this person."),
    ] = None,
    json: Json = False,
) -> int:
    """Add a person to the file of people."""
    root = store_of(context)
    if (root / DATABASE).is_file():
        ReleaseStore.open_to_work(root)
    reviewers = add_person(
        root,
        name,
        [one.value for one in role],
        public_key=public_key,
        make_key=make_key,
        make_token_file=make_token,
        account=account,
    )
    return _show_people(reviewers, json=json)


def _show_people(reviewers: Reviewers, *, json: bool) -> int:
    document = people_document(reviewers)
    if json:
        write_json(document)
    else:
        show_people(document)
    return 0


@app.command()
def doctor(context: typer.Context, json: Json = False) -> int:
    """Check and repair the store, and finish interrupted work."""
    root = store_of(context)
    checks = check_store(root) + check_environment(root, contradicted)
    wrong = any(check.condition is Condition.WRONG for check in checks)
    if json:
        rows = [{"check": c.name, "condition": c.condition, "found": c.found, "mend": c.hint} for c in checks]
        write_json({"ok": not wrong, "checks": rows})
    else:
        for check in checks:
            hint = f"; {check.hint}" if check.hint else ""
            print(sanitize_text(f"{check.condition:>6}  {check.name}: {check.found}{hint}"))
    return VerificationFailed.exit_code if wrong else 0
