"""The page that verifies a bundle accepts and refuses what the script does, in a real Chromium."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver

from release_store.approval import decisions
from release_store.approval.credentials import Token, hash_token
from release_store.audit import clock as correction
from release_store.audit import keys
from release_store.audit import log as audit
from release_store.audit.clock import correct_clock
from release_store.canonical import pretty_json
from release_store.evidence.bundle import write_evidence
from release_store.publishing.public_files import checkpoint_file
from release_store.store import ReleaseStore
from tests.support.at_work import agreed, key_of, write_people
from tests.support.pages.random_edits import KINDS, flipped_bits, random_edits
from tests.support.pages.verify_page import Case, agree, by_the_script, judged
from tests.support.store.bundle_alterations import (
    ALTERATIONS,
    FORGERIES,
    NAME,
    OTHER_ZIPS,
    told_twice,
    withdrawn,
)
from tests.support.store.bundles import Members, forged, put_together, taken_apart
from tests.support.store.hand_made import approved, awaiting, publish_one, word

SECRET = "a token that only eve has"  # noqa: S105 -- made up
NOW = datetime.now(UTC)


def as_bytes(members: Members, folder: Path) -> bytes:
    return put_together(folder / "together.zip", members).read_bytes()


# What is good ----------------------------------------------------------------------------------------------


def test_a_good_bundle_verifies_by_a_key_and_says_loudly_when_it_has_none(
    opened: webdriver.Chrome, bundle: Path, key: str, three_releases: Path, tmp_path: Path
) -> None:
    data = bundle.read_bytes()
    pem = (three_releases / "store" / "public-key.pem").read_text()
    kept = checkpoint_file(three_releases / "store", "clinic", "clinic-2024-r1").read_bytes()
    trusting, by_key, by_kept = agree(
        opened,
        [Case("b.zip", data), Case("b.zip", data, key), Case("b.zip", data, key, kept)],
        tmp_path,
    )
    (by_pem,) = judged(opened, [Case("b.zip", data, pem)])
    assert [one["ownKeyOnly"] for one in (trusting, by_key, by_kept, by_pem)] == [True, False, False, False]
    assert by_pem == by_key
    assert {one["release"] for one in (trusting, by_key, by_kept)} == {NAME}
    assert [one["state"] for one in by_kept["checks"]] == ["held"] * 16
    assert [one["title"] for one in by_key["checks"] if one["state"] != "held"] == [
        "The checkpoint that you kept is of the same log."
    ]
    assert opened.get_log("browser") == []


@pytest.mark.enemy("operator", "forges a word")
def test_a_key_in_a_second_spelling_is_none_to_page_and_script(
    opened: webdriver.Chrome, bundle: Path, key: str, tmp_path: Path
) -> None:
    cases = [Case("b.zip", bundle.read_bytes(), other) for other in (key.upper(), f" {key}", f"{key}\n")]
    assert [one["verified"] for one in judged(opened, cases)] == [False] * 3
    assert all(by_the_script(case, tmp_path).findings for case in cases)


def judged_again(store: ReleaseStore) -> str:
    first = awaiting(store, approvers=2)
    agreed(store, word(first, "bob"), 2)
    publish_one(store, approved(store, period="2023"))  # and the first is stale
    summary = first.summary.reassessed(first.candidate_id, "eve").document
    again = awaiting(store, approvers=2, summary=summary)
    for name in ("bob", "cyd"):
        agreed(store, word(again, name), 2)
    return publish_one(store, again.candidate_id).release_id


def by_token(store: ReleaseStore) -> str:
    write_people(store.root, {"name": "eve", "roles": ["approver"], "token_hash": hash_token(SECRET)})
    record = awaiting(store)
    store.decide(word(record, "eve"), approvers_needed=1, credential=Token(SECRET))
    return publish_one(store, record.candidate_id).release_id


def clock_corrected(store: ReleaseStore) -> str:
    ahead = NOW + timedelta(days=365 * 70)
    with pytest.MonkeyPatch.context() as patch:
        for module in (audit, decisions, correction):
            patch.setattr(module, "utc_now", lambda: ahead)
        publish_one(store, approved(store, period="2023", made_at=ahead))
    correct_clock(store, by="eve", reason="it said 2096", credential=key_of("eve"))
    return publish_one(store, approved(store, period="2025")).release_id


@pytest.mark.parametrize(
    ("make", "note"),
    [
        (
            judged_again,
            "see the publisher's catalog for the state of the release now",
        ),
        (by_token, "the decision of eve, is proven by a token only"),
        (clock_corrected, "eve corrected the clock from"),
    ],
)
def test_bundles_of_all_kinds_of_releases_verify(
    make: Any, note: str, opened: webdriver.Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(keys.KEY_VARIABLE, raising=False)
    store = ReleaseStore.create(tmp_path / "store")
    write_people(store.root)
    made = write_evidence(store, make(store), tmp_path / "b.zip")
    (told,) = agree(
        opened, [Case("b.zip", made.read_bytes(), keys.public_hex(keys.load_key(store.root)))], tmp_path
    )
    assert told["verified"]
    assert any(note in one for one in told["notes"])


def test_overridden_withdrawn_and_superseded_releases_verify(
    opened: webdriver.Chrome, history: Path, tmp_path: Path
) -> None:
    trusted = keys.public_hex(keys.load_key(history / "store"))
    bundles = sorted(history.glob("*.zip"))
    told = agree(opened, [Case(one.name, one.read_bytes(), trusted) for one in bundles], tmp_path)
    assert all(one["verified"] for one in told)
    notes = "\n".join(note for one in told for note in one["notes"])
    for said in ("is withdrawn now", "is superseded now", "by override of the gates: "):
        assert said in notes


def test_a_bundle_of_an_earlier_script_verifies(opened: webdriver.Chrome, tmp_path: Path) -> None:
    earlier = Path(__file__).parents[1] / "fixtures" / "bundle_of_earlier_script.zip"
    (told,) = agree(opened, [Case("b.zip", earlier.read_bytes())], tmp_path)
    assert told["verified"]
    assert any("its script is of an earlier releasegate" in note for note in told["notes"])


# What is altered -------------------------------------------------------------------------------------------


def test_another_zip_is_judged_as_by_the_script(
    opened: webdriver.Chrome, bundle: Path, tmp_path: Path
) -> None:
    data = bundle.read_bytes()
    told = agree(opened, [Case("other.zip", alter(data)) for alter, _ in OTHER_ZIPS.values()], tmp_path)
    assert [one["verified"] for one in told] == [not found for _, found in OTHER_ZIPS.values()]


def test_whatever_the_script_finds_altered_the_page_does(
    opened: webdriver.Chrome, members: Members, tmp_path: Path
) -> None:
    cases = []
    for alter, _ in ALTERATIONS.values():
        other = dict(members)
        alter(other)
        cases.append(Case("b.zip", as_bytes(other, tmp_path)))
    for told in agree(opened, cases, tmp_path):
        assert not told["verified"]


def test_whatever_the_script_finds_forged_the_page_does(
    opened: webdriver.Chrome, members: Members, three_releases: Path, key: str, tmp_path: Path
) -> None:
    signing = keys.load_key(three_releases / "store")
    forgeries = [forged(members, edit, signing) for edit, _ in FORGERIES.values()]
    fine = [forged(members, lambda _: None, signing), forged(members, withdrawn, signing)]
    cases = [Case("b.zip", as_bytes(one, tmp_path), key) for one in [*forgeries, *fine]]
    told = [one["verified"] for one in agree(opened, cases, tmp_path)]
    assert told == [False] * len(forgeries) + [True] * len(fine)


def test_keys_and_checkpoints_of_others_are_found(
    opened: webdriver.Chrome, members: Members, three_releases: Path, key: str, tmp_path: Path
) -> None:
    strange = keys.make_key(tmp_path / "strange")
    store = three_releases / "store"
    good = as_bytes(members, tmp_path)
    other = as_bytes(forged(members, lambda _: None, strange), tmp_path)
    again = as_bytes(forged(members, lambda _: None, keys.load_key(store)), tmp_path)
    signed = json.loads(members["newest-checkpoint.json"])
    facts = {name: signed[name] for name in ("store_id", "size", "head", "at", "root")}
    kept = [
        pretty_json(keys.sign_checkpoint(keys.load_key(store), **{**facts, **changed}))
        for changed in ({"size": 25}, {"store_id": "x"}, {"root": "00" * 32})
    ]
    kept += [pretty_json(keys.sign_checkpoint(strange, **facts)), b"{}", b"[]", b"{", b"\xff"]
    earlier = checkpoint_file(store, "clinic", "clinic-2024-r1").read_bytes()
    swapped = as_bytes({**members, "checkpoint.json": earlier}, tmp_path)
    keyless = as_bytes({**members, "public-key.pem": keys.public_pem(strange)}, tmp_path)
    cases = [
        Case("b.zip", other),  # it is whole in itself
        Case("b.zip", other, key),
        Case("b.zip", good, keys.public_hex(strange)),
        Case("b.zip", keyless, key),
        Case("b.zip", swapped, key),
        Case("b.zip", again, key, earlier),
        *(Case("b.zip", good, key, one) for one in kept),
    ]
    told = agree(opened, cases, tmp_path)
    assert [one["verified"] for one in told] == [True] + [False] * (len(cases) - 1)
    (no_key,) = judged(opened, [Case("b.zip", good, "no key")])
    assert no_key["findings"] == [
        {"where": "the key that was given", "what": "there is no public key in PEM"}
    ]
    rsa = "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAA==\n-----END PUBLIC KEY-----\n"
    (no_ed25519,) = judged(opened, [Case("b.zip", good, rsa)])
    assert no_ed25519["findings"][0]["what"] == "the public key is not an Ed25519 key"


def test_flipped_bits_are_judged_as_by_the_script(
    opened: webdriver.Chrome, bundle: Path, tmp_path: Path
) -> None:
    told = [one["verified"] for one in agree(opened, flipped_bits(bundle.read_bytes(), range(40)), tmp_path)]
    assert 4 < sum(told) < 36


def test_random_edits_are_judged_as_by_the_script(
    opened: webdriver.Chrome, history: Path, tmp_path: Path
) -> None:
    cases = random_edits(history, (*range(39), *range(39, 129, 3)), tmp_path, kinds := set())
    assert kinds == KINDS
    told = [one["verified"] for one in agree(opened, cases, tmp_path)]
    assert 1 < sum(told) < len(cases) - 1


def test_a_bomb_is_refused(opened: webdriver.Chrome, members: Members, tmp_path: Path) -> None:
    """A document that says its size is not unpacked; one that does not say it is cut where it says."""
    bomb = b"{" + b" " * 2**28 + b"}"
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in {**members, "policy.json": bomb}.items():
            archive.writestr(name, data)
    data = (tmp_path / "b.zip").read_bytes()
    hidden = told_twice("policy.json", 24, "<I", 1000)(data)
    told = agree(opened, [Case("b.zip", data), Case("b.zip", hidden)], tmp_path)
    assert [one["findings"][0]["what"] for one in told] == [
        "policy.json is too large",
        "policy.json is longer than the directory says",
    ]


def test_questions_in_a_bundle_are_proven_and_an_altered_one_is_found(
    opened: webdriver.Chrome, store: ReleaseStore, tmp_path: Path
) -> None:
    record = awaiting(store)
    store.ask(record.candidate_id, by="bob", text="why?", credential=key_of("bob"))
    store.answer(record.candidate_id, by="ann", text="so", credential=key_of("ann"))
    agreed(store, word(record, "cid"), 1)
    release = publish_one(store, record.candidate_id)
    members = taken_apart(write_evidence(store, release.release_id, tmp_path / "bundle.zip"))
    key = keys.load_key(store.root)

    def edited(action: str, **changed: str) -> bytes:
        return as_bytes(forged(members, lambda told: told.event(action).update(changed), key), tmp_path)

    good, *wrong = agree(
        opened,
        [
            Case("good.zip", as_bytes(members, tmp_path)),
            Case("question.zip", edited("question.asked", reason="why not?")),
            Case("answer.zip", edited("question.answered", reason="no")),
            Case("other.zip", edited("question.answered", actor="bob")),
        ],
        tmp_path,
    )
    assert good["verified"]
    assert not any(one["verified"] for one in wrong)
