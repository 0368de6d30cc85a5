from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from policy.errors import Blocked, StoreError, UsageError, VerificationFailed
from release_store.audit import keys
from release_store.canonical import file_digest
from release_store.publishing import publication
from release_store.publishing.locks import locks_in_use
from release_store.publishing.publication import publish, recover
from release_store.records import CandidateState, ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import agreed
from tests.support.store.hand_made import approved, awaiting, classes_of_two, publish_one, stage, word
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[3]
ALL = {"fsync", "rename", "replace", "symlink", "append"}
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != keys.KEY_VARIABLE},
    "PYTHONPATH": str(ROOT),
}
PUBLISHER = """
import sys, time
from pathlib import Path
from tests.support.store.hand_made import publish_one
from policy.errors import Blocked
from release_store.publishing import publication
from release_store.store import ReleaseStore
store = ReleaseStore.open(Path(sys.argv[1]))
build, sleep = publication.build_release, time.sleep

def build_when_told(*given):
    print("publishes", flush=True)
    sys.stdin.readline()
    return build(*given)

def say_and_sleep(seconds):  # a process that waits for a lock sleeps, and looks at it again
    print("waits", flush=True)
    time.sleep = sleep

publication.build_release, time.sleep = build_when_told, say_and_sleep
try:
    print(publish_one(store, sys.argv[2]).release_id)
except Blocked as error:
    print(error.message.split(":")[0])
"""
LOCK_HOLDER = """
import sys
from pathlib import Path
from release_store.store import ReleaseStore

with ReleaseStore.open(Path(sys.argv[1])).series_lock("clinic"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_release_is_its_staged_files_and_a_manifest(store: ReleaseStore) -> None:
    record = awaiting(store, approvers=1)
    agreed(store, word(record), 1)
    release = publish_one(store, record.candidate_id)
    folder = store.root / "releases" / "clinic" / "clinic-2024-r1"
    assert {entry.name for entry in folder.iterdir()} == {"data.csv", "datapackage.json", "manifest.json"}
    assert release.files == {entry.name: file_digest(entry) for entry in folder.iterdir()}
    assert store.files(record.candidate_id).items() < release.files.items()
    assert (release.number, release.state, release.period) == (1, ReleaseState.PUBLISHED, "2024")
    assert store.candidate(record.candidate_id).state is CandidateState.PUBLISHED
    assert store.last_release_of("clinic", "2024") == store.release("clinic-2024-r1") == release
    assert [event.action for event in store.events()][-3:] == [
        "publication.started",
        "log.sealed",
        "release.published",
    ]
    assert store.events()[-1].payload["files"] == release.files
    assert verify(store) == []


def test_the_manifest_says_what_the_release_was_judged_by(store: ReleaseStore) -> None:
    record = awaiting(store, approvers=1)
    agreed(store, word(record), 1)
    logged = store.events()
    release = publish_one(store, record.candidate_id)
    text = (store.root / "releases/clinic" / release.release_id / "manifest.json").read_text()
    manifest = json.loads(text)
    assert text == json.dumps(manifest, indent=2, sort_keys=True) + "\n"
    assert manifest["policy_digest"] == record.policy_digest
    assert manifest["input_digest"] == record.input_digest
    assert manifest["history_head"] == record.history_head
    assert manifest["files"] == store.files(record.candidate_id)
    assert [(gate["gate"], gate["verdict"]) for gate in manifest["gates"]] == [("k", "pass")]
    assert [one["by"] for one in manifest["decisions"]] == ["bob"]
    assert manifest["log"] == {"store_id": store.store_id, "size": len(logged), "head": logged[-1].hash}
    assert manifest["method"] == "mdav"
    assert manifest["software"]["duckdb"]


def test_the_checkpoint_latest_and_the_catalog_follow(store: ReleaseStore) -> None:
    first = publish_one(store, approved(store, period="2024"))
    second = publish_one(store, approved(store, period="2025"))
    folder = store.root / "releases" / "clinic"
    checkpoint = json.loads((folder / f"{second.release_id}.checkpoint.json").read_text())
    assert (checkpoint["size"], checkpoint["head"]) == (len(store.events()), store.events()[-1].hash)
    assert keys.signature_holds(checkpoint, keys.read_public_hex(store.root) or "")
    assert str((folder / "latest").readlink()) == second.release_id
    catalog = json.loads((store.root / "releases" / "catalog.json").read_text())
    assert [entry["release_id"] for entry in catalog["series"]["clinic"]] == [
        first.release_id,
        second.release_id,
    ]
    assert [one.number for one in store.releases("clinic")] == [1, 2]


def test_a_second_release_of_a_period_supersedes_the_first(store: ReleaseStore) -> None:
    first = publish_one(store, approved(store))
    second = publish_one(store, approved(store, content="other\n"))
    assert (first.release_id, second.release_id) == ("clinic-2024-r1", "clinic-2024-r2")
    assert [one.state for one in store.releases()] == [ReleaseState.SUPERSEDED, ReleaseState.PUBLISHED]
    assert store.last_release_of("clinic", "2024") == second
    assert verify(store) == []


@pytest.mark.enemy("operator", "publishes a person")
def test_a_candidate_that_is_not_approved_is_not_published(store: ReleaseStore) -> None:
    for record in (stage(store), awaiting(store)):
        with pytest.raises(StoreError, match="only an approved candidate"):
            publish_one(store, record.candidate_id)
    candidate_id = approved(store)
    publish_one(store, candidate_id)
    with pytest.raises(StoreError, match="only an approved candidate"):
        publish_one(store, candidate_id)
    assert len(store.releases()) == 1


@pytest.mark.parametrize("damage", ["changed", "missing", "link"])
def test_a_staged_file_that_changed_is_not_published(store: ReleaseStore, damage: str) -> None:
    candidate_id = approved(store)
    file = store.root / "candidates" / candidate_id / "data.csv"
    kept = file.read_bytes()
    file.unlink()
    if damage == "changed":
        file.write_bytes(kept[:-1])
    elif damage == "link":
        file.with_name("elsewhere").write_bytes(kept)
        file.symlink_to(file.with_name("elsewhere"))
    with pytest.raises(VerificationFailed, match=r"data\.csv"):
        publish_one(store, candidate_id)
    assert store.releases() == []
    assert not (store.root / "releases" / "clinic").exists()
    assert store.events()[-1].action == "publication.refused"


def test_a_file_that_changes_while_it_is_copied_is_not_published(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate_id = approved(store)
    build = publication.build_release

    def change_and_build(partial: Path, staged: Path, files: dict[str, str], manifest: bytes) -> None:
        (staged / "data.csv").write_text("changed\n")
        build(partial, staged, files, manifest)

    monkeypatch.setattr(publication, "build_release", change_and_build)
    with pytest.raises(VerificationFailed, match="differs from the assessed file"):
        publish_one(store, candidate_id)
    assert store.candidate(candidate_id).state is CandidateState.APPROVED
    assert list((store.root / "releases" / "clinic").iterdir()) == []
    assert [str(one) for one in verify(store)] == [f"{candidate_id}/data.csv: differs from the assessed file"]


def test_a_full_disk_publishes_nothing_and_can_be_tried_again(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate_id = approved(store)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(StoreError, match="could not be written"):
            publish_one(store, candidate_id)
    assert store.candidate(candidate_id).state is CandidateState.APPROVED
    assert publish_one(store, candidate_id).release_id == "clinic-2024-r1"
    assert verify(store) == []


def test_without_its_key_nothing_is_published(store: ReleaseStore) -> None:
    candidate_id = approved(store)
    keys.key_path(store.root).unlink()
    with pytest.raises(UsageError, match="signing key"):
        publish_one(store, candidate_id)
    assert store.candidate(candidate_id).state is CandidateState.APPROVED


def test_the_manifests_own_fields_cannot_be_given(store: ReleaseStore) -> None:
    candidate_id = approved(store)
    with store.series_lock("clinic"), pytest.raises(StoreError, match="gates"):
        publish(store, candidate_id, classes_of_two(), actor="ann", manifest_extra={"gates": []})
    assert store.candidate(candidate_id).state is CandidateState.APPROVED


def publishing(store: ReleaseStore, candidate_id: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PUBLISHER, str(store.root), candidate_id],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.faults
def test_of_two_processes_at_the_same_head_one_publishes_and_the_other_is_stale(store: ReleaseStore) -> None:
    """The second comes while the first is in the midst of its publication, and waits for its end."""
    candidates = [approved(store, period="2024"), approved(store, period="2025")]
    with publishing(store, candidates[0]) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "publishes\n"
        with publishing(store, candidates[1]) as second:
            assert second.stdout is not None
            assert second.stdout.readline() == "waits\n"
            assert [lock.name for lock in locks_in_use(store.root)] == ["clinic.lock"]
            assert first.communicate("go\n")[0] == "clinic-2024-r1\n"
            assert second.communicate()[0] == "stale\n"
    assert [store.candidate(name).state for name in candidates] == ["published", "stale"]
    assert len(store.releases()) == 1
    assert verify(store) == []


@pytest.mark.faults
def test_a_series_is_locked_for_others_until_its_holder_dies(store: ReleaseStore) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LOCK_HOLDER, str(store.root)],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match="publishing to 'clinic'"), store.series_lock("clinic", 0.2):
            pass
        with store.series_lock("other", 0.2):
            pass
        holder.kill()
    with store.series_lock("clinic"):
        pass


def killed_and_recovered(
    store: ReleaseStore, what: str, *steps: str, every: Collection[str] = ALL
) -> list[dict[str, Any]]:
    """Let copies of the store be killed at these steps, or at each (`every` kind of them); return what was
    found after each.
    """
    script = [sys.executable, "-W", "ignore", "-m", "tests.support.store.publish_and_die"]
    done = subprocess.run(
        [*script, str(store.root.parent), what, *steps],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    died, last = (told, []) if steps else (told[:-1], told[-1:])
    assert all(step["died_at"] is None for step in last)
    assert {step["died_at"] for step in died} == ({one.split(".")[0] for one in steps} or set(every))
    for step in told:
        assert step["findings"] == [], step
        assert step["again"] == [], step
        assert not [name for name in step["folder"] if name.startswith(".")], step
    return told


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(("rename.1", "append.3", "symlink.1"), marks=pytest.mark.faults, id="some steps"),
        pytest.param((), marks=pytest.mark.nightly, id="every step"),
    ],
)
def test_a_publication_killed_at_any_step_is_finished_or_undone(
    store: ReleaseStore, steps: tuple[str, ...]
) -> None:
    publish_one(store, approved(store, period="2023"))
    approved(store, period="2024")
    told = killed_and_recovered(store, "publish", *steps)
    killed = [step for step in told if step["died_at"]]
    assert {step["after"] for step in killed} == {"approved", "published"}
    for step in told:
        assert step["published"] == ["clinic-2023-r1", "clinic-2024-r1"], step
    assert any("publication undone" in said for step in killed for said in step["said"])
    assert any("publication finished" in said for step in killed for said in step["said"])
    assert any("written again" in said for step in killed for said in step["said"])


def test_the_next_publication_settles_what_an_interrupted_one_left(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = approved(store, period="2024"), approved(store, period="2025")
    with monkeypatch.context() as patch:
        patch.setattr(publication, "finish_publication", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publish_one(store, first)
    with pytest.raises(Blocked, match="stale"):
        publish_one(store, second)
    assert [one.candidate_id for one in store.releases()] == [first]
    assert recover(store) == []
    assert verify(store) == []


def test_a_release_that_was_changed_before_it_was_recovered_is_not_taken_for_it(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate_id = approved(store)
    with monkeypatch.context() as patch:
        patch.setattr(publication, "finish_publication", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publish_one(store, candidate_id)
    (store.root / "releases/clinic/clinic-2024-r1/data.csv").write_text("changed\n")
    assert "failed" in recover(store)[0]
    assert store.candidate(candidate_id).state is CandidateState.FAILED
    assert store.releases() == []
    assert [finding.where for finding in verify(store)] == ["clinic/clinic-2024-r1"]
    assert publish_one(store, approved(store)).release_id == "clinic-2024-r2"


def test_a_store_that_was_copied_without_its_links_is_told(store: ReleaseStore) -> None:
    publish_one(store, approved(store, period="2024"))
    link = store.root / "releases" / "clinic" / "latest"
    link.unlink()
    link.mkdir()
    following = approved(store, period="2025")
    with pytest.raises(StoreError, match="a folder where the store has a link") as caught:
        publish_one(store, following)
    assert caught.value.where == str(link)
    link.rmdir()
    recover(store)
    assert link.is_symlink()
    assert verify(store) == []
