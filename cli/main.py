"""What each command does: one plain function a command, each returning an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from services.outcome import Outcome

if TYPE_CHECKING:
    from release_store.audit.log import Finding


def init(args: argparse.Namespace) -> int:
    """Make a store and its keys."""
    from release_store.audit.keys import key_path
    from release_store.person_key import person_key_path
    from release_store.store import ReleaseStore

    _check_nothing_was_put(args.store)
    store = ReleaseStore.create(args.store)
    print(f"made the store {store.root}/ and its signing key {key_path(store.root)}")
    print(f"and the key of people {person_key_path(store.root)}")
    print("keep copies of the keys where nobody who can write to the store can read them")
    return 0


def _check_nothing_was_put(root: Path) -> None:
    """Raise UsageError where files that say who may do what lie there before any store does.

    Whoever made the folder may have put them there. What the environment names is the owner's.
    """
    from policy.errors import UsageError
    from policy.trusted import TRUSTED_FILE
    from release_store.approval.reviewers import PEOPLE_VARIABLE, people_path
    from release_store.db.connection import DATABASE
    from release_store.guarded_files import resolved

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


def draft(args: argparse.Namespace) -> int:
    """Write a policy guessed from a table to the standard output."""
    from services.drafting.draft import draft as drafted

    sys.stdout.write(drafted(args.table))
    return 0


def run(args: argparse.Namespace) -> int:
    """Run the release flow here, with Prefect's server where one is configured and its own otherwise."""
    from flows.runtime.local_run import run_release
    from release_store.approval.credentials import given_credential

    return print_outcome(
        args,
        run_release(
            args.policy,
            store=args.store,
            period=args.period,
            input_path=args.input,
            actor=args.by,
            revise=args.revise,
            credential=given_credential(args.key, args.token_file),
            wait=args.wait,
        ),
    )


def rejudge(args: argparse.Namespace) -> int:
    """Judge a stale candidate again, and publish it where every gate passes and nobody is to be asked."""
    from flows.runtime.local_run import run_rejudge
    from release_store.approval.credentials import given_credential

    return print_outcome(
        args,
        run_rejudge(
            args.candidate,
            store=args.store,
            input_path=args.input,
            actor=args.by,
            credential=given_credential(args.key, args.token_file),
        ),
    )


def print_outcome(args: argparse.Namespace, outcome: Outcome) -> int:
    """Show what became of a run, and return its exit code."""
    from cli.tables import show_outcome
    from services.outcome import outcome_document

    if args.json:
        _write_json(outcome_document(outcome))
    else:
        show_outcome(outcome, args.store)
    return _exit_code(outcome)


def approve(args: argparse.Namespace) -> int:
    """Agree to a candidate; the last approval that it needs publishes it."""
    return _decide(args, "approve")


def reject(args: argparse.Namespace) -> int:
    """Refuse a candidate."""
    return _decide(args, "reject")


def override(args: argparse.Namespace) -> int:
    """Publish what gates held back, on the word of two administrators."""
    return _decide(args, "override")


def _decide(args: argparse.Namespace, decision: str) -> int:
    from release_store.approval.credentials import given_credential
    from release_store.store import ReleaseStore
    from reports.text import sanitize_text
    from services.decisions import decide
    from services.outcome import outcome_document

    outcome = decide(
        ReleaseStore.open(args.store),
        args.candidate,
        decision,
        by=args.by,
        reason=args.reason,
        credential=given_credential(args.key, args.token_file, args.signed),
    )
    if args.json:
        _write_json(outcome_document(outcome))
    else:
        print(sanitize_text(outcome.message))
    waits = decision == "override" and outcome.state == "blocked"  # for another administrator
    return {"rejected": 0}.get(outcome.state, 5 if waits else _exit_code(outcome))


def withdraw(args: argparse.Namespace) -> int:
    """Take a release out of the public place; a tombstone stays."""
    from release_store.approval.credentials import given_credential
    from release_store.publishing.public_files import kept_folder, tombstone_file
    from release_store.publishing.publication import recover
    from release_store.publishing.withdrawal import withdraw as withdrawn
    from release_store.store import ReleaseStore
    from services.observability.notices import notify_on_exit

    store = ReleaseStore.open(args.store)
    recover(store)
    credential = given_credential(args.key, args.token_file, args.signed)
    with notify_on_exit(store.root):
        release = withdrawn(store, args.release, by=args.by, reason=args.reason, credential=credential)
    tombstone = tombstone_file(store.root, release.series, release.release_id)
    kept = kept_folder(store.root, release)
    if args.json:
        facts = {"release": release.release_id, "state": str(release.state)}
        _write_json({**facts, "tombstone": str(tombstone), "folder": str(kept)})
    else:
        print(f"{release.release_id} is withdrawn; {tombstone} stands in its place")
        print(f"its files are kept in {kept}/")
    return 0


