"""A bundle verifies anywhere, and any alteration of it is found: by the hashes, or by what it then says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
import rfc8785
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy.errors import StoreError, UsageError, VerificationFailed
from release_store.audit import keys
from release_store.audit.checkpoints import kept_file
from release_store.canonical import canonical_json, digest_of, pretty_json
from release_store.db.connection import DATABASE
from release_store.evidence.bundle import write_evidence
from release_store.evidence.examine import _one_line, examine, main
from release_store.evidence.findings import Report
from release_store.protocol.strict_json import canonical, read_json
from release_store.publishing.public_files import checkpoint_file
from release_store.publishing.public_index import update_public_index
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import agreed
from tests.support.store.bundle_alterations import (
    ALTERATIONS,
    FORGERIES,
    NAME,
    OTHER_ZIPS,
    make_three_releases,
    withdrawn,
)
from tests.support.store.bundles import Members, forged, put_together, taken_apart
from tests.support.store.hand_made import approved, awaiting, publish_one, word


@pytest.fixture(scope="module")
def three_releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store: two people approved `clinic-2025-r1`, which was superseded later."""
    return make_three_releases(tmp_path_factory.mktemp("three_releases"))


@pytest.fixture
def bundle(three_releases: Path) -> Path:
    return three_releases / "bundle.zip"


@pytest.fixture
def members(bundle: Path) -> Members:
    return taken_apart(bundle)


@pytest.fixture
def history(three_releases: Path, tmp_path: Path) -> ReleaseStore:
    shutil.copytree(three_releases, tmp_path / "copy", symlinks=True)
    return ReleaseStore.open(tmp_path / "copy" / "store")


def true_key(three_releases: Path) -> str:
    found = keys.read_public_hex(three_releases / "store")
    assert found
    return found


def what(report: Report) -> str:
    return "\n".join(map(str, report.findings))


