"""Commands that give and check the proof of what was published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import Json, Release, store_of
from cli.output import finding_rows, write_json
from policy.errors import UsageError, VerificationFailed
from policy.text import number_of
from release_store.canonical import file_digest
from release_store.db.connection import DamagedDatabase
from release_store.evidence.bundle import write_evidence
from release_store.evidence.examine import NOT_WHAT_IT_WAS, examine, tell
from release_store.guarded_files import check_plain
from release_store.store import ReleaseStore
from release_store.verification.verify import Verified, refusal_as_finding, verified
from reports.text import sanitize_text

app = typer.Typer()


@app.command()
def evidence(
    context: typer.Context,
    release: Release,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file (default: ./RELEASE.evidence.zip).")
    ] = None,
    json: Json = False,
) -> int:
    """Export a verification bundle."""
    store = ReleaseStore.open(store_of(context))
    written = write_evidence(store, release, out if out is not None else Path(f"{release}.evidence.zip"))
    if json:
        write_json({"release": release, "path": written, "sha256": file_digest(written)})
    else:
        print(f"wrote {written}")
    return 0


@app.command()
def verify(
    context: typer.Context,
    bundle: Annotated[
        Path | None, typer.Argument(metavar="BUNDLE", help="Check this evidence bundle instead of the store.")
    ] = None,
    public_key: Annotated[
        str | None,
        typer.Option(metavar="FILE|HEX", help="The public key that you trust, from your own copy."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A checkpoint you saved earlier; the log must extend it."),
    ] = None,
    json: Json = False,
) -> int:
    """Check the log, the signatures and every published file."""
    if bundle is not None:
        return _verify_bundle(bundle, public_key, checkpoint, json=json)
    root = store_of(context)
    try:
        store = ReleaseStore.open(root)
    except (VerificationFailed, DamagedDatabase) as error:
        found = Verified([refusal_as_finding(root, error)], [])
    else:
        found = verified(store, checkpoint=checkpoint, public_key=public_key)
    if json:
        rows = {"findings": finding_rows(found.findings), "notes": finding_rows(found.notes)}
        write_json({"ok": not found.findings, **rows})
    else:
        for finding in found.findings:
            print(sanitize_text(f"{finding.where}: {finding.what}"))
        for note in found.notes:
            print(sanitize_text(f"note: {note.where}: {note.what}"))
        if not found.findings:
            checked = (
                f"{number_of(len(store.releases()), 'release')} and {number_of(store.n_events(), 'event')}"
            )
            print(f"{checked}: OK, no tampering found")
    return VerificationFailed.exit_code if found.findings else 0


def _verify_bundle(bundle: Path, public_key: str | None, checkpoint: Path | None, *, json: bool) -> int:
    for given in (bundle, checkpoint, public_key):
        if given is not None:
            check_plain(Path(given))
    if not bundle.exists():
        raise UsageError(
            "there is no such file",
            where=str(bundle),
            hint="Name a bundle; `releasegate evidence RELEASE` writes one.",
        )
    report = examine(bundle, public_key, checkpoint)
    if not json:
        return tell(report)
    findings = [finding._asdict() for finding in report.findings]
    write_json({"ok": not findings, "findings": findings, "notes": report.notes})
    return NOT_WHAT_IT_WAS if findings else 0
