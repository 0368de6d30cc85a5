"""Verify the evidence bundle of one release, and print what was found."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from release_store.evidence.checks import CHECKS
from release_store.evidence.findings import Finding, Report
from release_store.evidence.known import EARLIER_SCRIPTS
from release_store.evidence.reader import Bundle, given_checkpoint, given_key, read_bundle
from release_store.protocol.clock import corrected_in_words
from release_store.protocol.names import CORRECTED, EVIDENCE
from release_store.protocol.strict_json import Broken, optional_object, whole_number

NOT_WHAT_IT_WAS = 6


def examine(bundle: Path, public_key: str | None = None, checkpoint: Path | None = None) -> Report:
    """Return what is wrong with the bundle in the file `bundle`; damage of any kind is a finding.

    `public_key` is the key to trust, 64 hexadecimal digits or a PEM file; `checkpoint` a file kept elsewhere.
    """
    report = Report()
    trusted = _guarded(str(public_key), report, given_key, public_key)
    kept = _guarded(str(checkpoint), report, given_checkpoint, checkpoint)
    if report.findings:
        return report
    found = _guarded(bundle.name, report, read_bundle, bundle, trusted, kept, report)
    if found is None:
        return report
    for where, check in CHECKS:
        _guarded(where, report, _run_check, check, found, report)
    _guarded(EVIDENCE, report, _describe, found, report)
    if trusted is None:
        report.notes.append(
            "no public key was given, so the bundle's own key was trusted; whoever made the bundle may have "
            f"made that key too. Compare it with a copy that you kept: {found.key}"
        )
    return report


def _guarded(where: str, report: Report, work: Callable[..., Any], *arguments: object) -> Any:
    """Do some work, and turn what it stumbles over into a finding."""
    try:
        return work(*arguments)
    except Broken as error:
        report.findings.append(Finding(where, str(error)))
    except Exception as error:
        report.findings.append(Finding(where, f"cannot be read ({type(error).__name__})"))
    return None


def _run_check(check: Callable[[Bundle], Iterator[Finding]], bundle: Bundle, report: Report) -> None:
    for finding in check(bundle):
        report.findings.append(finding)


def _describe(bundle: Bundle, report: Report) -> None:
    release, newest = bundle.release, whole_number(bundle.newest["size"])
    for event in bundle.events:
        if event["number"] > newest:
            report.notes.append(
                f"event {event['number']} ({event['action']}) is newer than every checkpoint: not proven"
            )
    state = bundle.proven_state()
    if state != "published":
        report.notes.append(f"{release} was published, and is {state} now")
    report.notes += [
        f"event {event['number']}: {event['actor']} restored it after a withdrawal"
        for event in bundle.restorations()
    ]
    if bundle.left_out:
        report.notes.append(
            f"not in the bundle, so not looked at: {', '.join(bundle.left_out)}; their digests are in the log"
        )
    elif state == "withdrawn":
        report.notes.append("the bundle holds rows of a withdrawn release: do not pass them on")
    if bundle.script in EARLIER_SCRIPTS:
        report.notes.append(
            "its script is of an earlier releasegate and may check less; take that of "
            "`releasegate evidence --script`"
        )
    for event in bundle.events:
        if event["action"] == CORRECTED:
            report.notes.append(f"event {event['number']}: {corrected_in_words(event)}")
    for event in bundle.signed_events():
        method = optional_object(event["payload"].get("proof"), "a proof").get("method")
        told = {
            None: "has no proof: it is from before people had keys",
            "token": "is proven by a token only",
        }
        if method in told:
            report.notes.append(f"event {event['number']}, the decision of {event['actor']}, {told[method]}")
    if bundle.overridden():
        names = [one["actor"] for one in bundle.decisions() if one["action"] == "decision.override"]
        gates = ", ".join(sorted(bundle.manifest["override"]["gates"]))
        report.notes.append(f"{' and '.join(names)} published {release} by override of the gates: {gates}")
    report.summary = (
        f"{release}: {len(bundle.files)} {'file' if len(bundle.files) == 1 else 'files'} and "
        f"{len(bundle.events)} of {newest} events in the log verified; no tampering found"
    )
    report.notes.append(
        "a bundle cannot show what was left out of it: see the publisher's catalog for the state of the "
        "release now"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify one bundle, say what was found, and return the exit code."""
    parser = argparse.ArgumentParser(description="Verify the evidence bundle of one release.")
    parser.add_argument("bundle", type=Path, metavar="BUNDLE")
    parser.add_argument("--public-key", metavar="FILE|HEX", help="the key to trust, kept from elsewhere")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="a checkpoint kept from elsewhere")
    chosen = parser.parse_args(arguments)
    return tell(examine(chosen.bundle, chosen.public_key, chosen.checkpoint))


def tell(report: Report) -> int:
    """Print a report, one line a finding, and return the exit code; what a console lacks as its number."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    for finding in report.findings:
        print(_one_line(str(finding)))
    for note in report.notes:
        print(_one_line(f"note: {note}"))
    if report.findings:
        return NOT_WHAT_IT_WAS
    print(_one_line(report.summary))
    return 0


def _one_line(text: str) -> str:
    """Return a text that cannot pretend to be more lines: names in a bundle are anybody's."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