def test_a_release_that_is_too_large_for_a_bundle_is_told_and_leaves_nothing(
    history: ReleaseStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    with pytest.raises(UsageError, match="too large for a bundle, which holds at most 2 GiB"):
        write_evidence(history, NAME, tmp_path / "large.zip")
    assert [each.name for each in tmp_path.iterdir()] == ["copy"]


# A stranger ------------------------------------------------------------------------------------------


def as_a_stranger(bundle: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Unpack the script alone, and run it where there is nothing else."""
    folder.mkdir()
    (folder / "verify_evidence.py").write_bytes(taken_apart(bundle)["verify_evidence.py"])
    return subprocess.run(
        [sys.executable, "-I", "verify_evidence.py", str(bundle), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={},
    )


def test_a_stranger_verifies_a_bundle_with_the_script_inside(
    bundle: Path, three_releases: Path, tmp_path: Path
) -> None:
    earlier = checkpoint_file(three_releases / "store", "clinic", "clinic-2024-r1")
    key = str(three_releases / "store" / "public-key.pem")
    ran = as_a_stranger(bundle, tmp_path / "empty", "--public-key", key, "--checkpoint", str(earlier))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        f"note: {NAME} was published, and is superseded now",
        (
            "note: a bundle cannot show what was left out of it: see the publisher's catalog for the state "
            "of the release now"
        ),
        f"{NAME}: 3 files and 15 of 32 events in the log verified; no tampering found",
    ]


def test_without_a_key_the_script_says_that_it_trusts_the_bundle_s(
    bundle: Path, three_releases: Path, tmp_path: Path
) -> None:
    ran = as_a_stranger(bundle, tmp_path / "empty")
    assert ran.returncode == 0
    assert "the bundle's own key was trusted" in ran.stdout
    assert true_key(three_releases) in ran.stdout


def test_a_stranger_is_told_of_a_changed_byte_without_a_traceback(members: Members, tmp_path: Path) -> None:
    members["release/data.csv"] = b"age_min,age_max\n20,28\n"
    ran = as_a_stranger(put_together(tmp_path / "altered.zip", members), tmp_path / "empty")
    assert (ran.returncode, ran.stderr) == (6, "")
    assert ran.stdout.splitlines()[0] == "release/data.csv: differs from the published file"


def test_the_script_loads_nothing_of_ours(bundle: Path, tmp_path: Path) -> None:
    probe = (
        "import runpy, sys; sys.argv = ['verify_evidence.py', sys.argv[1]]\n"
        "try: runpy.run_path('verify_evidence.py', run_name='__main__')\n"
        "except SystemExit as ended: assert ended.code == 0\n"
        "ours = {'policy', 'release_store', 'expectations', 'tasks', 'flows', 'duckdb', 'numpy'}\n"
        "print(sorted(ours & {name.split('.')[0] for name in sys.modules}), 'cryptography' in sys.modules)"
    )
    (tmp_path / "verify_evidence.py").write_bytes(taken_apart(bundle)["verify_evidence.py"])
    ran = subprocess.run(
        [sys.executable, "-I", "-c", probe, str(bundle)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines()[-1] == "[] True"


# What a bundle holds ---------------------------------------------------------------------------------


def test_a_bundle_holds_these_members_and_no_others(members: Members, bundle: Path) -> None:
    assert list(members) == [
        "README.txt",
        "checkpoint.json",
        "evidence.json",
        "newest-checkpoint.json",
        "policy.json",
        "public-key.pem",
        "release/data.csv",
        "release/datapackage.json",
        "release/manifest.json",
        "verify_evidence.py",
    ]
    assert len(members["README.txt"].decode().splitlines()) <= 30
    events = [one["event"] for one in json.loads(members["evidence.json"])["events"]]
    assert [one["action"] for one in events] == [
        "store.created",
        "candidate.staged",
        "candidate.assessed",
        "log.sealed",
        "candidate.awaiting_approval",
        "people.changed",
        "question.asked",
        "question.answered",
        "decision.approve",
        "decision.approve",
        "candidate.approved",
        "publication.started",
        "log.sealed",
        "release.published",
        "release.superseded",
    ]


def test_two_bundles_of_one_store_are_the_same_bytes(
    bundle: Path, history: ReleaseStore, tmp_path: Path
) -> None:
    again = write_evidence(history, NAME, tmp_path / "again.zip")
    assert again.read_bytes() == bundle.read_bytes()


@pytest.mark.parametrize("name", ["clinic-2024-r1", "clinic-2025-r2"])
def test_every_release_has_evidence(history: ReleaseStore, name: str, tmp_path: Path) -> None:
    out = write_evidence(history, name, tmp_path / "b.zip")
    assert examine(out, keys.read_public_hex(history.root)).findings == []


def test_evidence_of_files_that_were_judged_again_has_what_came_before(
    store: ReleaseStore, tmp_path: Path
) -> None:
    first = awaiting(store, approvers=2)
    agreed(store, word(first, "bob"), 2)
    publish_one(store, approved(store, period="2023"))  # and the first is stale
    summary = first.summary.reassessed(first.candidate_id, "eve").document
    again = awaiting(store, approvers=2, summary=summary)
    for name in ("bob", "cyd"):
        agreed(store, word(again, name), 2)
    release = publish_one(store, again.candidate_id)
    out = write_evidence(store, release.release_id, tmp_path / "b.zip")
    assert examine(out, keys.read_public_hex(store.root)).findings == []
    with zipfile.ZipFile(out) as archive:
        events = [one["event"] for one in json.loads(archive.read("evidence.json"))["events"]]
    told = [event["action"] for event in events if event["object"] == first.candidate_id]
    assert told == [
        "candidate.staged",
        "candidate.assessed",
        "log.sealed",
        "candidate.awaiting_approval",
        "decision.approve",
        "candidate.stale",
    ]


@pytest.mark.parametrize("name", ["store/history.duckdb", "store/new.zip", "notes.txt", "link.zip"])
def test_a_bundle_takes_the_place_of_nothing_but_a_bundle(
    history: ReleaseStore, name: str, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.zip"
    with zipfile.ZipFile(kept, "w") as archive:
        archive.writestr("a", "b")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "link.zip").symlink_to(kept)
    out = history.root / name.removeprefix("store/") if name.startswith("store/") else tmp_path / name
    before = out.read_bytes() if out.exists() else None
    with pytest.raises(UsageError, match=r"is inside the store|is not an evidence bundle"):
        write_evidence(history, NAME, out)
    assert (out.read_bytes() if out.exists() else None) == before
    assert write_evidence(history, NAME, kept) == kept


def test_an_unknown_release_or_an_unwritable_file_is_told(history: ReleaseStore, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no release 'clinic-2030-r1'"):
        write_evidence(history, "clinic-2030-r1", tmp_path / "b.zip")
    with pytest.raises(UsageError, match="cannot be written"):
        write_evidence(history, NAME, tmp_path / "no" / "folder.zip")
    with pytest.raises(UsageError, match="has too long a name"):
        write_evidence(history, NAME, tmp_path / ("a" * 300))


@pytest.mark.parametrize("damaged", ["clinic-2025-r1/data.csv", "clinic-2025-r1.checkpoint.json"])
def test_an_altered_store_gives_no_evidence(history: ReleaseStore, damaged: str, tmp_path: Path) -> None:
    (history.root / "releases" / "clinic" / damaged).write_bytes(b"{}")
    with pytest.raises(VerificationFailed):
        write_evidence(history, NAME, tmp_path / "b.zip")
    assert list(tmp_path.glob("*.zip*")) == list(tmp_path.glob(".*.new")) == []


# Checkpoints of the earlier form ---------------------------------------------------------------------


def without_root(store: ReleaseStore, release: str) -> None:
    path = checkpoint_file(store.root, "clinic", release)
    signed = json.loads(path.read_text())
    facts = {name: signed[name] for name in ("store_id", "size", "head", "at")}
    path.write_bytes(pretty_json(keys.sign_checkpoint(keys.load_key(store.root), **facts)))


def test_a_checkpoint_without_a_root_still_verifies_and_is_proven_by_a_newer_one(
    history: ReleaseStore, tmp_path: Path
) -> None:
    without_root(history, NAME)
    assert verify(history) == []
    out = write_evidence(history, NAME, tmp_path / "b.zip")
    assert examine(out).findings == []
    earlier = tmp_path / "earlier.json"
    earlier.write_bytes(taken_apart(out)["checkpoint.json"])
    assert examine(out, checkpoint=earlier).findings == []


def test_where_no_checkpoint_has_a_root_there_is_no_evidence_yet(
    history: ReleaseStore, tmp_path: Path
) -> None:
    for name in ("clinic-2024-r1", NAME, "clinic-2025-r2"):
        without_root(history, name)
    with pytest.raises(StoreError, match="signs the root"):
        write_evidence(history, NAME, tmp_path / "b.zip")


def test_a_signed_root_that_is_not_the_log_s_is_found_in_the_store(history: ReleaseStore) -> None:
    path = checkpoint_file(history.root, "clinic", NAME)
    signed = json.loads(path.read_text())
    facts = {name: signed[name] for name in ("store_id", "size", "head", "at")}
    path.write_bytes(pretty_json(keys.sign_checkpoint(keys.load_key(history.root), **facts, root="00" * 32)))
    (finding,) = verify(history)
    assert "the Merkle root of the first" in finding.what


@pytest.mark.parametrize(
    ("number", "said"),
    [(3, "event 4: follows event 2"), (31, "event 32: follows event 30")],
)
def test_a_log_with_a_gap_is_not_signed(history: ReleaseStore, number: int, said: str) -> None:
    """Before or after the newest checkpoint that is left; nothing is kept beside the key."""
    kept_file(history.root, history.store_id).unlink()
    checkpoint_file(history.root, "clinic", "clinic-2025-r2").unlink()
    with duckdb.connect(str(history.root / DATABASE)) as con:
        con.execute("DROP TRIGGER event_keeps_deletes ON event")
        con.execute("DELETE FROM event WHERE number = ?", [number])
    with pytest.raises(VerificationFailed, match=said):
        update_public_index(history, keys.load_key(history.root), "clinic")
    assert not checkpoint_file(history.root, "clinic", "clinic-2025-r2").exists()


def test_an_event_after_the_newest_checkpoint_is_told_as_not_proven(
    history: ReleaseStore, tmp_path: Path
) -> None:
    """The checkpoint of the release that superseded it is lost: the last event has no checkpoint yet."""
    checkpoint_file(history.root, "clinic", "clinic-2025-r2").unlink()
    out = write_evidence(history, NAME, tmp_path / "b.zip")
    report = examine(out)
    assert report.findings == []
    assert any("release.superseded) is newer than every checkpoint" in note for note in report.notes)
    update_public_index(history, keys.load_key(history.root), "clinic")
    assert not any("newer" in note for note in examine(write_evidence(history, NAME, out)).notes)


def test_an_event_that_nobody_signed_says_nothing_of_the_state(
    members: Members, tmp_path: Path, three_releases: Path
) -> None:
    evidence = json.loads(members["evidence.json"])
    last = evidence["events"][-1]["event"]
    event = {
        **last,
        "number": last["number"] + 100,
        "actor": "eve",
        "action": "remark.made",
        "payload": {"release": NAME, "release_state": "withdrawn"},
    }
    del event["hash"]
    evidence["events"].append({"event": {**event, "hash": digest_of(event)}, "path": None})
    members["evidence.json"] = pretty_json(evidence)
    report = examine(put_together(tmp_path / "b.zip", members), true_key(three_releases))
    assert report.findings == []
    assert any("(remark.made) is newer than every checkpoint: not proven" in note for note in report.notes)
    assert not any("withdrawn now" in note for note in report.notes)


_TELL = """
from release_store.evidence.examine import tell
from release_store.evidence.findings import Report

tell(Report([], ["\\u0416\\u0430\\u043d\\u043d\\u0430 approved it"], "fine"))
"""


def test_a_console_that_lacks_letters_shows_their_numbers() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(
        [sys.executable, "-c", _TELL], capture_output=True, text=True, env=environment, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "note: \\u0416\\u0430\\u043d\\u043d\\u0430 approved it\nfine\n"


# Alterations by somebody without a key ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ALTERATIONS)
def test_an_altered_bundle_has_a_finding(
    kind: str, members: Members, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alter, found = ALTERATIONS[kind]
    alter(members)
    assert main([str(put_together(tmp_path / "altered.zip", members))]) == 6
    out, err = capsys.readouterr()
    assert found in out
    assert err == ""
    assert "no tampering found" not in out


@pytest.mark.enemy("reader", "runs code")
@pytest.mark.parametrize("name", ["verify_evidence.py", "README.txt"])
def test_an_altered_script_or_text_is_told_before_all_else(
    members: Members, tmp_path: Path, name: str
) -> None:
    members[name] += b"\nimport os\n"
    (only,) = examine(put_together(tmp_path / "one.zip", members)).findings
    assert only.where == name
    members["release/manifest.json"] = b"{"
    first, *others = examine(put_together(tmp_path / "more.zip", members)).findings
    assert first == only
    assert others


def test_another_key_in_the_bundle_is_found(members: Members, tmp_path: Path) -> None:
    members["public-key.pem"] = keys.public_pem(keys.make_key(tmp_path / "other"))
    assert "is not signed by the trusted key" in what(examine(put_together(tmp_path / "b.zip", members)))


@pytest.mark.parametrize(
    ("member", "other", "found"),
    [
        ("checkpoint.json", "clinic-2024-r1", "checkpoint.json: is not the release's checkpoint"),
        ("newest-checkpoint.json", NAME, "is newer than every checkpoint, yet has a proof"),
        ("newest-checkpoint.json", "clinic-2024-r1", "does not continue the log of the release's checkpoint"),
    ],
)
def test_a_checkpoint_in_place_of_another_is_found_though_both_are_signed(
    members: Members, three_releases: Path, tmp_path: Path, member: str, other: str, found: str
) -> None:
    members[member] = checkpoint_file(three_releases / "store", "clinic", other).read_bytes()
    assert found in what(examine(put_together(tmp_path / "b.zip", members), true_key(three_releases)))


@pytest.mark.parametrize("other", ["clinic-2024-r1", "clinic-2025-r2"])
def test_a_checkpoint_in_place_of_another_is_told_in_one_line(
    members: Members, three_releases: Path, tmp_path: Path, other: str
) -> None:
    members["checkpoint.json"] = checkpoint_file(three_releases / "store", "clinic", other).read_bytes()
    report = examine(put_together(tmp_path / "b.zip", members), true_key(three_releases))
    assert [str(one) for one in report.findings] == ["checkpoint.json: is not the release's checkpoint"]


@pytest.mark.parametrize(
    ("member", "changed", "found"),
    [
        (
            "newest-checkpoint.json",
            {"store_id": "x"},
            "belongs to a different store than the release's checkpoint",
        ),
        ("newest-checkpoint.json", {"root": None}, "has no Merkle root, so it proves nothing"),
        ("checkpoint.json", {"head": "00" * 32}, "does not continue the log of the release's checkpoint"),
        ("checkpoint.json", {"root": "00" * 32}, "does not continue the log of the release's checkpoint"),
    ],
)
def test_a_checkpoint_that_contradicts_the_bundle_is_found_though_it_is_signed(
    members: Members,
    history: ReleaseStore,
    tmp_path: Path,
    member: str,
    changed: dict[str, Any],
    found: str,
) -> None:
    signed = json.loads(members[member])
    facts = {name: signed[name] for name in ("store_id", "size", "head", "at", "root")}
    again = keys.sign_checkpoint(keys.load_key(history.root), **{**facts, **changed})
    members[member] = pretty_json(again)
    assert f"newest-checkpoint.json: {found}" in what(examine(put_together(tmp_path / "b.zip", members)))


@pytest.mark.parametrize("kind", OTHER_ZIPS)
def test_another_zip_is_found_or_holds_the_same(kind: str, bundle: Path, tmp_path: Path) -> None:
    alter, found = OTHER_ZIPS[kind]
    other = tmp_path / "other.zip"
    other.write_bytes(alter(bundle.read_bytes()))
    report = examine(other)
    assert found in "\n".join(_one_line(str(one)) for one in report.findings)
    assert bool(report.findings) == bool(found)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_bundle_that_was_cut_is_found(bundle: Path, tmp_path: Path, share: float) -> None:
    data = bundle.read_bytes()
    cut = tmp_path / "cut.zip"
    cut.write_bytes(data[: int(len(data) * share)])
    told = "is not a complete bundle written by releasegate; copy it again from its source"
    assert what(examine(cut)) == f"cut.zip: {told}"


def test_a_bundle_that_is_not_there_is_a_finding(tmp_path: Path) -> None:
    assert what(examine(tmp_path / "no.zip")) == "no.zip: cannot be read (FileNotFoundError)"


@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_flipped_bit_is_found_or_changes_nothing_that_counts(
    bundle: Path, tmp_path: Path, at: float, bit: int
) -> None:
    data = bytearray(bundle.read_bytes())
    data[int(at * len(data))] ^= 1 << bit
    other = tmp_path / "flipped.zip"
    other.write_bytes(data)
    if not examine(other).findings:
        with zipfile.ZipFile(bundle) as one, zipfile.ZipFile(other) as two:
            assert one.namelist() == two.namelist()
            for name in one.namelist():
                assert one.read(name) == two.read(name)


def test_a_name_in_a_bundle_cannot_pretend_to_be_a_line(
    members: Members, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    members["x\nno tampering found"] = b""
    assert main([str(put_together(tmp_path / "b.zip", members))]) == 6
    assert "no tampering found" not in capsys.readouterr().out.splitlines()


# Alterations by somebody who signs -------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_release_that_should_not_have_gone_out_is_found_even_if_all_is_signed(
    kind: str, members: Members, history: ReleaseStore, tmp_path: Path
) -> None:
    edit, found = FORGERIES[kind]
    key = keys.load_key(history.root)
    other = put_together(tmp_path / "forged.zip", forged(members, edit, key))
    assert found in what(examine(other, keys.public_hex(key)))


def test_a_bundle_that_is_only_signed_again_has_no_findings(
    members: Members, history: ReleaseStore, tmp_path: Path
) -> None:
    """So what the forgeries are found by is what they say."""
    again = forged(members, lambda _: None, keys.load_key(history.root))
    assert examine(put_together(tmp_path / "b.zip", again)).findings == []
    report = examine(
        put_together(tmp_path / "b.zip", forged(members, withdrawn, keys.load_key(history.root)))
    )
    assert report.findings == []
    assert f"{NAME} was published, and is withdrawn now" in report.notes


def test_a_bundle_wholly_signed_by_another_is_found_by_the_true_key_alone(
    members: Members, three_releases: Path, tmp_path: Path
) -> None:
    strange = keys.make_key(tmp_path / "strange")
    other = put_together(tmp_path / "b.zip", forged(members, lambda _: None, strange))
    trusting = examine(other)
    assert trusting.findings == []
    assert any("the bundle's own key was trusted" in note for note in trusting.notes)
    findings = what(examine(other, true_key(three_releases)))
    assert "public-key.pem: is not the key that was given" in findings
    assert "checkpoint.json: is not signed by the trusted key" in findings
    assert "event 1: the store's first key is not the trusted key" in findings


def test_another_history_under_the_true_key_is_found_by_a_checkpoint_that_was_kept(
    members: Members, history: ReleaseStore, tmp_path: Path
) -> None:
    key = keys.load_key(history.root)
    other = put_together(tmp_path / "b.zip", forged(members, lambda _: None, key))
    assert examine(other, keys.public_hex(key)).findings == []
    for name in ("clinic-2024-r1", NAME, "clinic-2025-r2"):
        kept = checkpoint_file(history.root, "clinic", name)
        found = what(examine(other, keys.public_hex(key), kept))
        assert found == "the checkpoint that was given: is not of the log in the bundle"


def test_a_kept_checkpoint_must_be_ours_and_no_newer(
    bundle: Path, three_releases: Path, tmp_path: Path
) -> None:
    key = keys.load_key(three_releases / "store")
    signed = json.loads(taken_apart(bundle)["newest-checkpoint.json"])
    facts = {name: signed[name] for name in ("store_id", "size", "head", "at", "root")}
    kept = tmp_path / "kept.json"
    for changed, found in (
        ({"size": 33}, "is newer than the bundle"),
        ({"store_id": "x"}, "belongs to a different store"),
        ({"root": "00" * 32}, "is not of the log"),
    ):
        kept.write_bytes(pretty_json(keys.sign_checkpoint(key, **{**facts, **changed})))
        assert found in what(examine(bundle, checkpoint=kept))
    kept.write_bytes(pretty_json(keys.sign_checkpoint(keys.make_key(tmp_path / "strange"), **facts)))
    assert "is not signed by the trusted key" in what(examine(bundle, checkpoint=kept))


@pytest.mark.parametrize("content", [None, b"", b"no key", b"{"])
def test_a_key_or_checkpoint_that_cannot_be_read_is_a_finding(
    bundle: Path, tmp_path: Path, content: bytes | None
) -> None:
    given = tmp_path / "given"
    if content is not None:
        given.write_bytes(content)
    assert len(examine(bundle, str(given)).findings) == 1
    assert len(examine(bundle, checkpoint=given).findings) == 1


# Canonical JSON --------------------------------------------------------------------------------------

numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
plain_json = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=25,
)


@given(plain_json)
def test_the_script_writes_canonical_json_as_rfc8785_does(value: Any) -> None:
    written = canonical(value)
    assert written == rfc8785.dumps(value) == canonical_json(value)
    assert canonical(read_json(written)) == written


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_script_writes_every_float_as_rfc8785_does(value: float) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (1.0, "1"), (-1.5, "-1.5"), (1e20, "1" + "0" * 20), (1e21, "1e+21"),
        (123456789012345680000.0, "123456789012345680000"), (1e-6, "0.000001"), (1e-7, "1e-7"),
        (1.5e-9, "1.5e-9"), (5e-324, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"),
    ],
)  # fmt: skip
def test_floats_of_the_rfc_s_edges(value: float, text: str) -> None:
    assert canonical(value).decode() == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, object(), {"a": (1,)}])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical(value)


@pytest.mark.parametrize(
    "data", [b'{"a":1,"a":2}', b"NaN", b"-Infinity", b"\xff", b"", b'"\\ud800"', b'{"\\udc9b":1}']
)
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 -- the messages are json's
        read_json(data)