def clock(args: argparse.Namespace) -> int:
    """Let the log go on from the time now, where its last event is yet to come."""
    from release_store.approval.credentials import given_credential
    from release_store.audit.clock import correct_clock
    from release_store.evidence.verify_evidence import corrected_in_words
    from release_store.publishing.publication import recover
    from release_store.store import ReleaseStore
    from services.observability.notices import notify_on_exit

    store = ReleaseStore.open(args.store)
    credential = given_credential(args.key, args.token_file)
    with notify_on_exit(store.root):
        event, ended = correct_clock(store, by=args.by, reason=args.reason, credential=credential)
        settled = recover(store)
    if args.json:
        facts = {
            "event": event.number,
            "at": event.at,
            "last_event_at": event.payload["bound"]["last_event_at"],
        }
        _write_json({**facts, "stale": ended, "settled": settled})
    else:
        from reports.text import sanitize_text

        print(sanitize_text(f"event {event.number}: {corrected_in_words(vars(event))}"))
        for name in ended:
            print(f"{name} is stale; `releasegate rejudge {name}` judges it again")
        for line in settled:
            print(sanitize_text(line))
    return 0


def notify(args: argparse.Namespace) -> int:
    """End candidates whose time has passed, and deliver the notices that are due."""
    from policy.errors import ReleaseGateError, UsageError
    from release_store.approval.expiry import end_expired
    from release_store.approval.roll_call import record_reviewers
    from release_store.store import ReleaseStore
    from services.actor import system_user
    from services.observability.notice_channels import channels
    from services.observability.notices import BrokenPlaces, begin, due, send_all, tell_problems

    store = ReleaseStore.open(args.store)
    with suppress(BrokenPlaces):  # `send_all` says so
        begin(store)
    unread = None
    try:
        record_reviewers(store)
    except ReleaseGateError as error:
        unread = error
    ended = end_expired(store, actor=system_user())
    sent = send_all(store)
    if unread is not None:
        line = f"a change of the people cannot be told: {unread.where} {unread.message}"
        sent.problems.append(line)
        if isinstance(unread, UsageError):
            sent.hints[line] = unread.hint
    try:
        left = due(store)
    except BrokenPlaces:
        left = {}
    if args.json:
        facts = {"expired": ended, "channels": sorted(channels()), "delivered": sent.delivered}
        problems = {"problems": sent.problems, "mends": list(sent.hints.values())}
        _write_json({"ok": not sent.problems, **facts, "due": left, **problems})
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


def sign(args: argparse.Namespace) -> int:
    """Print a signed decision in one line."""
    from policy.errors import UsageError
    from release_store.approval.credentials import PrivateKey, given_credential
    from release_store.approval.signing import read_to_sign, signed
    from release_store.store import ReleaseStore
    from reports.documents import record_document

    key = given_credential(args.key)
    if not isinstance(key, PrivateKey):
        raise UsageError("nothing to sign with", hint="Give --key FILE, or name it in RELEASEGATE_KEY.")
    if args.told is not None:
        document = read_to_sign(args.told, args.id)
    else:
        document = record_document(ReleaseStore.open(args.store), args.id)["to_sign"]
    text = signed(document, args.act, by=args.by, reason=args.reason, key=key)
    if args.json:
        _write_json({"act": args.act, "id": args.id, "signed": text})
    else:
        print(text)
    return 0


def people(args: argparse.Namespace) -> int:
    """List the people who work with the store, or add one."""
    from cli.reviewers import add_person, people_document, show_people
    from release_store.approval.reviewers import needed_staff

    if args.people_command == "add":
        staff = add_person(
            args.store,
            args.name,
            args.role,
            public_key=args.public_key,
            make_key=args.make_key,
            make_token_file=args.make_token,
            account=args.account,
        )
    else:
        staff = needed_staff(args.store)
    document = people_document(staff)
    if args.json:
        _write_json(document)
    else:
        show_people(document)
    return 0


def history(args: argparse.Namespace) -> int:
    """List releases and candidates."""
    from cli.tables import show_history
    from release_store.store import ReleaseStore
    from reports.documents import history_document

    store = ReleaseStore.open(args.store)
    if args.json:
        _write_json(history_document(store, args.series))
    else:
        show_history(store, args.series)
    return 0


def show(args: argparse.Namespace) -> int:
    """Show one release or candidate."""
    from cli.tables import show_record
    from release_store.store import ReleaseStore
    from reports.documents import record_document

    store = ReleaseStore.open(args.store)
    document = record_document(store, args.id)
    if args.json:
        _write_json(document)
    else:
        show_record(document)
    return 0


