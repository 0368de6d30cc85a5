"""Verify the evidence bundle of one release: what went out, on whose word, and whether it was touched since.

    python verify_evidence.py BUNDLE.zip [--public-key FILE|HEX] [--checkpoint FILE]

Needs Python 3.10 or newer and the package `cryptography`; no database, no network, nothing else. One line a
finding; exit code 0 if there is none, 6 otherwise. Without --public-key the key in the bundle is trusted, and
whoever made the whole bundle may have made that too: give the key, and a checkpoint, that you kept yourself.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import struct
import sys
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FORMAT = 1
STATEMENT = "releasegate decision 1"
README, SCRIPT, EVIDENCE = "README.txt", "verify_evidence.py", "evidence.json"
CHECKPOINT, NEWEST = "checkpoint.json", "newest-checkpoint.json"
PUBLIC_KEY, POLICY = "public-key.pem", "policy.json"
RELEASE, MANIFEST, PACKAGE = "release/", "manifest.json", "datapackage.json"
REPORT = "report.html"  # of a release: made when it is published, and no file that gates judge
MARK = "releasegate:override"  # in the data package of a release that gates held back
NOT_WHAT_IT_WAS = 6

_OWN = frozenset({README, SCRIPT, EVIDENCE, CHECKPOINT, NEWEST, PUBLIC_KEY, POLICY})
_EVENT = ("number", "at", "actor", "action", "object", "reason", "payload", "previous")
_SIGNED = ("store_id", "size", "head", "at", "public_key")
_DECISION = ("decision", "by", "reason", "at", "candidate_digest", "policy_digest", "history_head")
_DECIDED = ("decision.approve", "decision.reject", "decision.override")
CORRECTED = "clock.corrected"
_SAID = ("decision.publish", "release.withdrawn", CORRECTED)
_BINDING = ("candidate_digest", "policy_digest", "history_head")
_STAGED = (*_BINDING, "input_digest", "files", "summary")
_ROLES = {  # one of them is needed for the act
    "approve": {"approver"},
    "reject": {"approver"},
    "publish": {"approver"},
    "withdraw": {"admin", "approver"},
    "override": {"admin"},
    "correct the clock": {"admin"},
}
_ACTS = {"release.withdrawn": "withdraw", CORRECTED: "correct the clock"}  # others are named by their act
_OVERRIDES_NEEDED = 2
_OVERRIDABLE = ("fail", "unknown")
PROVEN = "proven"  # what the first event of a store says of its decisions, unless it is an old one
IN_ORDER = "in order"  # what it says of the times of its events, likewise
CLOCK_TOLERANCE = 60.0  # seconds by which an event may be before the last: clocks are set by a little
_OPTIONAL_GATES = ("err", "umr", "sadr")
# Letters and marks that nobody sees: fillers, joiners and selectors of variants.
_INVISIBLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
_PRIME = (1 << 255) - 19  # of Ed25519: RFC 8032, section 5.1
_ORDER = (1 << 252) + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _PRIME) % _PRIME
_SMALL_ORDER = (
    frozenset(  # y of the eight points whose order divides 8: whoever has none of their keys can sign
        {
            0,
            1,
            _PRIME - 1,
            0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
            _PRIME - 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
        }
    )
)
_LARGEST_DOCUMENT = 1 << 28
_CHUNK = 1 << 20
_LOCAL_HEADER = 30  # bytes before a member's name; the last four are the lengths of its name and extra field
_DESCRIPTOR = 24  # bytes at most behind a member
_ENDING = 1 << 17  # more than the end of a zip can have


class Finding(NamedTuple):
    """One thing that is not as it was written: where, and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Broken(Exception):
    """Something without which the rest cannot be judged; its text is told."""


