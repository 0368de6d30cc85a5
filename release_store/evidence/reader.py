"""Read a bundle into what the checks look at; nothing in it is believed yet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from release_store.evidence.findings import Finding, Report
from release_store.evidence.known import check_written
from release_store.evidence.zip_file import Archive, regular_file
from release_store.protocol.ed25519 import is_hash, is_hex, is_public_key
from release_store.protocol.names import (
    ANSWERED,
    ASKED,
    CHECKPOINT,
    CORRECTED,
    DECISIONS,
    EVENT_FIELDS,
    EVIDENCE,
    FORMAT,
    MANIFEST,
    NEWEST,
    PACKAGE,
    POLICY,
    PUBLIC_KEY,
    README,
    RELEASE,
    RESTORED,
    SCRIPT,
    WITHOUT_ROWS,
)
from release_store.protocol.overrides import OVERRIDES_NEEDED
from release_store.protocol.strict_json import (
    Broken,
    json_list,
    json_object,
    json_text,
    optional_object,
    read_json,
    same,
    whole_number,
)

_OWN = frozenset({README, SCRIPT, EVIDENCE, CHECKPOINT, NEWEST, PUBLIC_KEY, POLICY})
_SIGNED_ACTIONS = ("decision.publish", "release.withdrawn", RESTORED, CORRECTED, ASKED, ANSWERED)
_OVERRIDABLE = ("fail", "unknown")


@dataclass(frozen=True)
class Bundle:
    """What stands in a bundle, read but not yet believed."""

    key: str  # the public key that is trusted, hexadecimal
    own_key: str  # the public key in the bundle
    script: str  # SHA-256 of the script in the bundle
    files: dict[str, str]  # the release's files in the bundle, name to SHA-256
    left_out: tuple[str, ...]  # the release's files that hold rows, and are not in the bundle
    package: bytes  # the release's data package; nothing where it has none
    manifest: dict[str, Any]
    policy: dict[str, Any]
    checkpoint: dict[str, Any]  # made with the release
    newest: dict[str, Any]  # the newest that the store had
    kept: dict[str, Any] | None  # one that the reader kept from elsewhere
    events: list[dict[str, Any]]
    paths: dict[int, list[bytes] | None]  # number of an event to its proof of inclusion
    consistency: dict[int, list[bytes]]  # size of an earlier checkpoint to the proof that the newest goes on

    @property
    def release(self) -> str:
        """The release's id."""
        return json_text(self.manifest["release_id"])

    @property
    def candidate(self) -> str:
        """The id of the candidate that was published."""
        return json_text(self.manifest["candidate_id"])

    def event(self, action: str, subject: str) -> dict[str, Any]:
        """Return the one event of that action and object. Raises Broken if there is none or more."""
        found = [one for one in self.events if one["action"] == action and one["object"] == subject]
        if len(found) != 1:
            raise Broken(f"{len(found)} events log {action} of {subject}; there should be one")
        return found[0]

    def published(self) -> dict[str, Any]:
        """Return the event by which the release appeared."""
        return self.event("release.published", self.release)

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
        return [one for one in self.all_decisions() if one["object"] == self.candidate]

    def all_decisions(self) -> list[dict[str, Any]]:
        """Return the accepted decisions on the candidate, and on those whose files were judged before it."""
        return [one for one in self.events if one["action"] in DECISIONS]

    def restorations(self) -> list[dict[str, Any]]:
        """Return the events by which people let the release be public again."""
        return [one for one in self.events if one["action"] == RESTORED and one["object"] == self.release]

    def proven_state(self) -> str:
        """Return how the release stands by the last event that a checkpoint signs."""
        return [
            json_text(one["payload"]["release_state"])
            for one in self.events
            if one["payload"].get("release") == self.release
            and "release_state" in one["payload"]
            and one["number"] <= whole_number(self.newest["size"])
        ][-1]

    def signed_events(self) -> list[dict[str, Any]]:
        """Return every event that keeps what a person did, with its proof."""
        return [one for one in self.events if one["action"] in (*DECISIONS, *_SIGNED_ACTIONS)]

    def overridden(self) -> bool:
        """Tell whether administrators let out what gates held back: enough words, and no gate that broke."""
        verdicts = {json_text(one["verdict"]) for one in self.gates()}
        overrides = sum(one["action"] == "decision.override" for one in self.decisions())
        fine = bool(verdicts & set(_OVERRIDABLE)) and verdicts <= {"pass", *_OVERRIDABLE}
        return fine and overrides >= OVERRIDES_NEEDED

    def gates(self) -> list[Any]:
        """Return the results of the gates, as they were logged."""
        return json_list(self.event("candidate.assessed", self.candidate)["payload"]["gates"])

    def demanded_gates(self) -> list[str]:
        """Return the gates that were to be asked; the first stores did not log them."""
        names = self.event("candidate.assessed", self.candidate)["payload"].get("asked")
        return [] if names is None else [json_text(one) for one in json_list(names)]

    def people_before(self, number: int) -> dict[str, Any] | None:
        """Return what the last event before that number says of the people in force, None if none does."""
        found = [one for one in self.events if one["action"] == "people.changed" and one["number"] < number]
        return found[-1]["payload"] if found else None

    def predecessors(self) -> list[str]:
        """Return the candidates whose files this one has, and which became stale or expired: newest first."""
        found: list[str] = []
        candidate = self.candidate
        while True:
            summary = self.event("candidate.staged", candidate)["payload"]["summary"]
            before = optional_object(summary.get("judged_again"), "judged_again")
            if not before:
                return found
            candidate = json_text(before["of"])
            if candidate in found:
                raise Broken("a candidate is its own predecessor")
            found.append(candidate)