def diff(args: argparse.Namespace) -> int:
    """Show two releases or candidates side by side."""
    from cli.difference_tables import show_difference
    from release_store.store import ReleaseStore
    from services.difference import difference_document

    document = difference_document(ReleaseStore.open(args.store), args.a, args.b)
    if args.json:
        _write_json(document)
    else:
        show_difference(document)
    return 0


def audit(args: argparse.Namespace) -> int:
    """Ask today's gates of all that a series has published."""
    from cli.review_tables import show_review
    from flows.runtime.local_run import progress_reporter
    from policy.errors import Blocked
    from release_store.permission import check_typed
    from release_store.store import ReleaseStore
    from services.actor import system_user
    from services.observability.notices import notify_on_exit
    from services.review import audit_series

    check_typed(args.by or "", "", "--by")
    store = ReleaseStore.open(args.store)
    by = system_user() if args.by is None else args.by
    with notify_on_exit(store.root), progress_reporter() as words:
        document = audit_series(
            store, args.series, by=by, policy_path=args.policy, inputs=args.input, progress=words
        )
    if args.json:
        _write_json(document)
    else:
        show_review(document)
    return 0 if document["passes"] else Blocked.exit_code


def evidence(args: argparse.Namespace) -> int:
    """Write the evidence bundle of one release."""
    from release_store.evidence.bundle import write_evidence
    from release_store.protocol.canonical import file_digest
    from release_store.store import ReleaseStore

    store = ReleaseStore.open(args.store)
    out = args.out if args.out is not None else Path(f"{args.release}.evidence.zip")
    written = write_evidence(store, args.release, out)
    if args.json:
        _write_json({"release": args.release, "path": written, "sha256": file_digest(written)})
    else:
        print(f"wrote {written}")
    return 0


def pictures(args: argparse.Namespace) -> int:
    """Write the pictures of a release, a candidate or a series as files."""
    from cli.picture_files import asked_for, pictures_for, select_pictures, write
    from release_store.store import ReleaseStore
    from reports.text import sanitize_text

    asked = asked_for(args.format, args.only, not args.no_titles, args.scale)
    store = ReleaseStore.open(args.store)
    found = select_pictures(pictures_for(store, args.id), asked.only)
    out = args.out if args.out is not None else Path(f"{args.id}.pictures")
    written = write(found, asked, out, store.root)
    if args.json:
        _write_json({"of": args.id, "files": written})
    else:
        for one in written:
            print(sanitize_text(f"wrote {one['path']}: {one['title']}"))
    return 0


def verify(args: argparse.Namespace) -> int:
    """Check the whole store, or one bundle; one line a finding."""
    from policy.errors import VerificationFailed
    from release_store.store import ReleaseStore
    from release_store.verification.verify import notes
    from release_store.verification.verify import verify as verified
    from reports.text import sanitize_text

    if args.bundle is not None:
        return _verify_bundle(args)
    store = ReleaseStore.open(args.store)
    findings = verified(store, checkpoint=args.checkpoint, public_key=args.public_key)
    remarks = [] if findings else notes(store)
    if args.json:
        _write_json({"ok": not findings, "findings": _listed(findings), "notes": _listed(remarks)})
    else:
        for finding in findings:
            print(sanitize_text(f"{finding.where}: {finding.what}"))
        if not findings:
            for note in remarks:
                print(sanitize_text(f"note: {note.where}: {note.what}"))
            n_releases = len(store.releases())
            print(f"{n_releases} releases and {store.n_events()} events: OK, no tampering found")
    return VerificationFailed.exit_code if findings else 0


def _listed(findings: Sequence[Finding]) -> list[dict[str, str]]:
    return [{"where": one.where, "what": one.what} for one in findings]


def _verify_bundle(args: argparse.Namespace) -> int:
    from policy.errors import UsageError
    from release_store.evidence.verify_evidence import NOT_WHAT_IT_WAS, examine, tell
    from release_store.guarded_files import check_plain

    for given in (args.bundle, args.checkpoint, args.public_key):
        if given is not None:
            check_plain(Path(given))
    if not Path(args.bundle).exists():
        raise UsageError(
            "there is no such file",
            where=str(args.bundle),
            hint="Name a bundle; `releasegate evidence RELEASE` writes one.",
        )
    report = examine(args.bundle, args.public_key, args.checkpoint)
    if not args.json:
        return tell(report)
    findings = [finding._asdict() for finding in report.findings]
    _write_json({"ok": not findings, "findings": findings, "notes": report.notes})
    return NOT_WHAT_IT_WAS if findings else 0