@dataclass
class Report:
    """What was found; `notes` are what a reader must know and is no fault of the bundle."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    summary: str = ""


@dataclass(frozen=True)
class Bundle:
    """What stands in a bundle, read but not yet believed."""

    key: str  # the public key that is trusted, hexadecimal
    own_key: str  # the public key in the bundle
    files: dict[str, str]  # the release's files in the bundle, name to SHA-256
    package: bytes  # the release's data package; nothing where it has none
    manifest: dict[str, Any]
    policy: dict[str, Any]
    checkpoint: dict[str, Any]  # made with the release
    newest: dict[str, Any]  # the newest that the store had
    kept: dict[str, Any] | None  # one that the reader kept from elsewhere
    events: list[dict[str, Any]]
    paths: dict[int, list[bytes] | None]  # number of an event to its proof of inclusion
    consistency: dict[int, list[bytes]]  # size of an earlier checkpoint to the proof that the newest goes on

    def event(self, action: str, subject: str) -> dict[str, Any]:
        """Return the one event of that action and object. Raises Broken if there is none or more."""
        found = [one for one in self.events if one["action"] == action and one["object"] == subject]
        if len(found) != 1:
            raise Broken(f"{len(found)} events say {action} of {subject}, and one should")
        return found[0]

    def published(self) -> dict[str, Any]:
        """Return the event by which the release appeared."""
        return self.event("release.published", str(self.manifest["release_id"]))

    def started(self) -> dict[str, Any]:
        """Return the event by which its publication began."""
        published = self.published()
        return [
            one
            for one in self.events
            if one["action"] == "publication.started" and one["number"] < published["number"]
        ][-1]

    def decisions(self) -> list[dict[str, Any]]:
        """Return the accepted decisions on the candidate."""
        return [one for one in self.words() if one["object"] == self.manifest["candidate_id"]]

    def words(self) -> list[dict[str, Any]]:
        """Return the accepted decisions on the candidate, and on those whose files were judged before it."""
        return [one for one in self.events if one["action"] in _DECIDED]

    def said(self) -> list[dict[str, Any]]:
        """Return every event that keeps a person's word and its proof."""
        return [one for one in self.events if one["action"] in (*_DECIDED, *_SAID)]

    def overridden(self) -> bool:
        """Tell whether administrators let out what gates held back: enough words, and no gate that broke."""
        gates = self.event("candidate.assessed", str(self.manifest["candidate_id"]))["payload"]["gates"]
        told = {one["verdict"] for one in gates}
        words = sum(one["action"] == "decision.override" for one in self.decisions())
        fine = bool(told & set(_OVERRIDABLE)) and told <= {"pass", *_OVERRIDABLE}
        return fine and words >= _OVERRIDES_NEEDED

    def people_before(self, number: int) -> dict[str, Any] | None:
        """Return what the last event before that number says of the people in force, None if none does."""
        found = [one for one in self.events if one["action"] == "people.changed" and one["number"] < number]
        return found[-1]["payload"] if found else None

    def judged_before(self) -> list[str]:
        """Return the candidates whose files this one has, and which became stale or expired: newest first."""
        found: list[str] = []
        candidate = str(self.manifest["candidate_id"])
        while before := self.event("candidate.staged", candidate)["payload"]["summary"].get("judged_again"):
            candidate = str(before["of"])
            if candidate in found:
                raise Broken("a candidate is told to be judged again for itself")
            found.append(candidate)
        return found