def read_bundle(
    path: Path, trusted: str | None, kept: dict[str, Any] | None, report: Report
) -> Bundle | None:
    """Read a bundle; None, with findings in `report`, if its members are not those of one bundle.

    `trusted` is the key that the reader gave, `kept` the checkpoint. Raises Broken for what cannot be read.
    """
    with Archive(path) as archive:
        report.findings += check_written(archive)
        manifest = archive.document(RELEASE + MANIFEST)
        files = json_object(manifest["files"], "files of the manifest")
        wanted = _OWN | {RELEASE + name for name in (*files, MANIFEST)}
        present = archive.members.keys()
        # Rows may be left out of the bundle of a release that was withdrawn, which the log must say.
        left_out = {name for name in files if name not in WITHOUT_ROWS and RELEASE + name not in present}
        wanted -= {RELEASE + name for name in left_out}
        report.findings += [Finding(name, "is missing") for name in sorted(wanted - present)]
        report.findings += [
            Finding(name, "does not belong in the bundle") for name in sorted(present - wanted)
        ]
        if not wanted <= present:
            return None
        own_key = _own_key(archive.read(PUBLIC_KEY))
        archive.digest(README)  # no evidence, but whole
        evidence = archive.document(EVIDENCE)
        if not same(evidence["format"], FORMAT):
            raise Broken(f"has format {evidence['format']!r}; this script reads {FORMAT}")
        _check_fields(evidence, EVIDENCE, {"format", "events", "consistency"})
        proven = [
            (_event(_check_fields(one, "an event and its proof", {"event", "path"})["event"]), one["path"])
            for one in json_list(evidence["events"])
        ]
        if not proven:
            raise Broken("evidence.json holds no events")
        numbers = [event["number"] for event, _ in proven]
        if numbers != sorted(set(numbers)):
            raise Broken("the events are out of order, or one appears twice")
        return Bundle(
            key=trusted or own_key,
            own_key=own_key,
            script=archive.digest(SCRIPT),
            left_out=tuple(sorted(left_out)),
            files={
                name[len(RELEASE) :]: archive.digest(name)
                for name in sorted(present & wanted)
                if name.startswith(RELEASE)
            },
            package=archive.read(RELEASE + PACKAGE) if RELEASE + PACKAGE in present else b"",
            manifest=manifest,
            policy=archive.document(POLICY),
            checkpoint=archive.document(CHECKPOINT),
            newest=archive.document(NEWEST),
            kept=kept,
            events=[event for event, _ in proven],
            paths={event["number"]: None if path is None else _hash_path(path) for event, path in proven},
            consistency=_consistency(evidence["consistency"]),
        )


def _check_fields(found: Any, name: str, fields: set[str]) -> dict[str, Any]:
    """Return a JSON object again. Raises Broken unless it has just these fields."""
    if set(json_object(found, name)) != fields:
        raise Broken(f"{name} has missing or unknown fields")
    return cast("dict[str, Any]", found)


def _consistency(found: Any) -> dict[int, list[bytes]]:
    """Return the proofs that the newest log begins with an earlier one, by the size of that."""
    proofs = [_check_fields(one, "a proof of consistency", {"size", "path"}) for one in json_list(found)]
    paths = {whole_number(one["size"]): _hash_path(one["path"]) for one in proofs}
    if len(paths) < len(proofs):
        raise Broken("a proof of consistency appears twice")
    return paths


def _event(found: Any) -> dict[str, Any]:
    event = _check_fields(found, "an event", {*EVENT_FIELDS, "hash"})
    for name in ("at", "actor", "action", "object", "reason", "previous", "hash"):
        json_text(event[name])
    whole_number(event["number"])
    json_object(event["payload"], "the payload of an event")
    return event


def _hash_path(found: Any) -> list[bytes]:
    if not isinstance(found, list) or not all(is_hash(one) for one in found):
        raise Broken("a proof holds something that is not a hash")
    return [bytes.fromhex(one) for one in found]


def given_key(given: str | None) -> str | None:
    """Return the public key that was given: 64 hexadecimal digits or a PEM file. Raises Broken if not."""
    if given is None:
        return None
    text = given
    if is_hex(text, 64):
        if not is_public_key(text):
            raise Broken("the public key is not a valid Ed25519 key")
        return text
    return _pem_key(regular_file(Path(given)).read_bytes())


def _pem_key(data: bytes) -> str:
    try:
        key = serialization.load_pem_public_key(data)
    except Exception:
        raise Broken("there is no public key in PEM") from None
    if not isinstance(key, Ed25519PublicKey):
        raise Broken("the public key is not an Ed25519 key")
    found = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw).hex()
    if not is_public_key(found):
        raise Broken("the public key is not a valid Ed25519 key")
    return found


def _own_key(data: bytes) -> str:
    """Read the key of the bundle, which is written in one way: text beside it would be anybody's."""
    found = _pem_key(data)
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(found))
    pem = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    if data != pem:
        raise Broken("public-key.pem is not one key in its standard form")
    return found


def given_checkpoint(path: Path | None) -> dict[str, Any] | None:
    """Return the checkpoint in a file that was given. Raises Broken if it holds no JSON object."""
    return None if path is None else json_object(read_json(regular_file(path).read_bytes()), "the checkpoint")
