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
    from release_store.audit import Finding


def init(chosen: argparse.Namespace) -> int:
    """Make a store and its keys."""
    from release_store.keys import key_path
    from release_store.person_key import person_key_path
    from release_store.store import ReleaseStore

    _check_nothing_was_put(chosen.store)
    store = ReleaseStore.create(chosen.store)
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
    from release_store.connection import DATABASE
    from release_store.guarded_files import resolved
    from release_store.staff import PEOPLE_VARIABLE, people_path

    if (root / DATABASE).is_file():
        return  # a store already, which is told by who makes it
    folder = resolved(root).parent
    named = os.environ.get(PEOPLE_VARIABLE)
    for path in (folder / TRUSTED_FILE, *([] if named else [people_path(root)])):
        if os.path.lexists(path):
            raise UsageError(
                "is there before the store is, and would say who may do what in it",
                where=str(path),
                mend="Look at it, move it away, make the store, and put it back.",
            )


def draft(chosen: argparse.Namespace) -> int:
    """Write a policy guessed from a table to the standard output."""
    from services.drafting.draft import draft as drafted

    sys.stdout.write(drafted(chosen.table))
    return 0


def run(chosen: argparse.Namespace) -> int:
    """Run the release flow here, with Prefect's server where one is configured and its own otherwise."""
    from flows.running import run_release
    from release_store.credentials import given_credential

    return _told(
        chosen,
        run_release(
            chosen.policy,
            store=chosen.store,
            period=chosen.period,
            input_path=chosen.input,
            actor=chosen.by,
            revise=chosen.revise,
            credential=given_credential(chosen.key, chosen.token_file),
            wait=chosen.wait,
        ),
    )


def rejudge(chosen: argparse.Namespace) -> int:
    """Judge a stale candidate again, and publish it where every gate passes and nobody is to be asked."""
    from flows.running import run_rejudge
    from release_store.credentials import given_credential

    return _told(
        chosen,
        run_rejudge(
            chosen.candidate,
            store=chosen.store,
            input_path=chosen.input,
            actor=chosen.by,
            credential=given_credential(chosen.key, chosen.token_file),
        ),
    )


def _told(chosen: argparse.Namespace, outcome: Outcome) -> int:
    from cli.tables import show_outcome
    from services.outcome import outcome_document

    if chosen.json:
        _write_json(outcome_document(outcome))
    else:
        show_outcome(outcome, chosen.store)
    return _exit_code(outcome)


def approve(chosen: argparse.Namespace) -> int:
    """Agree to a candidate; the last approval that it needs publishes it."""
    return _decide(chosen, "approve")


def reject(chosen: argparse.Namespace) -> int:
    """Refuse a candidate."""
    return _decide(chosen, "reject")


def override(chosen: argparse.Namespace) -> int:
    """Publish what gates held back, on the word of two administrators."""
    return _decide(chosen, "override")


def _decide(chosen: argparse.Namespace, decision: str) -> int:
    from release_store.credentials import given_credential
    from release_store.store import ReleaseStore
    from reports.text import shown
    from services.decide import decide
    from services.outcome import outcome_document

    outcome = decide(
        ReleaseStore.open(chosen.store),
        chosen.candidate,
        decision,
        by=chosen.by,
        reason=chosen.reason,
        credential=given_credential(chosen.key, chosen.token_file, chosen.signed),
    )
    if chosen.json:
        _write_json(outcome_document(outcome))
    else:
        print(shown(outcome.message))
    waits = decision == "override" and outcome.state == "blocked"  # for another administrator
    return {"rejected": 0}.get(outcome.state, 5 if waits else _exit_code(outcome))


def withdraw(chosen: argparse.Namespace) -> int:
    """Take a release out of the public place; a tombstone stays."""
    from release_store.credentials import given_credential
    from release_store.public_files import kept_folder, tombstone_file
    from release_store.publication import recover
    from release_store.store import ReleaseStore
    from release_store.withdrawal import withdraw as withdrawn
    from services.observability.notices import telling

    store = ReleaseStore.open(chosen.store)
    recover(store)
    credential = given_credential(chosen.key, chosen.token_file, chosen.signed)
    with telling(store.root):
        release = withdrawn(store, chosen.release, by=chosen.by, reason=chosen.reason, credential=credential)
    tombstone = tombstone_file(store.root, release.series, release.release_id)
    kept = kept_folder(store.root, release)
    if chosen.json:
        facts = {"release": release.release_id, "state": str(release.state)}
        _write_json({**facts, "tombstone": str(tombstone), "folder": str(kept)})
    else:
        print(f"{release.release_id} is withdrawn; {tombstone} stands in its place")
        print(f"its files are kept in {kept}/")
    return 0


