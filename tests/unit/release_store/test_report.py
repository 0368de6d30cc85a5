"""A release carries its report: made of the manifest's facts, published with the files, checked with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from test_verification import found

from policy.errors import StoreError, VerificationFailed
from release_store.audit import keys
from release_store.canonical import canonical_json, pretty_json, sha256_hex
from release_store.evidence.bundle import write_evidence
from release_store.evidence.examine import examine
from release_store.publishing import publication
from release_store.publishing.publication import recover
from release_store.records import CandidateState, Release
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from reports.releasing import report_factory
from tests.support.at_work import agreed
from tests.support.store.bundles import forged, put_together, taken_apart
from tests.support.store.hand_made import K_FAILS, approved, classes_of_two, stage, word

FOLDER = Path("releases/clinic/clinic-2024-r1")
PAGE = b"<!doctype html><title>a report</title>\n"


def page(_facts: Mapping[str, Any]) -> bytes:
    return PAGE


def publish(store: ReleaseStore, name: str, report: Callable[[Mapping[str, Any]], Any] | None) -> Release:
    with store.series_lock("clinic"):
        return publication.publish(
            store, name, classes_of_two(), actor="ann", manifest_extra={"classes": 2}, report=report
        )


def overridden(store: ReleaseStore) -> str:
    """A candidate that a gate held back and two administrators let out."""
    record = stage(store)
    store.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    for name in ("bob", "cyd"):
        agreed(store, word(record, name, "override"), 0)
    return record.candidate_id


def test_a_report_is_a_public_file_with_its_digest_in_manifest_history_and_log(store: ReleaseStore) -> None:
    made = publish(store, approved(store), page)
    folder = store.root / FOLDER
    assert (folder / "report.html").read_bytes() == PAGE
    assert (folder / "report.html").stat().st_mode & 0o777 == 0o644
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["files"].keys() == {"data.csv", "datapackage.json", "report.html"}
    assert made.files["report.html"] == manifest["files"]["report.html"] == sha256_hex(PAGE)
    assert store.events()[-1].payload["files"]["report.html"] == sha256_hex(PAGE)
    assert store.files(made.candidate_id).keys() == {"data.csv", "datapackage.json"}
    assert verify(store) == []


def test_the_report_is_made_of_what_the_manifest_says_but_for_its_files(store: ReleaseStore) -> None:
    told: list[Mapping[str, Any]] = []

    def report(facts: Mapping[str, Any]) -> bytes:
        told.append(facts)
        return canonical_json(facts)

    publish(store, approved(store), report)
    manifest = json.loads((store.root / FOLDER / "manifest.json").read_text())
    del manifest["files"]
    assert told == [manifest]
    assert (store.root / FOLDER / "report.html").read_bytes() == canonical_json(manifest)


def test_what_a_report_does_to_the_facts_is_not_in_the_manifest(store: ReleaseStore) -> None:
    def report(facts: Any) -> bytes:
        facts["summary"]["n_published"] = 8
        facts["gates"].clear()
        return PAGE

    publish(store, approved(store), report)
    manifest = json.loads((store.root / FOLDER / "manifest.json").read_text())
    assert (manifest["summary"]["n_published"], len(manifest["gates"])) == (7, 1)
    assert verify(store) == []


def broken(_facts: Mapping[str, Any]) -> bytes:
    raise KeyError("a fault of the page")


@pytest.mark.parametrize(
    ("report", "error"),
    [(broken, KeyError), (lambda _: "a text", StoreError), (lambda _: b"", StoreError)],
)
@pytest.mark.by_day(1)
def test_a_report_that_cannot_be_made_lets_nothing_out(
    store: ReleaseStore, report: Callable[[Mapping[str, Any]], Any], error: type[Exception]
) -> None:
    name = approved(store)
    before = store.events()
    with pytest.raises(error):
        publish(store, name, report)
    assert store.events() == before
    assert store.candidate(name).state is CandidateState.APPROVED
    assert store.releases() == []
    assert not (store.root / "releases/clinic").exists() or not list(
        (store.root / "releases/clinic").iterdir()
    )
    assert recover(store) == []
    publish(store, name, page)
    assert verify(store) == []


def test_a_report_may_read_the_store_while_the_publication_is_under_way(store: ReleaseStore) -> None:
    name = approved(store)

    def report(_facts: Mapping[str, Any]) -> bytes:
        return f"{store.candidate(name).state}, {len(store.gates(name))} gate".encode()

    publish(store, name, report)
    assert (store.root / FOLDER / "report.html").read_bytes() == b"approved, 1 gate"
    assert verify(store) == []


@pytest.mark.parametrize("name", ["report.html", "manifest.json"])
def test_a_candidate_cannot_bring_a_report_or_a_manifest_of_its_own(store: ReleaseStore, name: str) -> None:
    record = stage(store)
    files = {**store.files(record.candidate_id), name: "0" * 64}
    with pytest.raises(StoreError, match="written at publication"):
        store.add_candidate(record, policy={}, n_rows=7, n_columns=3, files=files)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda path: path.write_text("<p>"), "differs from the published file"),
        (Path.unlink, "is missing"),
    ],
)
def test_a_report_that_was_altered_is_found_and_holds_back_the_next_release(
    store: ReleaseStore, change: Callable[[Path], object], finding: str
) -> None:
    publish(store, approved(store), page)
    change(store.root / FOLDER / "report.html")
    assert found(store) == {"clinic-2024-r1/report.html": finding}
    with pytest.raises(VerificationFailed, match=r"altered since it was published: report\.html"):
        store.earlier_classes("clinic")


def test_a_report_beside_an_old_release_does_not_belong_to_it(store: ReleaseStore) -> None:
    publish(store, approved(store), None)
    (store.root / FOLDER / "report.html").write_bytes(PAGE)
    assert found(store) == {"clinic-2024-r1/report.html": "is not part of the release"}


@pytest.mark.parametrize("way", [approved, overridden])
def test_a_bundle_with_a_report_verifies_and_one_with_another_does_not(
    store: ReleaseStore, way: Callable[[ReleaseStore], str], tmp_path: Path
) -> None:
    made = publish(store, way(store), page)
    assert made.overridden is (way is overridden)
    assert verify(store) == []
    bundle = write_evidence(store, made.release_id, tmp_path / "b.zip")
    trusted = keys.read_public_hex(store.root)
    assert examine(bundle, trusted).findings == []
    members = taken_apart(bundle)
    assert members["release/report.html"] == PAGE
    altered = put_together(tmp_path / "altered.zip", {**members, "release/report.html": b"<p>"})
    assert [str(one) for one in examine(altered, trusted).findings] == [
        "release/report.html: differs from the published file"
    ]
    del members["release/report.html"]
    without = put_together(tmp_path / "without.zip", members)
    assert [str(one) for one in examine(without, trusted).findings] == [
        "release/report.html: is missing, though the release is not withdrawn"
    ]


def test_whoever_forges_the_judged_files_is_found_with_a_report_too(
    store: ReleaseStore, tmp_path: Path
) -> None:
    """The report alone is none of the files that gates judged: any other file more or less is told."""
    made = publish(store, approved(store), page)
    members = taken_apart(write_evidence(store, made.release_id, tmp_path / "b.zip"))
    key = keys.load_key(store.root)

    def nothing(_told: Any) -> None:
        return None

    def another_file(told: Any) -> None:
        told.files["other.html"] = PAGE
        told.manifest["files"]["other.html"] = sha256_hex(PAGE)

    good = put_together(tmp_path / "good.zip", forged(members, nothing, key))
    assert examine(good, keys.public_hex(key)).findings == []
    bad = put_together(tmp_path / "bad.zip", forged(members, another_file, key))
    assert {str(one) for one in examine(bad, keys.public_hex(key)).findings} == {
        "release/manifest.json: its files differs from the logged one",
        "release/manifest.json: its candidate_digest does not match its files",
    }


def test_a_withdrawn_release_keeps_its_report(store: ReleaseStore) -> None:
    from tests.support.at_work import withdraw

    made = publish(store, approved(store), page)
    withdraw(store, made.release_id, by="eve", reason="wrong")
    assert (store.root / "withdrawn/clinic/clinic-2024-r1/report.html").read_bytes() == PAGE
    assert verify(store) == []


def test_pretty_json_of_the_facts_and_files_is_the_manifest(store: ReleaseStore) -> None:
    publish(store, approved(store), pretty_json)
    manifest = (store.root / FOLDER / "manifest.json").read_bytes()
    facts = json.loads((store.root / FOLDER / "report.html").read_bytes())
    assert pretty_json({**facts, "files": json.loads(manifest)["files"]}) == manifest


def test_the_page_of_the_flows_is_the_same_for_the_same_facts(store: ReleaseStore) -> None:
    name = approved(store)
    made = [
        report_factory(store, name) for _ in range(2)
    ]  # they read the store now, not while it is published
    seen: list[bytes] = []

    def report(facts: Mapping[str, Any]) -> bytes:
        seen.extend(one(facts) for one in made)
        return seen[0]

    publish(store, name, report)
    assert seen[0] == seen[1]
    assert b"<h1><bdi>clinic-2024-r1</bdi></h1>" in seen[0]