def report(args: argparse.Namespace) -> int:
    """Write the site of a store, or the report of one release or candidate."""
    from cli.report import write_report, write_site
    from policy.errors import VerificationFailed
    from release_store.store import ReleaseStore
    from reports.text import sanitize_text

    store = ReleaseStore.open(args.store)
    if args.id is not None:
        document = write_report(store, args.id, args.out, series=args.series, evidence=args.evidence)
    else:
        document = write_site(store, args.out, series=args.series, evidence=args.evidence)
    findings = document["findings"]
    if args.json:
        _write_json(document)
    elif args.id is not None:
        print(sanitize_text(f"wrote {document['path']}"))
    else:
        print(
            sanitize_text(
                f"wrote {document['pages']} pages to {document['path']}/ in {document['seconds']:.1f} s"
            )
        )
    if not args.json:
        for one in [*findings, *document["not_shown"]]:
            print(sanitize_text(f"{one['where']}: {one['what']}"))
    return VerificationFailed.exit_code if findings else 0


def reproduce(args: argparse.Namespace) -> int:
    """Make a release again from its recorded policy, seed and method, and compare the bytes."""
    from cli.reproduction_tables import show_reproduction
    from flows.runtime.local_run import progress_reporter
    from policy.errors import VerificationFailed
    from release_store.store import ReleaseStore
    from services.reproduction import reproduce as reproduce_release

    with progress_reporter() as progress:
        found = reproduce_release(ReleaseStore.open(args.store), args.release, args.input, progress)
    if args.json:
        _write_json(found.document())
    else:
        show_reproduction(found)
    return 0 if found.same else VerificationFailed.exit_code


def doctor(args: argparse.Namespace) -> int:
    """Look whether store and set-up are fit for work, settle what was interrupted; one line a check."""
    from flows.runtime.settings import contradicted
    from policy.errors import VerificationFailed
    from release_store.verification.checkup import Condition, checkup
    from reports.text import sanitize_text
    from services.doctor.setup import set_up

    checks = checkup(args.store) + set_up(args.store, contradicted)
    wrong = any(check.condition is Condition.WRONG for check in checks)
    if args.json:
        rows = [{"check": c.name, "condition": c.condition, "found": c.found, "mend": c.hint} for c in checks]
        _write_json({"ok": not wrong, "checks": rows})
    else:
        for check in checks:
            hint = f"; {check.hint}" if check.hint else ""
            print(sanitize_text(f"{check.condition:>6}  {check.name}: {check.found}{hint}"))
    return VerificationFailed.exit_code if wrong else 0


def evaluate(args: argparse.Namespace) -> int:
    """Lay methods side by side on one table; nothing is published, and no store is needed."""
    from cli.evaluate_tables import show_evaluation
    from flows.runtime.local_run import progress_reporter
    from services.evaluation.evaluate import evaluate as evaluated
    from services.evaluation.evaluate import raise_if_none_succeeded
    from services.evaluation.files import check_folder, document_of, write

    check_folder(args.out)
    with progress_reporter() as tell:
        evaluation = evaluated(
            args.policy,
            methods=args.methods,
            ks=args.k,
            seeds=args.seeds,
            measures=args.measures,
            input_path=args.input,
            period=args.period,
            jobs=args.jobs,
            store=args.store,
            tell=tell,
        )
        tell(1.0, "figures")
        files = write(evaluation, args.out)
    document = document_of(evaluation)
    if args.json:
        _write_json(document)
    else:
        show_evaluation(document, files)
    raise_if_none_succeeded(evaluation)
    return 0


def methods(args: argparse.Namespace) -> int:
    """List the methods, or one method's parameters."""
    from cli.method_list import methods_document, show_methods
    from services.trust import trusted_in

    trusted_in(args.store)
    document = methods_document(args.name)
    if args.json:
        _write_json(document)
    else:
        show_methods(document)
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "init": init,
    "draft": draft,
    "run": run,
    "rejudge": rejudge,
    "approve": approve,
    "reject": reject,
    "override": override,
    "withdraw": withdraw,
    "clock": clock,
    "notify": notify,
    "sign": sign,
    "people": people,
    "history": history,
    "show": show,
    "diff": diff,
    "audit": audit,
    "evidence": evidence,
    "pictures": pictures,
    "report": report,
    "reproduce": reproduce,
    "verify": verify,
    "doctor": doctor,
    "evaluate": evaluate,
    "methods": methods,
}


def _exit_code(outcome: Outcome) -> int:
    return {"published": 0, "blocked": 4, "awaiting_approval": 5}.get(outcome.state, 1)


def _write_json(document: object) -> None:
    from release_store.protocol.canonical import indented_json

    sys.stdout.write(indented_json(document, default=_plain) + "\n")


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else getattr(value, "isoformat", lambda: str(value))()