def clock(chosen: argparse.Namespace) -> int:
    """Let the log go on from the time now, where its last event is yet to come."""
    from release_store.correction import correct_clock
    from release_store.credentials import given_credential
    from release_store.publication import recover
    from release_store.store import ReleaseStore
    from release_store.verify_evidence import corrected_in_words
    from services.observability.notices import telling

    store = ReleaseStore.open(chosen.store)
    credential = given_credential(chosen.key, chosen.token_file)
    with telling(store.root):
        event, ended = correct_clock(store, by=chosen.by, reason=chosen.reason, credential=credential)
        settled = recover(store)
    if chosen.json:
        facts = {
            "event": event.number,
            "at": event.at,
            "last_event_at": event.payload["bound"]["last_event_at"],
        }
        _write_json({**facts, "stale": ended, "settled": settled})
    else:
        from reports.text import shown

        print(shown(f"event {event.number}: {corrected_in_words(vars(event))}"))
        for name in ended:
            print(f"{name} is stale; `releasegate rejudge {name}` judges it again")
        for line in settled:
            print(shown(line))
    return 0


def notify(chosen: argparse.Namespace) -> int:
    """End candidates whose time has passed, and deliver the notices that are due."""
    from policy.errors import ReleaseGateError, UsageError
    from release_store.expiry import end_expired
    from release_store.roll_call import note_people
    from release_store.store import ReleaseStore
    from services.actor import system_user
    from services.observability.notice_channels import channels
    from services.observability.notices import BrokenPlaces, begin, due, send_all, tell_problems

    store = ReleaseStore.open(chosen.store)
    with suppress(BrokenPlaces):  # `send_all` says so
        begin(store)
    unread = None
    try:
        note_people(store)
    except ReleaseGateError as error:
        unread = error
    ended = end_expired(store, actor=system_user())
    sent = send_all(store)
    if unread is not None:
        line = f"a change of the people cannot be told: {unread.where} {unread.finding}"
        sent.problems.append(line)
        if isinstance(unread, UsageError):
            sent.mends[line] = unread.mend
    try:
        left = due(store)
    except BrokenPlaces:
        left = {}
    if chosen.json:
        facts = {"expired": ended, "channels": sorted(channels()), "delivered": sent.delivered}
        problems = {"problems": sent.problems, "mends": list(sent.mends.values())}
        _write_json({"ok": not sent.problems, **facts, "due": left, **problems})
    else:
        for name in ended:
            print(f"{name} has expired")
        for name, number in sent.delivered.items():
            print(f"{name}: {number} delivered, {left.get(name, 0)} due")
        if not channels():
            print("no channel is set: docs/observability.md says how")
        tell_problems(sent)
    if sent.mends:  # waiting does not help
        return UsageError.exit_code
    return 1 if sent.problems else 0


def sign(chosen: argparse.Namespace) -> int:
    """Print a signed decision in one line."""
    from policy.errors import UsageError
    from release_store.credentials import PrivateKey, given_credential
    from release_store.signing import read_to_sign, signed
    from release_store.store import ReleaseStore
    from reports.documents import record_document

    key = given_credential(chosen.key)
    if not isinstance(key, PrivateKey):
        raise UsageError("nothing to sign with", mend="Give --key FILE, or name it in RELEASEGATE_KEY.")
    if chosen.told is not None:
        document = read_to_sign(chosen.told, chosen.id)
    else:
        document = record_document(ReleaseStore.open(chosen.store), chosen.id)["to_sign"]
    text = signed(document, chosen.act, by=chosen.by, reason=chosen.reason, key=key)
    if chosen.json:
        _write_json({"act": chosen.act, "id": chosen.id, "signed": text})
    else:
        print(text)
    return 0


def people(chosen: argparse.Namespace) -> int:
    """List the people who work with the store, or add one."""
    from cli.staff import add_person, people_document, show_people
    from release_store.staff import needed_staff

    if chosen.people_command == "add":
        staff = add_person(
            chosen.store,
            chosen.name,
            chosen.role,
            public_key=chosen.public_key,
            make_key=chosen.make_key,
            make_token_file=chosen.make_token,
            account=chosen.account,
        )
    else:
        staff = needed_staff(chosen.store)
    document = people_document(staff)
    if chosen.json:
        _write_json(document)
    else:
        show_people(document)
    return 0


