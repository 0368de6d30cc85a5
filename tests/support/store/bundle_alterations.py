"""Every alteration of a bundle that must be found, by the script and by the page: what is done and said.

They are made to the bundle of `clinic-2025-r1`, which ann made, and which bob and cleo approved.
"""

from __future__ import annotations

import base64
import io
import json
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from release_store.audit import keys
from release_store.canonical import digest_of, pretty_json, tree_digest
from release_store.evidence.bundle import write_evidence
from release_store.store import ReleaseStore
from tests.support.at_work import agreed, key_of, write_people
from tests.support.store.bundles import Members, Told
from tests.support.store.hand_made import approved, awaiting, publish_one, word

NAME = "clinic-2025-r1"
Edit = Callable[[Told], object]


def make_three_releases(folder: Path) -> Path:
    """Make a store, and the bundle of `NAME`, which two people approved and which was superseded later."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(keys.KEY_VARIABLE, raising=False)
        store = ReleaseStore.create(folder / "store")
        write_people(store.root)
        publish_one(store, approved(store, period="2024"))
        record = awaiting(store, period="2025", approvers=2)
        name = record.candidate_id
        store.ask(name, by="bob", text="why k 5?", credential=key_of("bob"))
        store.answer(name, by="ann", text="the owner agreed to it", credential=key_of("ann"))
        agreed(store, word(record), 2)
        agreed(store, word(record, by="cleo"), 2)
        publish_one(store, record.candidate_id)
        again = awaiting(store, period="2025", approvers=2, content="age_min,age_max\n30,39\n")
        agreed(store, word(again), 2)
        agreed(store, word(again, by="cleo"), 2)
        publish_one(store, again.candidate_id)
        write_evidence(store, NAME, folder / "bundle.zip")
    return folder


# By somebody without a key -------------------------------------------------------------------------------


def in_json(name: str, change: Callable[[Any], object]) -> Callable[[Members], object]:
    def alter(members: Members) -> None:
        document = json.loads(members[name])
        change(document)
        members[name] = pretty_json(document)

    return alter


def in_event(action: str, change: Callable[[Any], object]) -> Callable[[Members], object]:
    def find(document: Any) -> None:
        change(next(one for one in document["events"] if one["event"]["action"] == action))

    return in_json("evidence.json", find)


def flipped(text: str) -> str:
    return ("1" if text[0] != "1" else "2") + text[1:]


def capitals(proof: Any) -> list[str]:
    return [one.upper() for one in proof["path"]]


def pem_of(raw: bytes) -> bytes:
    """Return 32 bytes as the PEM text of an Ed25519 key (RFC 8410), whether they are one or not."""
    written = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + raw)
    return b"-----BEGIN PUBLIC KEY-----\n" + written + b"\n-----END PUBLIC KEY-----\n"


ALTERATIONS: dict[str, tuple[Callable[[Members], object], str]] = {
    "a published byte": (
        lambda m: m.update({"release/data.csv": m["release/data.csv"].replace(b"29", b"28")}),
        "release/data.csv: differs from the published file",
    ),
    "a manifest": (
        in_json("release/manifest.json", lambda d: d.update(made_by="eve")),
        "release/manifest.json: differs from the published file",
    ),
    "a manifest that is no JSON": (lambda m: m.update({"release/manifest.json": b"{"}), "cannot be read"),
    "a name twice in the manifest": (
        lambda m: m.update({"release/manifest.json": b'{"files":{},' + m["release/manifest.json"][1:]}),
        "cannot be read",
    ),
    "a payload": (
        in_event("candidate.staged", lambda d: d["event"]["payload"].update(summary={})),
        "does not match its hash: it was changed",
    ),
    "an actor": (in_event("decision.approve", lambda d: d["event"].update(actor="eve")), "does not match"),
    "an event's hash": (
        in_event("candidate.staged", lambda d: d["event"].update(hash=flipped(d["event"]["hash"]))),
        "does not match its hash: it was changed",
    ),
    "an event's number": (
        in_event("candidate.staged", lambda d: d["event"].update(number=2)),
        "does not match its hash: it was changed",
    ),
    "a field added": (
        in_event("candidate.staged", lambda d: d["event"].update(more=1)),
        "missing or unknown fields",
    ),
    "a field beside an event": (
        in_event("candidate.staged", lambda d: d.update(more=1)),
        "an event and its proof has missing or unknown fields",
    ),
    "a field of the evidence": (
        in_json("evidence.json", lambda d: d.update(more=1)),
        "evidence.json has missing or unknown fields",
    ),
    "a field of a proof of consistency": (
        in_json("evidence.json", lambda d: d["consistency"][0].update(more=1)),
        "a proof of consistency has missing or unknown fields",
    ),
    "a proof of consistency twice": (
        in_json("evidence.json", lambda d: d["consistency"].append(d["consistency"][0])),
        "a proof of consistency appears twice",
    ),
    "a proof": (
        in_event("release.published", lambda d: d["path"].__setitem__(0, flipped(d["path"][0]))),
        "is not proven",
    ),
    "a proof cut": (in_event("release.published", lambda d: d["path"].pop()), "is not proven"),
    "a proof taken away": (in_event("release.published", lambda d: d.update(path=None)), "is not proven"),
    "a proof of no hashes": (in_event("release.published", lambda d: d.update(path=["ab"])), "not a hash"),
    "a proof in capitals": (
        in_event("release.published", lambda d: d["path"].__setitem__(0, d["path"][0].upper())),
        "not a hash",
    ),
    "a proof with blanks": (
        in_event("release.published", lambda d: d["path"].__setitem__(0, f" {d['path'][0]}")),
        "not a hash",
    ),
    "a consistency proof in capitals": (
        in_json("evidence.json", lambda d: d["consistency"][-1].update(path=capitals(d["consistency"][-1]))),
        "not a hash",
    ),
    "a hash in capitals": (
        in_event("candidate.staged", lambda d: d["event"].update(hash=d["event"]["hash"].upper())),
        "does not match its hash: it was changed",
    ),
    "a signature in capitals": (
        in_json("checkpoint.json", lambda d: d.update(signature=d["signature"].upper())),
        "is not signed",
    ),
    "a signature with blanks": (
        in_json(
            "checkpoint.json", lambda d: d.update(signature=f"{d['signature'][:2]} {d['signature'][2:]}")
        ),
        "is not signed",
    ),
    "a root in capitals": (
        in_json("newest-checkpoint.json", lambda d: d.update(root=d["root"].upper())),
        "is not signed",
    ),
    "text beside the key": (
        lambda m: m.update({"public-key.pem": b"The store's key:\n" + m["public-key.pem"]}),
        "public-key.pem is not one key in its standard form",
    ),
    "a key with other line ends": (
        lambda m: m.update({"public-key.pem": m["public-key.pem"].replace(b"\n", b"\r\n")}),
        "public-key.pem is not one key in its standard form",
    ),
    "a key off the curve": (
        lambda m: m.update({"public-key.pem": pem_of(b"\2" + bytes(31))}),
        "the public key is not a valid Ed25519 key",
    ),
    "the consistency proof": (
        in_json("evidence.json", lambda d: d["consistency"][-1].update(path=[])),
        "does not continue",
    ),
    "the consistency proofs": (in_json("evidence.json", lambda d: d.update(consistency=[])), "not continue"),
    "the format": (in_json("evidence.json", lambda d: d.update(format=2)), "has format 2"),
    "a checkpoint's size": (in_json("checkpoint.json", lambda d: d.update(size=19)), "is not signed"),
    "a checkpoint's root": (in_json("checkpoint.json", lambda d: d.update(root="00" * 32)), "is not signed"),
    "a checkpoint without its root": (in_json("checkpoint.json", lambda d: d.pop("root")), "is not signed"),
    "the newest checkpoint": (in_json("newest-checkpoint.json", lambda d: d.update(at="")), "is not signed"),
    "a checkpoint that is a list": (lambda m: m.update({"checkpoint.json": b"[]"}), "is not a JSON object"),
    "a checkpoint of a text size": (
        in_json("checkpoint.json", lambda d: d.update(size="x")),
        "is not signed",
    ),
    "a decision": (
        in_event("decision.approve", lambda d: d["event"]["payload"].update(candidate_digest="0")),
        "does not match",
    ),
    "a decision taken away": (
        in_json(
            "evidence.json",
            lambda d: d["events"].remove(
                next(one for one in d["events"] if one["event"]["action"] == "decision.approve")
            ),
        ),
        "decisions: the release has 1 of 2 required approvals",
    ),
    "the events taken away": (in_json("evidence.json", lambda d: d.update(events=[])), "holds no events"),
    "the events turned round": (
        in_json("evidence.json", lambda d: d["events"].reverse()),
        "the events are out of order, or one appears twice",
    ),
    "a gate's verdict": (
        in_event("candidate.assessed", lambda d: d["event"]["payload"]["gates"][0].update(verdict="fail")),
        "gates: k says fail",
    ),
    "the policy": (
        in_json("policy.json", lambda d: d["approval"].update(approvers=0)),
        "policy.json: is not the policy of the release",
    ),
    "a policy that is no object": (lambda m: m.update({"policy.json": b"7"}), "is not a JSON object"),
    "a policy too deep": (lambda m: m.update({"policy.json": b"[" * 10**5}), "cannot be read"),
    "a key that is none": (lambda m: m.update({"public-key.pem": b"\xff"}), "no public key in PEM"),
    "a missing file": (lambda m: m.pop("release/data.csv"), "release/data.csv: is missing"),
    "a missing checkpoint": (lambda m: m.pop("checkpoint.json"), "checkpoint.json: is missing"),
    "a missing manifest": (lambda m: m.pop("release/manifest.json"), "release/manifest.json is missing"),
    "a file added": (lambda m: m.update({"release/more.csv": b""}), "release/more.csv: does not belong"),
    "a script that does more": (
        lambda m: m.update({"verify_evidence.py": m["verify_evidence.py"] + b"\nprint('more')\n"}),
        "verify_evidence.py: is no script that releasegate wrote",
    ),
    "a script that does nothing": (
        lambda m: m.update({"verify_evidence.py": b""}),
        "verify_evidence.py: is no script that releasegate wrote",
    ),
    "a text that asks for more": (
        lambda m: m.update({"README.txt": m["README.txt"] + b"Then run get.sh as root.\n"}),
        "README.txt: is no text that releasegate wrote",
    ),
    "a text under a title of more": (
        lambda m: m.update({"README.txt": m["README.txt"].replace(b"-r1\n=", b"-r1, and run get.sh\n=")}),
        "README.txt: is no text that releasegate wrote",
    ),
    "a name that climbs": (lambda m: m.update({"../../x": b""}), "'../../x' is not a name"),
    "a name from the root": (lambda m: m.update({"/etc/x": b""}), "'/etc/x' is not a name"),
    "a name of Windows": (lambda m: m.update({"..\\x": b""}), "is not a name"),
}


# By somebody who signs -----------------------------------------------------------------------------------


def gate(tale: Told, verdict: str) -> None:
    for gates in (tale.manifest["gates"], tale.event("candidate.assessed")["payload"]["gates"]):
        gates[0]["verdict"] = verdict


def no_gates(tale: Told) -> None:
    tale.manifest["gates"] = tale.event("candidate.assessed")["payload"]["gates"] = []


def decision(**changed: str) -> Edit:
    def edit(tale: Told) -> None:
        event = tale.event("decision.approve")
        event["payload"].update(changed)
        event["actor"] = event["payload"]["by"]
        tale.manifest["decisions"][0].update(changed)

    return edit


def renamed_maker(tale: Told) -> None:
    proof = tale.event("decision.approve")["payload"]["proof"]
    tale.event("candidate.staged")["payload"]["maker"] = {"public_key": proof["public_key"], "token": None}


def rejection(tale: Told) -> None:
    tale.event("decision.approve")["action"] = "decision.reject"


def policy(**changed: Any) -> Edit:
    def edit(tale: Told) -> None:
        tale.policy.update(changed)
        digest = digest_of(tale.policy)
        tale.manifest["policy_digest"] = digest
        for event in tale.events:
            if "policy_digest" in event["payload"]:
                event["payload"]["policy_digest"] = digest
        for one in tale.manifest["decisions"]:
            one["policy_digest"] = digest

    return edit


def needing(number: object) -> Edit:
    def edit(tale: Told) -> None:
        for said in (tale.manifest, tale.event("candidate.staged")["payload"]):
            said["summary"]["approval"]["needed"] = number

    return edit


def other_files(tale: Told) -> None:
    tale.files["data.csv"] = b"other"
    files = {name: tale.manifest["files"][name] for name in ("data.csv", "datapackage.json")}
    files["data.csv"] = digest_of(None)
    tale.manifest["files"] = tale.event("candidate.staged")["payload"]["files"] = files
    assert tree_digest(files) != tale.manifest["candidate_digest"]


def in_manifest(**changed: Any) -> Edit:
    return lambda tale: tale.manifest.update(changed)


def swapped(first: str, second: str) -> Edit:
    def edit(tale: Told) -> None:
        one, other = tale.event(first), tale.event(second)
        one["number"], other["number"] = other["number"], one["number"]
        tale.events.sort(key=lambda event: event["number"])

    return edit


def answer_to_another(tale: Told) -> None:
    tale.event("question.answered")["payload"]["bound"]["question"] = "0" * 64


def withdrawn(tale: Told) -> None:
    tale.event("release.superseded")["payload"]["release_state"] = "withdrawn"


FORGERIES: dict[str, tuple[Edit, str]] = {
    "a gate that failed": (lambda t: gate(t, "fail"), "gates: k says fail"),
    "a gate that did not know": (lambda t: gate(t, "unknown"), "gates: k says unknown"),
    "no gate": (no_gates, "gates: no gate was run"),
    "a gate that was not asked": (policy(gates={"err": {"max": 0.1}}), "gates: the policy requires err"),
    "too few people": (policy(approval={"approvers": 3}), "the release has 2 of 3 required approvals"),
    "fewer people than a looser policy takes": (needing(3), "the release has 2 of 3 required approvals"),
    "a number without sense": (needing("x"), "a number of events is not a whole number"),
    "a policy without sense": (
        policy(approval={"approvers": "x"}),
        "a number of events is not a whole number",
    ),
    "the maker's own decision": (decision(by=" ANN "), "by the person who made the release"),
    "the decision of the maker, renamed": (renamed_maker, "by the person who made the release"),
    "a decision given twice": (decision(by="Cleo"), "one person decided twice"),
    "a rejection": (rejection, "is a rejection of the published candidate"),
    "a rejection in the payload": (decision(decision="reject"), "is a rejection of the published candidate"),
    "other files decided on": (decision(candidate_digest="0" * 64), "about other files"),
    "another policy decided on": (decision(policy_digest="0" * 64), "about other files, another policy"),
    "another history decided on": (decision(history_head="0" * 64), "another history"),
    "a decision by another actor": (
        lambda t: t.event("decision.approve").update(actor="eve"),
        "somebody other than its actor",
    ),
    "a decision on another": (lambda t: t.event("decision.approve").update(object="x"), "another candidate"),
    "another policy": (lambda t: t.policy.update(seed=1), "policy.json: is not the policy"),
    "files that were not judged": (other_files, "its candidate_digest does not match its files"),
    "another input": (in_manifest(input_digest="0"), "its input_digest differs from the logged one"),
    "another maker": (in_manifest(made_by="eve"), "its made_by differs from the logged one"),
    "other gates": (in_manifest(gates=[]), "its gates differs from the logged one"),
    "other decisions": (in_manifest(decisions=[]), "its decisions differs from the logged one"),
    "corrects the clock of a different log": (in_manifest(log={}), "its log differs from the logged one"),
    "another candidate": (
        in_manifest(candidate_id="x"),
        "names a different candidate than the published one",
    ),
    "another order": (swapped("candidate.assessed", "decision.approve"), "in this order"),
    "an answer taken away": (
        lambda t: t.events.remove(t.event("question.answered")),
        "approves clinic-2025-c1 while a question has no answer",
    ),
    "an approval before the answer": (
        swapped("decision.approve", "question.answered"),
        "approves clinic-2025-c1 while a question has no answer",
    ),
    "a question taken away": (
        lambda t: t.events.remove(t.event("question.asked")),
        "answers no open question",
    ),
    "an answer to another question": (answer_to_another, "answers no open question"),
    "other classes": (
        lambda t: t.event("release.published")["payload"].update(classes="x"),
        "its classes differs from that at the start of the publication",
    ),
    "another store": (
        lambda t: t.event("store.created")["payload"].update(store_id="x"),
        "the store's first id is not the signed id",
    ),
    "no beginning": (lambda t: t.events.pop(0), "is missing, so the store's first key is unknown"),
    "no staging": (lambda t: t.events.remove(t.event("candidate.staged")), "0 events log candidate.staged"),
    "no start": (lambda t: t.events.remove(t.event("publication.started")), "cannot be read (IndexError)"),
    "an appearance twice": (
        lambda t: t.events.append({**t.event("release.published"), "number": 10**6}),
        "2 events log release.published",
    ),
}


# By somebody who takes the zip for another -----------------------------------------------------------------


def _record(data: bytes, name: str) -> int:
    """Return where the central directory tells of a member."""
    return data.rindex(name.encode()) - 46


def _told(name: str, at: int, form: str, value: int) -> Callable[[bytes], bytes]:
    """Say something else of a member in the central directory."""

    def alter(data: bytes) -> bytes:
        place = _record(data, name) + at
        return data[:place] + struct.pack(form, value) + data[place + struct.calcsize(form) :]

    return alter


def _packed_as(method: int) -> Callable[[bytes], bytes]:
    def alter(data: bytes) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as one, zipfile.ZipFile(out, "w", method) as two:
            for name in one.namelist():
                two.writestr(name, one.read(name))
        return out.getvalue()

    return alter


def _with_twice(name: str) -> Callable[[bytes], bytes]:
    def alter(data: bytes) -> bytes:
        out = io.BytesIO(data)
        with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(out, "a") as archive:
            archive.writestr(name, b"other")
        return out.getvalue()

    return alter


def _with_comment(data: bytes) -> bytes:
    return data[:-2] + struct.pack("<H", 5) + b"hello"


def _hidden(data: bytes) -> bytes:
    """Put a member before the directory that the directory does not name."""
    end = data.rfind(b"PK\5\6")
    size, start = struct.unpack("<II", data[end + 12 : end + 20])
    name, text = b"release/data.csv", b"another"
    header = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 0, 0, 33, zlib.crc32(text), 7, 7, len(name), 0)
    member = header + name + text
    moved = data[end : end + 16] + struct.pack("<I", start + len(member)) + data[end + 20 :]
    return data[:start] + member + data[start : start + size] + moved


def told_twice(name: str, at: int, form: str, value: int) -> Callable[[bytes], bytes]:
    """Say something else of a member in the directory and in the header before its data."""

    def alter(data: bytes) -> bytes:
        place = struct.unpack("<I", data[_record(data, name) + 42 :][:4])[0] + at - 2
        other = data[:place] + struct.pack(form, value) + data[place + struct.calcsize(form) :]
        return _told(name, at, form, value)(other)

    return alter


def _repacked(name: str, pack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Put other packed bytes of a member into the zip, and say of it the size that it had."""

    def alter(data: bytes) -> bytes:
        out, directory = b"", b""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {one.filename: archive.read(one) for one in archive.infolist()}
        for other, content in members.items():
            engine = zlib.compressobj(9, zlib.DEFLATED, -15)
            packed = engine.compress(content) + engine.flush()
            packed = pack(packed) if other == name else packed
            told = struct.pack(
                "<HHHHHIIIHH", 20, 0, 8, 0, 33, zlib.crc32(content), len(packed), len(content), len(other), 0
            )
            directory += b"PK\1\2" + b"\x14\x03" + told + bytes(10) + struct.pack("<I", len(out))
            directory += other.encode()
            out += b"PK\3\4" + told + other.encode() + packed
        count = len(members)
        end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), len(out), 0)
        return out + directory + end

    return alter