def examine(bundle: Path, public_key: str | None = None, checkpoint: Path | None = None) -> Report:
    """Return what is wrong with the bundle in the file `bundle`; damage of any kind is a finding.

    `public_key` is the key to trust, 64 hexadecimal digits or a PEM file; `checkpoint` a file kept elsewhere.
    """
    report = Report()
    trusted = _guarded(str(public_key), report, _given_key, public_key)
    kept = _guarded(str(checkpoint), report, _given_checkpoint, checkpoint)
    if report.findings:
        return report
    found = _guarded(bundle.name, report, _read, bundle, trusted, kept, report)
    if found is None:
        return report
    for where, check in _CHECKS:
        _guarded(where, report, _carry_out, check, found, report)
    _guarded(EVIDENCE, report, _tell, found, report)
    if trusted is None:
        report.notes.append(
            "no public key was given, so the key in the bundle is trusted; whoever made the whole bundle may "
            f"have made it too. Compare it with one that you kept: {found.key}"
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


def _carry_out(check: Callable[[Bundle], Iterator[Finding]], bundle: Bundle, report: Report) -> None:
    for finding in check(bundle):
        report.findings.append(finding)


# Reading -------------------------------------------------------------------------------------------------


def _read(path: Path, trusted: str | None, kept: dict[str, Any] | None, report: Report) -> Bundle | None:
    with _zip(path) as archive:
        report.findings += _strange_names(archive.namelist()) + _overlapping(path, archive)
        report.findings += [] if report.findings else _foreign(path, archive)
        if report.findings:
            return None
        manifest = _object(_document(archive, RELEASE + MANIFEST), RELEASE + MANIFEST)
        wanted = _OWN | {RELEASE + name for name in (*manifest["files"], MANIFEST)}
        present = set(archive.namelist())
        report.findings += [Finding(name, "is missing") for name in sorted(wanted - present)]
        report.findings += [
            Finding(name, "does not belong to the bundle") for name in sorted(present - wanted)
        ]
        if not wanted <= present:
            return None
        own_key = _own_key(_bytes(archive, PUBLIC_KEY))
        evidence = _object(_document(archive, EVIDENCE), EVIDENCE)
        if evidence["format"] != FORMAT:
            raise Broken(f"is of format {evidence['format']!r}, and this script reads {FORMAT}")
        proven = [(_event(one["event"]), one["path"]) for one in evidence["events"]]
        numbers = [event["number"] for event, _ in proven]
        if numbers != sorted(set(numbers)):
            raise Broken("the events are not in the order of their numbers, each once")
        return Bundle(
            key=trusted or own_key,
            own_key=own_key,
            files={
                name[len(RELEASE) :]: _digest(archive, name)
                for name in sorted(present & wanted)
                if name.startswith(RELEASE)
            },
            package=_bytes(archive, RELEASE + PACKAGE) if RELEASE + PACKAGE in present else b"",
            manifest=manifest,
            policy=_object(_document(archive, POLICY), POLICY),
            checkpoint=_object(_document(archive, CHECKPOINT), CHECKPOINT),
            newest=_object(_document(archive, NEWEST), NEWEST),
            kept=kept,
            events=[event for event, _ in proven],
            paths={event["number"]: None if path is None else _path(path) for event, path in proven},
            consistency={_whole(one["size"]): _path(one["path"]) for one in evidence["consistency"]},
        )


def _zip(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(_regular(path))
    except zipfile.BadZipFile:
        raise Broken("is no bundle, or not all of one: copy it again from where it was made") from None


def _regular(path: Path) -> Path:
    """Return a path again. Raises Broken for a pipe or a device, at which a reader would wait."""
    if path.exists() and not path.is_file():
        raise Broken("is no regular file")
    return path


def _strange_names(names: Sequence[str]) -> list[Finding]:
    findings = []
    for name, times in sorted(Counter(names).items()):
        if times > 1:
            findings.append(Finding(repr(name), f"stands in the zip {times} times"))
        if "\\" in name or any(part in ("", ".", "..") for part in name.split("/")):
            findings.append(Finding(repr(name), "is no name that a bundle may hold"))
    return findings


def _overlapping(path: Path, archive: zipfile.ZipFile) -> list[Finding]:
    """Find members whose data run into another's, of which readers make different things.

    Newer versions of Python refuse them, and older ones read them.
    """
    names, end = [], archive.start_dir
    with path.open("rb") as file:
        for member in sorted(archive.infolist(), key=lambda one: one.header_offset, reverse=True):
            if _data_of(file, member) + member.compress_size > end:
                names.append(member.filename)
            end = member.header_offset
    return [Finding(repr(name), "runs into another member of the zip") for name in sorted(names)]


def _data_of(file: BinaryIO, member: zipfile.ZipInfo) -> int:
    """Return where the data of a member begin, by the header that stands before them."""
    file.seek(member.header_offset)
    header = file.read(_LOCAL_HEADER).ljust(_LOCAL_HEADER, b"\xff")
    return member.header_offset + len(header) + int(sum(struct.unpack("<HH", header[-4:])))


def _foreign(path: Path, archive: zipfile.ZipFile) -> list[Finding]:
    """Find bytes before, between or behind the members, of which a reader from the front makes others."""
    at, apart = 0, False
    with path.open("rb") as file:
        for member in sorted(archive.infolist(), key=lambda one: one.header_offset):
            apart |= member.header_offset > at
            # The sizes of a member may stand behind it once more.
            after = _DESCRIPTOR if member.flag_bits & 8 else 0
            at = _data_of(file, member) + member.compress_size + after
        apart |= archive.start_dir > at
        at = archive.start_dir
        for _ in archive.infolist():
            file.seek(at)
            at += 46 + sum(struct.unpack("<HHH", file.read(46)[28:34]))
        file.seek(at)
        tail = file.read(_ENDING)
    tail = tail[76:] if tail.startswith(b"PK\6\6") else tail
    comment = int.from_bytes(tail[20:22], "little")
    if apart or len(tail) != 22 + comment:
        return [Finding("bundle", "holds bytes that are in none of its members")]
    return []


def _bytes(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _LARGEST_DOCUMENT:
        raise Broken(f"{name} is too large")
    return archive.read(name)


def _document(archive: zipfile.ZipFile, name: str) -> Any:
    return read_json(_bytes(archive, name))


def _digest(archive: zipfile.ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    with archive.open(name) as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _object(found: Any, name: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise Broken(f"{name} is no JSON object")
    return found


def _event(found: Any) -> dict[str, Any]:
    event = _object(found, "an event")
    texts = [event.get(name) for name in ("at", "actor", "action", "object", "reason", "previous", "hash")]
    if set(event) != {*_EVENT, "hash"} or not all(isinstance(text, str) for text in texts):
        raise Broken("an event has other fields than events have")
    _whole(event["number"])
    _object(event["payload"], "the payload of an event")
    return event


def _path(found: Any) -> list[bytes]:
    if not isinstance(found, list) or not all(is_hash(one) for one in found):
        raise Broken("a proof holds something that is no hash")
    return [bytes.fromhex(one) for one in found]


def _root(checkpoint: dict[str, Any]) -> bytes:
    if not is_hash(checkpoint["root"]):
        raise Broken("the root of a checkpoint is no hash")
    return bytes.fromhex(checkpoint["root"])


def _whole(found: Any) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise Broken("a number of events is no whole number")
    return found


def _given_key(given: str | None) -> str | None:
    if given is None:
        return None
    text = given
    if _is_hex(text, 64):
        if not is_public_key(text):
            raise Broken("the public key is no key of Ed25519 that can be trusted")
        return text
    return _pem_key(_regular(Path(given)).read_bytes())


def _pem_key(data: bytes) -> str:
    try:
        key = serialization.load_pem_public_key(data)
    except Exception:
        raise Broken("there is no public key in PEM") from None
    if not isinstance(key, Ed25519PublicKey):
        raise Broken("the public key is not of Ed25519")
    found = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw).hex()
    if not is_public_key(found):
        raise Broken("the public key is no key of Ed25519 that can be trusted")
    return found


def _own_key(data: bytes) -> str:
    """Read the key of the bundle, which is written in one way: text beside it would be anybody's."""
    found = _pem_key(data)
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(found))
    pem = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    if data != pem:
        raise Broken("public-key.pem holds more than a key, or is written in another way than keys are")
    return found


def _given_checkpoint(path: Path | None) -> dict[str, Any] | None:
    return None if path is None else _object(read_json(_regular(path).read_bytes()), "the checkpoint")


# Checks: each yields what it finds -----------------------------------------------------------------------


def _check_keys(bundle: Bundle) -> Iterator[Finding]:
    if bundle.own_key != bundle.key:
        yield Finding(PUBLIC_KEY, "is not the key that was given")
    first = bundle.events[0]
    if first["number"] != 1 or first["action"] != "store.created":
        yield Finding("event 1", "is missing: nothing says which key the store began with")
        return
    if first["payload"].get("public_key") != bundle.key:
        yield Finding("event 1", "the store began with another key than the one that is trusted")
    if first["payload"].get("store_id") != bundle.newest.get("store_id"):
        yield Finding("event 1", "the store began with another id than the one that was signed")


def _check_checkpoints(bundle: Bundle) -> Iterator[Finding]:
    """Both are signed by the trusted key, and the newest goes on where the release's stands."""
    for name, one in ((CHECKPOINT, bundle.checkpoint), (NEWEST, bundle.newest)):
        if not signature_holds(one, bundle.key):
            yield Finding(name, "is not signed by the key that is trusted")
    release_id = bundle.manifest.get("release_id")
    if bundle.checkpoint.get("of", release_id) != release_id:
        yield Finding(CHECKPOINT, "is not the one of the release")
    if bundle.checkpoint["store_id"] != bundle.newest["store_id"]:
        yield Finding(NEWEST, "is of another store than the release's checkpoint")
    if "root" not in bundle.newest:
        yield Finding(NEWEST, "has no root of the log's tree, so nothing can be proven by it")
    elif not _continues(bundle, bundle.checkpoint):
        yield Finding(NEWEST, "does not continue the log of the release's checkpoint")


def _check_kept(bundle: Bundle) -> Iterator[Finding]:
    """The checkpoint that the reader kept is of the same log."""
    kept = bundle.kept
    if kept is None:
        return
    where = "the checkpoint that was given"
    if not signature_holds(kept, bundle.key):
        yield Finding(where, "is not signed by the key that is trusted")
    elif kept["store_id"] != bundle.newest["store_id"]:
        yield Finding(where, "is of another store")
    elif kept["size"] > bundle.newest["size"]:
        yield Finding(where, "is newer than the bundle: ask for a bundle made now")
    elif not _continues(bundle, kept):
        yield Finding(where, "is not of the log that the bundle proves")


def _continues(bundle: Bundle, earlier: dict[str, Any]) -> bool:
    """Tell whether the log of the newest checkpoint begins with that of an earlier one."""
    newest = bundle.newest
    size = _whole(earlier["size"])
    heads = {one["number"]: one["hash"] for one in bundle.events}
    if heads.get(size, earlier["head"]) != earlier["head"]:
        return False
    if "root" not in earlier:
        # The earlier form of checkpoints: its last event is itself proven to be in the newest tree.
        return size in heads and size <= newest["size"]
    if size == newest["size"]:
        return bool(earlier["root"] == newest["root"] and earlier["head"] == newest["head"])
    path = bundle.consistency.get(size)
    roots = [_root(one) for one in (earlier, newest)]
    return path is not None and consistency_holds(size, roots[0], newest["size"], roots[1], path)


def _check_events(bundle: Bundle) -> Iterator[Finding]:
    """Every event is what its hash says, and stands at its number in the log that was signed."""
    for event in bundle.events:
        number, path = event["number"], bundle.paths[event["number"]]
        where = f"event {number}"
        if event["hash"] != _sha256({name: event[name] for name in _EVENT}):
            yield Finding(where, "does not match its own hash: it was changed")
            continue
        signed = proven_by(number, bundle.checkpoint, bundle.newest)
        if signed is None:
            if path is not None:
                yield Finding(where, "is newer than every checkpoint, and there is a proof of it")
            continue
        leaf = leaf_hash(bytes.fromhex(event["hash"]))
        root = _root(signed)
        if path is None or not inclusion_holds(leaf, number - 1, signed["size"], path, root):
            yield Finding(where, "is not proven to be in the log that was signed")


def _check_times(bundle: Bundle) -> Iterator[Finding]:
    """No event is earlier than one before it, unless the clock was corrected between them."""
    told = bundle.events[0]["payload"].get("times") == IN_ORDER  # the first stores could step back
    for one, other in itertools.pairwise(bundle.events):
        steps = other["number"] - one["number"]
        if other["action"] == CORRECTED:
            wrong = wrong_correction(other, one["at"] if steps == 1 else None)
        else:
            wrong = out_of_order(one["at"], other["at"], steps) if told else None
        if wrong:
            yield Finding(f"event {other['number']}", wrong)


def out_of_order(before: str, after: str, steps: int = 1) -> str | None:
    """Return what is wrong with the time of an event that follows another by `steps`, None if nothing is."""
    try:
        back = _seconds_back(before, after)
    except (ValueError, TypeError):
        return "its time, or that of the event before it, cannot be read"
    if back <= CLOCK_TOLERANCE * steps:
        return None
    return f"is {back:,.0f} s earlier than an event before it, and nobody corrected the clock"


def wrong_correction(event: dict[str, Any], before: str | None) -> str | None:
    """Return what is wrong with an event by which the clock was corrected, None if nothing is.

    `before` is the time of the event before it, None where that is not at hand.
    """
    said = event["payload"]
    bound, told = said["bound"], said["bound"]["last_event_at"]
    if said["at"] != event["at"] or bound["log_head"] != event["previous"] or before not in (None, told):
        return "corrects the clock of another log than the one that it stands in"
    if _seconds_back(told, event["at"]) <= CLOCK_TOLERANCE:
        return "corrects a clock that was not ahead"
    return None


def _seconds_back(before: str, after: str) -> float:
    return (datetime.fromisoformat(before) - datetime.fromisoformat(after)).total_seconds()


def corrected_in_words(event: dict[str, Any]) -> str:
    """Return what a reader must know of an event by which the clock was corrected."""
    before, now = (
        str(one)[:16].replace("T", " ") for one in (event["payload"]["bound"]["last_event_at"], event["at"])
    )
    return f"{event['actor']} corrected the clock from {before} to {now} UTC; the times just before are wrong"


def proven_by(number: int, checkpoint: dict[str, Any], newest: dict[str, Any]) -> dict[str, Any] | None:
    """Return the checkpoint whose root proves an event: the release's, else the newest, else None."""
    for one in (checkpoint, newest):
        if "root" in one and number <= one["size"]:
            return one
    return None


def _check_files(bundle: Bundle) -> Iterator[Finding]:
    """The files are those that the log says were published."""
    published = bundle.published()
    logged = _object(published["payload"]["files"], "the list of files")
    for name in sorted(logged.keys() | bundle.files.keys()):
        if bundle.files.get(name) != logged.get(name):
            yield Finding(RELEASE + name, "is not the file that was published")
    if published["number"] > bundle.checkpoint["size"]:
        yield Finding(CHECKPOINT, "was signed before the release was published")
    started = bundle.started()
    for name in ("release", "files", "classes", "candidate"):
        if not same(started["payload"][name], published["payload"][name]):
            yield Finding(
                f"event {published['number']}", f"its {name} is not that of the publication's start"
            )


def _check_manifest(bundle: Bundle) -> Iterator[Finding]:
    """What the manifest says is what the log says."""
    manifest, where = bundle.manifest, RELEASE + MANIFEST
    candidate = str(manifest["candidate_id"])
    started, published = bundle.started(), bundle.published()
    if published["payload"]["candidate"] != candidate:
        yield Finding(where, "names another candidate than the one that was published")
    staged = bundle.event("candidate.staged", candidate)
    assessed = bundle.event("candidate.assessed", candidate)
    order = [staged["number"], assessed["number"]]
    order += [one["number"] for one in bundle.decisions()] + [started["number"], published["number"]]
    if order != sorted(order):
        yield Finding(EVIDENCE, "the release was not staged, judged, decided on and published in this order")
    logged = {name: staged["payload"][name] for name in _STAGED}
    logged["made_by"] = staged["actor"]
    logged["gates"] = assessed["payload"]["gates"]
    logged["decisions"] = [
        {
            name: one["payload"][name]
            for name in (*_DECISION, "proof")
            if name in one["payload"] or name != "proof"
        }
        for one in bundle.decisions()
    ]
    logged["log"] = {
        "store_id": bundle.newest["store_id"],
        "size": started["number"] - 1,
        "head": started["previous"],
    }
    judged = {**manifest, "files": judged_files(manifest)}
    for name, value in logged.items():
        if not same(judged[name], value):
            yield Finding(where, f"its {name} is not the one that was logged")
    if wrong := wrong_mark(manifest, bundle.package):
        yield Finding(RELEASE + PACKAGE, wrong)
    if _sha256(judged["files"]) != manifest["candidate_digest"]:
        yield Finding(where, "its candidate_digest is not that of its files")


def _check_policy(bundle: Bundle) -> Iterator[Finding]:
    if _sha256(bundle.policy) != bundle.manifest["policy_digest"]:
        yield Finding(POLICY, "is not the policy that the release was made by")


def _check_gates(bundle: Bundle) -> Iterator[Finding]:
    """Every gate passed, and those that the policy names were asked."""
    assessed = bundle.event("candidate.assessed", str(bundle.manifest["candidate_id"]))["payload"]
    results = assessed["gates"]
    if not results:
        yield Finding("gates", "none passed the release")
    overridden = bundle.overridden()
    held_back = {one["gate"]: one["verdict"] for one in results if one["verdict"] != "pass"}
    for gate, verdict in held_back.items():
        if not overridden:
            yield Finding("gates", f"{gate} says {verdict}")
    told = _object(bundle.manifest.get("override") or {}, "the override in the manifest").get("gates")
    if not same(told, held_back if overridden else None):
        yield Finding(RELEASE + MANIFEST, "does not say which gates were overridden")
    asked = {one["gate"] for one in results}
    for name in assessed.get("asked", []):  # the first stores did not log it
        if name not in asked:
            yield Finding("gates", f"{name} was to be asked, and there is no result of it")
    demanded = _object(bundle.policy.get("gates") or {}, "gates of the policy")
    for name in _OPTIONAL_GATES:
        if demanded.get(name) is not None and name not in asked:
            yield Finding("gates", f"the policy demands {name}, and nobody asked it")


def _check_decisions(bundle: Bundle) -> Iterator[Finding]:
    """Enough people other than the maker agreed, to what was then published."""
    manifest, decisions = bundle.manifest, bundle.decisions()
    approval = _object(bundle.policy.get("approval") or {}, "approval of the policy")
    kept = _object(manifest["summary"].get("approval") or {}, "approval of the candidate")
    needed = max(_whole(approval.get("approvers", 0)), _whole(kept.get("needed", 0)))
    approvals = sum(one["action"] == "decision.approve" for one in decisions)
    if approvals < needed and not bundle.overridden():
        yield Finding("decisions", f"{approvals} people approved it, and {needed} were needed")
    if any(one_person(one, other) for one, other in itertools.combinations(decisions, 2)):
        yield Finding("decisions", "one person decided twice")
    staged = bundle.event("candidate.staged", str(manifest["candidate_id"]))
    maker = _comparable(staged["actor"])
    candidates = {manifest["candidate_id"], *bundle.judged_before()}
    for one in bundle.words():
        if one["object"] not in candidates:
            yield Finding(f"event {one['number']}", "is a decision about another candidate")
    for one in decisions:
        where, said = f"event {one['number']}", one["payload"]
        if one["action"] == "decision.reject" or one["action"] != f"decision.{said['decision']}":
            yield Finding(where, "is a rejection of what was published")
        if said["by"] != one["actor"]:
            yield Finding(where, "is a decision by somebody else than it says")
        if _comparable(one["actor"]) == maker or is_by(said.get("proof"), staged["payload"].get("maker")):
            yield Finding(where, "is a decision by the person who made the release")
        if any(said[name] != manifest[name] for name in _BINDING):
            yield Finding(where, "is a decision about other files, another policy or another history")


def _check_proofs(bundle: Bundle) -> Iterator[Finding]:
    """Every word on the release is proven to be of a person who might say it."""
    demanded = bundle.events[0]["payload"].get("decisions") == PROVEN
    for one in bundle.said():
        people = bundle.people_before(one["number"])
        wrong = wrong_proof(one, str(bundle.newest["store_id"]), people, demanded)
        if wrong:
            yield Finding(f"event {one['number']}", f"the word {wrong}")


_CHECKS: tuple[tuple[str, Callable[[Bundle], Iterator[Finding]]], ...] = (
    (PUBLIC_KEY, _check_keys),
    (CHECKPOINT, _check_checkpoints),
    ("the checkpoint that was given", _check_kept),
    (EVIDENCE, _check_events),
    (EVIDENCE, _check_times),
    (RELEASE, _check_files),
    (RELEASE + MANIFEST, _check_manifest),
    (POLICY, _check_policy),
    ("gates", _check_gates),
    ("decisions", _check_decisions),
    ("proofs", _check_proofs),
)


def _tell(bundle: Bundle, report: Report) -> None:
    release, newest = bundle.manifest["release_id"], bundle.newest["size"]
    for event in bundle.events:
        if event["number"] > newest:
            report.notes.append(
                f"event {event['number']} ({event['action']}) is newer than every checkpoint: not proven"
            )
    states = [
        event["payload"]["release_state"]
        for event in bundle.events
        if event["payload"].get("release") == release and "release_state" in event["payload"]
    ]
    if states[-1] != "published":
        report.notes.append(f"{release} was published, and is {states[-1]} now")
    for event in bundle.events:
        if event["action"] == CORRECTED:
            report.notes.append(f"event {event['number']}: {corrected_in_words(event)}")
    for event in bundle.said():
        method = (event["payload"].get("proof") or {}).get("method")
        told = {
            None: "carries no proof: it is of the time before people had keys",
            "token": "rests on a token",
        }
        if method in told:
            report.notes.append(f"event {event['number']}, the word of {event['actor']}, {told[method]}")
    if bundle.overridden():
        names = [one["actor"] for one in bundle.decisions() if one["action"] == "decision.override"]
        gates = ", ".join(sorted(bundle.manifest["override"]["gates"]))
        report.notes.append(f"{' and '.join(names)} published {release} by override of the gates: {gates}")
    report.summary = (
        f"{release}: {len(bundle.files)} files, {len(bundle.events)} events of a log of {newest}: "
        "nothing in it has been touched"
    )
    report.notes.append(
        "what was left out of it cannot be seen here: the publisher's catalog says how the release stands now"
    )


# The mark of an override ---------------------------------------------------------------------------------


def mark_of(override: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the data package says of an override in the manifest: gates, people and times."""
    people = [{"by": one["by"], "at": one["at"]} for one in override["by"]]
    return {"gates": override["gates"], "by": people}


def package_text(package: Any) -> bytes:
    """Return a data package as releasegate writes it."""
    return (json.dumps(package, indent=2, ensure_ascii=False) + "\n").encode()


def judged_files(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the digests of the files as the gates judged them: no report, and no mark in the package."""
    override = _object(manifest.get("override") or {}, "the override in the manifest")
    judged = {**manifest["files"], **_object(override.get("judged") or {}, "what was judged in the manifest")}
    return {name: digest for name, digest in judged.items() if name != REPORT}


def wrong_mark(manifest: dict[str, Any], package: bytes) -> str:
    """Return what is wrong with the data package of a release by override; empty if nothing is.

    Of releases that a releasegate published before there was a mark, none is demanded.
    """
    override = manifest.get("override") or {}
    if "judged" not in override:
        return ""
    found = _object(read_json(package), PACKAGE)
    if not same(found.pop(MARK, None), mark_of(override)):
        return "does not say what was overridden, by whom and when"
    judged = {PACKAGE: hashlib.sha256(package_text(found)).hexdigest()}
    return "" if same(override["judged"], judged) else "is not what was judged and the mark of the override"


# Signatures and people -----------------------------------------------------------------------------------


def is_public_key(written: object) -> bool:
    """Tell whether a text is an Ed25519 key in its one spelling: of large order, y below the prime."""
    if not isinstance(written, str) or not _is_hex(written, 64):
        return False
    y = int.from_bytes(bytes.fromhex(written), "little") & ((1 << 255) - 1)
    if y >= _PRIME or y in _SMALL_ORDER:
        return False
    # On the curve: x^2 = (y^2 - 1) / (d y^2 + 1) is a square; 0, where x is 0, is of small order.
    squared = (y * y - 1) * pow(_D * y * y + 1, _PRIME - 2, _PRIME)
    return pow(squared, (_PRIME - 1) // 2, _PRIME) == 1


def is_signature(written: object) -> bool:
    """Tell whether a text is an Ed25519 signature in its one spelling: 128 digits, S below the order."""
    if not isinstance(written, str) or not _is_hex(written, 128):
        return False
    return int.from_bytes(bytes.fromhex(written[64:]), "little") < _ORDER


def is_hash(written: object) -> bool:
    """Tell whether a value is a SHA-256 in its one spelling: 64 digits, in small letters."""
    return isinstance(written, str) and _is_hex(written, 64)


def _is_hex(written: str, length: int) -> bool:
    return len(written) == length and set(written) <= set("0123456789abcdef")


def _verify(public_key: object, signature: object, data: bytes) -> None:
    """Raise ValueError or InvalidSignature unless the key, in its one spelling, signed `data`."""
    if not is_public_key(public_key) or not is_signature(signature):
        raise ValueError("no key or no signature")
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(str(public_key)))
    key.verify(bytes.fromhex(str(signature)), data)


def signature_holds(checkpoint: dict[str, Any], public_key: str) -> bool:
    """Tell whether a checkpoint was signed by `public_key` (hexadecimal) and holds nothing unsigned."""
    signed = {name: value for name, value in checkpoint.items() if name != "signature"}
    if set(signed) - {"root", "of"} != set(_SIGNED) or signed["public_key"] != public_key:
        return False
    try:
        _verify(public_key, checkpoint["signature"], canonical(signed))
    except (InvalidSignature, KeyError, ValueError):
        return False
    return True


def statement(
    *, act: str, store_id: str, subject: str, bound: dict[str, str], by: str, reason: str, at: str
) -> dict[str, Any]:
    """Return what a person signs: an act to an object of a store, as it was by the digests in `bound`."""
    return {
        "statement": STATEMENT,
        "act": act,
        "store_id": store_id,
        "object": subject,
        "bound": bound,
        "by": by,
        "reason": reason,
        "at": at,
    }


def signed_by(document: dict[str, Any], public_key: str, signature: str) -> bool:
    """Tell whether a statement was signed by a key (both hexadecimal)."""
    try:
        _verify(public_key, signature, canonical(document))
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def word_of(event: dict[str, Any], store_id: str) -> dict[str, Any]:
    """Return the statement that a person signed or said, by the event that kept it."""
    said = event["payload"]
    if event["action"] in _ACTS:
        act, bound = _ACTS[event["action"]], said["bound"]
    else:
        act, bound = said["decision"], {name: said[name] for name in _BINDING}
    return statement(
        act=act,
        store_id=store_id,
        subject=event["object"],
        bound=bound,
        by=event["actor"],
        reason=event["reason"],
        at=said["at"],
    )


def wrong_proof(
    event: dict[str, Any], store_id: str, people: dict[str, Any] | None, demanded: bool
) -> str | None:
    """Return what is wrong with the proof of a person's word, None if nothing is.

    `people` is what the log said of who was in force then, None where it had said nothing. Without a proof a
    word counts only before that, and only in a store that did not demand it from its first event on.
    """
    proof = event["payload"].get("proof")
    if proof is None:
        return "carries no proof of whose word it is" if demanded or people is not None else None
    if people is None or proof["people"] != people["digest"] or people_digest(people) != people["digest"]:
        return "was taken by people other than those whom the log knew then"
    said, who = word_of(event, store_id), event["actor"]
    known = [one for one in people["members"] if _comparable(one["name"]) == _comparable(who)]
    if event["action"] not in (f"decision.{said['act']}", *_ACTS) or said["act"] not in _ROLES:
        return "is an act of another name than it says"
    if len(known) != 1:
        return f"is of {who}, whom the log did not know then"
    if not _ROLES[said["act"]] & set(known[0]["roles"]):
        return f"is of {who}, who had no role for it"
    return None if _is_proven(said, proof, known[0]) else f"is not proven to be of {who}"


def people_digest(people: dict[str, Any]) -> str:
    """Return the digest of who was in force, and of how many must agree to everything, if that was said."""
    told = {name: people[name] for name in ("members", "approvers_at_least") if name in people}
    return _sha256(told if len(told) > 1 else people["members"])


def _is_proven(said: dict[str, Any], proof: dict[str, Any], person: dict[str, Any]) -> bool:
    if proof["method"] == "token":
        return bool(proof["token"]) and bool(proof["token"] == person["token"])
    return (
        proof["method"] == "signature"
        and proof["public_key"] == person["public_key"]
        and signed_by(said, proof["public_key"], proof["signature"])
    )


def one_person(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two events are of one person, by the name or by what proves it."""
    if _comparable(one["actor"]) == _comparable(other["actor"]):
        return True
    mine, theirs = one["payload"].get("proof") or {}, other["payload"].get("proof") or {}
    return any(mine.get(name) and mine.get(name) == theirs.get(name) for name in ("public_key", "token"))


def is_by(proof: dict[str, Any] | None, marks: dict[str, Any] | None) -> bool:
    """Tell whether a proof is that of a person, by the key or token that mark them under any name."""
    mine, theirs = proof or {}, marks or {}
    return any(mine.get(name) and mine.get(name) == theirs.get(name) for name in ("public_key", "token"))


def _comparable(name: str) -> str:
    """Return a person's name without its case, spaces, signs and forms of the same letters.

    Marks stay, since they can be letters, as vowels of Indian scripts are; what nobody sees does not. Of a
    name without letters, its signs are all there is.
    """
    lowered = unicodedata.normalize("NFKC", name).casefold().replace("i\u0307", "i")  # of the Turkish I
    folded = unicodedata.normalize("NFKC", lowered)
    seen = [sign for sign in folded if not any(low <= ord(sign) <= high for low, high in _INVISIBLE)]
    kept = [sign for sign in seen if sign.isalnum() or unicodedata.category(sign)[0] == "M"]
    if any(sign.isalnum() for sign in kept):
        return "".join(kept)
    return "".join(sign for sign in seen if unicodedata.category(sign)[0] not in "CZ")


# Merkle trees: RFC 9162, section 2.1 ---------------------------------------------------------------------


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of a leaf."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of the node over two others."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def inclusion_holds(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Tell whether `path` shows that `leaf` is leaf `index` (from 0) under `root` of `size` leaves."""
    if not 0 <= index < size:
        return False
    here, last, found = index, size - 1, leaf
    for other in path:
        if last == 0:
            return False
        if here % 2 == 1 or here == last:
            found = node_hash(other, found)
            while here % 2 == 0 and here != 0:
                here, last = here >> 1, last >> 1
        else:
            found = node_hash(found, other)
        here, last = here >> 1, last >> 1
    return last == 0 and found == root


def consistency_holds(
    first: int, first_root: bytes, second: int, second_root: bytes, path: Sequence[bytes]
) -> bool:
    """Tell whether `path` shows that the tree of `second` leaves begins with that of `first`."""
    if not 0 < first <= second:
        return False
    if first == second:
        return not path and first_root == second_root
    if first & (first - 1) == 0:
        path = [first_root, *path]
    if not path:
        return False
    here, last = first - 1, second - 1
    while here % 2 == 1:
        here, last = here >> 1, last >> 1
    earlier = later = path[0]
    for other in path[1:]:
        if last == 0:
            return False
        if here % 2 == 1 or here == last:
            earlier, later = node_hash(other, earlier), node_hash(other, later)
            while here % 2 == 0 and here != 0:
                here, last = here >> 1, last >> 1
        else:
            later = node_hash(later, other)
        here, last = here >> 1, last >> 1
    return last == 0 and earlier == first_root and later == second_root


# Canonical JSON: RFC 8785 --------------------------------------------------------------------------------


def canonical(value: Any) -> bytes:
    """Return plain JSON as canonical bytes. Raises ValueError for what JSON cannot hold."""
    return _written(value).encode()


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same JSON."""
    return canonical(one) == canonical(other)


def read_json(data: bytes) -> Any:
    """Return the JSON in `data`. Raises ValueError for a name that stands twice and for NaN and Infinity."""
    return json.loads(
        data.decode(), parse_int=_read_int, parse_constant=_refuse, object_pairs_hook=_once_each
    )


def _written(value: Any) -> str:
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        if abs(value) >= 2**53:
            raise ValueError("a whole number beyond what JSON's readers agree on")
        return str(value)
    if isinstance(value, float):
        return _written_float(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_written(name)}:{_written(value[name])}" for name in names) + "}"
    raise ValueError(f"JSON has no {type(value).__name__}")


def _written_float(value: float) -> str:
    """Return the shortest text that reads back as `value`, in the form of ECMAScript's Number::toString."""
    if not math.isfinite(value):
        raise ValueError("JSON has no NaN and no Infinity")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # value = 0.digits * 10^point
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        padded = digits.ljust(point, "0")
        text = padded[:point] + ("." + padded[point:] if padded[point:] else "")
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{point - 1:+d}"
    return sign + text


def _read_int(text: str) -> int | float:
    # Canonical JSON has only floats beyond 2^53.
    return int(text) if abs(int(text)) < 2**53 else float(text)


def _refuse(text: str) -> Any:
    raise ValueError(f"JSON has no {text}")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def _sha256(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify one bundle, say what was found, and return the exit code."""
    parser = argparse.ArgumentParser(description="Verify the evidence bundle of one release.")
    parser.add_argument("bundle", type=Path, metavar="BUNDLE")
    parser.add_argument("--public-key", metavar="FILE|HEX", help="the key to trust, kept from elsewhere")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="a checkpoint kept from elsewhere")
    chosen = parser.parse_args(arguments)
    return tell(examine(chosen.bundle, chosen.public_key, chosen.checkpoint))


def tell(report: Report) -> int:
    """Print a report, one line a finding, and return the exit code."""
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


if __name__ == "__main__":
    sys.exit(main())