def history(chosen: argparse.Namespace) -> int:
    """List releases and candidates."""
    from cli.tables import show_history
    from release_store.store import ReleaseStore
    from reports.documents import history_document

    store = ReleaseStore.open(chosen.store)
    if chosen.json:
        _write_json(history_document(store, chosen.series))
    else:
        show_history(store, chosen.series)
    return 0


def show(chosen: argparse.Namespace) -> int:
    """Show one release or candidate."""
    from cli.tables import show_record
    from release_store.store import ReleaseStore
    from reports.documents import record_document

    store = ReleaseStore.open(chosen.store)
    document = record_document(store, chosen.id)
    if chosen.json:
        _write_json(document)
    else:
        show_record(document)
    return 0


def diff(chosen: argparse.Namespace) -> int:
    """Show two releases or candidates side by side."""
    from cli.difference_tables import show_difference
    from release_store.store import ReleaseStore
    from services.difference import difference_document

    document = difference_document(ReleaseStore.open(chosen.store), chosen.a, chosen.b)
    if chosen.json:
        _write_json(document)
    else:
        show_difference(document)
    return 0


def audit(chosen: argparse.Namespace) -> int:
    """Ask today's gates of all that a series has published."""
    from cli.review_tables import show_review
    from flows.running import told
    from policy.errors import Blocked
    from release_store.permission import check_typed
    from release_store.store import ReleaseStore
    from services.actor import system_user
    from services.observability.notices import telling
    from services.review import audit_series

    check_typed(chosen.by or "", "", "--by")
    store = ReleaseStore.open(chosen.store)
    by = system_user() if chosen.by is None else chosen.by
    with telling(store.root), told() as words:
        document = audit_series(
            store, chosen.series, by=by, policy_path=chosen.policy, inputs=chosen.input, progress=words
        )
    if chosen.json:
        _write_json(document)
    else:
        show_review(document)
    return 0 if document["passes"] else Blocked.exit_code


def evidence(chosen: argparse.Namespace) -> int:
    """Write the evidence bundle of one release."""
    from release_store.canonical import file_digest
    from release_store.evidence import write_evidence
    from release_store.store import ReleaseStore

    store = ReleaseStore.open(chosen.store)
    out = chosen.out if chosen.out is not None else Path(f"{chosen.release}.evidence.zip")
    written = write_evidence(store, chosen.release, out)
    if chosen.json:
        _write_json({"release": chosen.release, "path": written, "sha256": file_digest(written)})
    else:
        print(f"wrote {written}")
    return 0


def pictures(chosen: argparse.Namespace) -> int:
    """Write the pictures of a release, a candidate or a series as files."""
    from cli.picture_files import asked_for, pictures_for, write
    from cli.picture_files import chosen as of_names
    from release_store.store import ReleaseStore
    from reports.text import shown

    asked = asked_for(chosen.format, chosen.only, not chosen.no_titles, chosen.scale)
    store = ReleaseStore.open(chosen.store)
    found = of_names(pictures_for(store, chosen.id), asked.only)
    out = chosen.out if chosen.out is not None else Path(f"{chosen.id}.pictures")
    written = write(found, asked, out, store.root)
    if chosen.json:
        _write_json({"of": chosen.id, "files": written})
    else:
        for one in written:
            print(shown(f"wrote {one['path']}: {one['title']}"))
    return 0


def verify(chosen: argparse.Namespace) -> int:
    """Check the whole store, or one bundle; one line a finding."""
    from policy.errors import VerificationFailed
    from release_store.store import ReleaseStore
    from release_store.verification import notes
    from release_store.verification import verify as verified
    from reports.text import shown

    if chosen.bundle is not None:
        return _verify_bundle(chosen)
    store = ReleaseStore.open(chosen.store)
    findings = verified(store, checkpoint=chosen.checkpoint, public_key=chosen.public_key)
    told = [] if findings else notes(store)
    if chosen.json:
        _write_json({"ok": not findings, "findings": _listed(findings), "notes": _listed(told)})
    else:
        for finding in findings:
            print(shown(f"{finding.where}: {finding.what}"))
        if not findings:
            for note in told:
                print(shown(f"note: {note.where}: {note.what}"))
            n_releases = len(store.releases())
            print(f"{n_releases} releases and {store.n_events()} events: nothing has been touched")
    return VerificationFailed.exit_code if findings else 0


def _listed(findings: Sequence[Finding]) -> list[dict[str, str]]:
    return [{"where": one.where, "what": one.what} for one in findings]