_NO_CHECKSUM = "does not match its checksum in the zip"
_NO_BUNDLE = "is not a complete bundle written by releasegate; copy it again from its source"

# With what is found, nothing where it stays the bundle that it was.
OTHER_ZIPS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "nothing compressed": (_packed_as(zipfile.ZIP_STORED), ""),
    "compressed again": (_packed_as(zipfile.ZIP_DEFLATED), ""),
    "compressed by hand": (_repacked("policy.json", lambda packed: packed), ""),
    "another checksum": (
        told_twice("release/data.csv", 16, "<I", 7),
        _NO_CHECKSUM,
    ),
    "another checksum of the script": (
        told_twice("verify_evidence.py", 16, "<I", 7),
        _NO_CHECKSUM,
    ),
    "a symbolic link": (_told("release/data.csv", 38, "<I", 0o120777 << 16), _NO_BUNDLE),
    "a folder by its mark": (_told("release/data.csv", 38, "<I", 0o100644 << 16 | 0x10), _NO_BUNDLE),
    "compressed in another way": (_packed_as(zipfile.ZIP_BZIP2), _NO_BUNDLE),
    "a comment": (_with_comment, _NO_BUNDLE),
    "something before it": (lambda d: b"#!/bin/sh\n" + d, _NO_BUNDLE),
    "something behind it": (lambda d: d + b"\0", _NO_BUNDLE),
    "another bundle before it": (lambda d: d + d, _NO_BUNDLE),
    "a member that the directory leaves out": (_hidden, _NO_BUNDLE),
    "nothing": (lambda _: b"", _NO_BUNDLE),
    "a beginning": (lambda d: d[: len(d) // 3], _NO_BUNDLE),
    "all but the end": (lambda d: d[:-1], _NO_BUNDLE),
    "a name twice": (_with_twice("release/data.csv"), "'release/data.csv' appears in the zip twice"),
    "a folder": (_with_twice("release/"), _NO_BUNDLE),
    "a name that nobody sees": (_with_twice("x\u202e.csv"), _NO_BUNDLE),
    "a name that is hidden": (_with_twice("release/.x"), "'release/.x' is not a name that a bundle may hold"),
    "a member more": (_with_twice("release/x.csv"), "release/x.csv: does not belong in the bundle"),
    "a member longer than it is": (_told("policy.json", 20, "<I", 10**4), _NO_BUNDLE),
    "a member in another": (_told("verify_evidence.py", 42, "<I", 60), _NO_BUNDLE),
    "a member behind the end": (_told("README.txt", 42, "<I", 10**7), _NO_BUNDLE),
    "a member cut": (_told("policy.json", 20, "<I", 20), _NO_BUNDLE),
    "a checksum in one place": (_told("release/data.csv", 16, "<I", 7), _NO_BUNDLE),
    "a size in one place": (_told("policy.json", 24, "<I", 10**5), _NO_BUNDLE),
    "more members than are there": (lambda d: d[:-12] + b"\x7f\0" + d[-10:], _NO_BUNDLE),
    "a member said to be larger": (
        told_twice("policy.json", 24, "<I", 10**5),
        "policy.json is shorter than the directory says",
    ),
    "a member said to be smaller": (
        told_twice("policy.json", 24, "<I", 30),
        "policy.json is longer than the directory says",
    ),
    "a document without end": (
        told_twice("evidence.json", 24, "<I", 2**28 + 1),
        "evidence.json is too large",
    ),
    "a stream that is cut": (
        _repacked("release/data.csv", lambda packed: packed[:-1]),
        "has a member that is cut short",
    ),
    "something behind a stream": (
        _repacked("release/data.csv", lambda packed: packed + b"\0"),
        "has data after the end of a member",
    ),
    "a stream that is none": (_repacked("policy.json", lambda _: b"\xff" * 9), "cannot be read (error)"),
    "an encrypted member": (told_twice("policy.json", 8, "<H", 1), _NO_BUNDLE),
    "a patch": (told_twice("policy.json", 8, "<H", 32), _NO_BUNDLE),
    "an unknown compression": (told_twice("policy.json", 10, "<H", 99), _NO_BUNDLE),
    "a compressed member said to be stored": (told_twice("policy.json", 10, "<H", 0), _NO_BUNDLE),
}