def _verify_bundle(chosen: argparse.Namespace) -> int:
    from policy.errors import UsageError
    from release_store.guarded_files import check_plain
    from release_store.verify_evidence import NOT_WHAT_IT_WAS, examine, tell

    for given in (chosen.bundle, chosen.checkpoint, chosen.public_key):
        if given is not None:
            check_plain(Path(given))
    if not Path(chosen.bundle).exists():
        raise UsageError(
            "there is no such file",
            where=str(chosen.bundle),
            mend="Name a bundle; `releasegate evidence RELEASE` writes one.",
        )
    report = examine(chosen.bundle, chosen.public_key, chosen.checkpoint)
    if not chosen.json:
        return tell(report)
    findings = [finding._asdict() for finding in report.findings]
    _write_json({"ok": not findings, "findings": findings, "notes": report.notes})
    return NOT_WHAT_IT_WAS if findings else 0


def report(chosen: argparse.Namespace) -> int:
    """Write the site of a store, or the report of one release or candidate."""
    from cli.report import write_report, write_site
    from policy.errors import VerificationFailed
    from release_store.store import ReleaseStore
    from reports.text import shown

    store = ReleaseStore.open(chosen.store)
    if chosen.id is not None:
        document = write_report(store, chosen.id, chosen.out, series=chosen.series, evidence=chosen.evidence)
    else:
        document = write_site(store, chosen.out, series=chosen.series, evidence=chosen.evidence)
    findings = document["findings"]
    if chosen.json:
        _write_json(document)
    elif chosen.id is not None:
        print(shown(f"wrote {document['path']}"))
    else:
        print(shown(f"wrote {document['pages']} pages to {document['path']}/ in {document['seconds']:.1f} s"))
    if not chosen.json:
        for one in [*findings, *document["not_shown"]]:
            print(shown(f"{one['where']}: {one['what']}"))
    return VerificationFailed.exit_code if findings else 0


def reproduce(chosen: argparse.Namespace) -> int:
    """Make a release again from its recorded policy, seed and method, and compare the bytes."""
    from flows.reproduce import reproduction, show_reproduction
    from policy.errors import VerificationFailed
    from release_store.store import ReleaseStore

    found = reproduction(ReleaseStore.open(chosen.store), chosen.release, chosen.input)
    if chosen.json:
        _write_json(found.document())
    else:
        show_reproduction(found)
    return 0 if found.same else VerificationFailed.exit_code


def doctor(chosen: argparse.Namespace) -> int:
    """Look whether store and set-up are fit for work, settle what was interrupted; one line a check."""
    from flows.setup_checks import set_up
    from policy.errors import VerificationFailed
    from release_store.checkup import Condition, checkup
    from reports.text import shown

    checks = checkup(chosen.store) + set_up(chosen.store)
    wrong = any(check.condition is Condition.WRONG for check in checks)
    if chosen.json:
        told = [{"check": c.name, "condition": c.condition, "found": c.found, "mend": c.mend} for c in checks]
        _write_json({"ok": not wrong, "checks": told})
    else:
        for check in checks:
            mend = f"; {check.mend}" if check.mend else ""
            print(shown(f"{check.condition:>6}  {check.name}: {check.found}{mend}"))
    return VerificationFailed.exit_code if wrong else 0


def evaluate(chosen: argparse.Namespace) -> int:
    """Lay methods side by side on one table; nothing is published, and no store is needed."""
    from cli.evaluate_tables import show_evaluation
    from flows.running import told
    from services.evaluation.evaluate import evaluate as evaluated
    from services.evaluation.evaluate import raise_if_none_succeeded
    from services.evaluation.files import check_folder, document_of, write

    check_folder(chosen.out)
    with told() as tell:
        evaluation = evaluated(
            chosen.policy,
            methods=chosen.methods,
            ks=chosen.k,
            seeds=chosen.seeds,
            measures=chosen.measures,
            input_path=chosen.input,
            period=chosen.period,
            jobs=chosen.jobs,
            store=chosen.store,
            tell=tell,
        )
        tell(1.0, "figures")
        files = write(evaluation, chosen.out)
    document = document_of(evaluation)
    if chosen.json:
        _write_json(document)
    else:
        show_evaluation(document, files)
    raise_if_none_succeeded(evaluation)
    return 0


def methods(chosen: argparse.Namespace) -> int:
    """List the methods, or one method's parameters."""
    from cli.method_list import methods_document, show_methods
    from services.trust import trusted_in

    trusted_in(chosen.store)
    document = methods_document(chosen.name)
    if chosen.json:
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
    from release_store.canonical import indented_json

    sys.stdout.write(indented_json(document, default=_plain) + "\n")


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else getattr(value, "isoformat", lambda: str(value))()
