"""Whose word counts: refusals, each in the log; what verify says of proofs; and the override."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from policy.errors import Blocked, ReleaseGateError, StoreError, UsageError, VerificationFailed
from release_store.approval.authentication import as_signed, decision_statement, system_account
from release_store.approval.credentials import Credential, SignedText, Token, hash_token, sign_text
from release_store.approval.reviewers import people_path
from release_store.audit import keys
from release_store.audit.replay import read_log
from release_store.canonical import file_digest, sha256_hex, utc_now
from release_store.db.connection import DATABASE
from release_store.evidence.bundle import write_evidence
from release_store.evidence.examine import examine
from release_store.permission import Act
from release_store.protocol.overrides import OVERRIDES_NEEDED, mark_of, override_mark_error, package_text
from release_store.publishing.public_files import candidate_folder
from release_store.publishing.withdrawal import release_statement, withdraw
from release_store.records import CandidateRecord, CandidateState, GateResult, Verdict
from release_store.store import ReleaseStore
from release_store.verification.verify import notes, verify
from tests.support.at_work import agreed, key_of, member, write_people
from tests.support.store.bundles import Told, forged, put_together, taken_apart
from tests.support.store.hand_made import K_FAILS, K_PASSES, approved, awaiting, publish_one, stage, word
from tests.support.stores import BuiltOnce

K_UNKNOWN = replace(K_FAILS, verdict=Verdict.UNKNOWN)

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def last(store: ReleaseStore) -> tuple[str, str, str]:
    event = store.events()[-1]
    return event.action, event.actor, event.reason


def text(store: ReleaseStore, record: CandidateRecord, by: str, key: str = "", **changed: Any) -> SignedText:
    """Somebody's approval as it was signed elsewhere, by the key of `key` if that is another's."""
    said = decision_statement(word(record, by, **changed), store.store_id)
    return SignedText(sign_text(said, key_of(key or by).key))


def give(
    store: ReleaseStore, record: CandidateRecord, by: str, credential: Credential | None
) -> CandidateState:
    """Give an approval as the flow does."""
    decision = as_signed(word(record, by), credential)
    return store.decide(decision, approvers_needed=1, credential=credential)


# Refusals --------------------------------------------------------------------------------------------


def expired(store: ReleaseStore, record: CandidateRecord) -> None:
    assert record.expires_at == LONG_AGO


def another_landed(store: ReleaseStore, record: CandidateRecord) -> None:
    publish_one(store, approved(store, period="2023"))


def altered(store: ReleaseStore, record: CandidateRecord) -> None:
    (candidate_folder(store.root, record.candidate_id) / "data.csv").write_text("other\n")


def decided_by_bob(store: ReleaseStore, record: CandidateRecord) -> None:
    agreed(store, word(record), 2)


def rejected(store: ReleaseStore, record: CandidateRecord) -> None:
    agreed(store, word(record, decision="reject"), 2)


def nothing(store: ReleaseStore, record: CandidateRecord) -> None:
    pass


@pytest.mark.parametrize(
    ("before", "by", "key", "kind", "finding"),
    [
        (nothing, "ann", "ann", UsageError, "ann made it, and cannot decide on it"),
        (decided_by_bob, "bob", "bob", UsageError, "bob has decided on it before"),
        (nothing, "mallory", "mallory", UsageError, "mallory is not in people.yaml"),
        (nothing, "cid", "eve", UsageError, "the signature is not by the key of cid"),
        (nothing, "olga", "olga", UsageError, "olga does not have the role for this (approver)"),
        (expired, "cid", "cid", Blocked, "expired on 2020-01-01"),
        (another_landed, "cid", "cid", Blocked, "stale: the series has a new release"),
        (altered, "cid", "cid", VerificationFailed, "changed since its gates ran: data.csv"),
        (rejected, "cid", "cid", UsageError, "is rejected, and only a candidate that awaits approval"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
@pytest.mark.parametrize("signed", [False, True], ids=["here", "elsewhere"])
@pytest.mark.enemy("operator", "gains a role")
def test_a_refusal_is_told_and_logged(
    store: ReleaseStore,
    before: Callable[[ReleaseStore, CandidateRecord], None],
    by: str,
    key: str,
    kind: type[ReleaseGateError],
    finding: str,
    signed: bool,
) -> None:
    write_people(store.root, *(member(n) for n in ("ann", "bob", "cid", "eve")), member("olga", ["operator"]))
    record = awaiting(store, approvers=2, expires_at=LONG_AGO if before is expired else None)
    before(store, record)
    n_decisions = len(store.decisions(record.candidate_id))
    credential = text(store, record, by, key) if signed else key_of(key)
    with pytest.raises(kind) as caught:
        give(store, record, by, credential)
    assert finding in caught.value.message
    assert caught.value.where == record.candidate_id
    assert caught.value.hint
    action, actor, reason = last(store)
    proven = by != "mallory" and by == key
    assert (action, actor) == ("decision.refused", by if proven else system_account())
    assert finding in reason
    payload = store.events()[-1].payload
    assert payload["by" if proven else "claimed_by"] == by
    assert ("claimed_by" in payload) is not proven
    assert len(store.decisions(record.candidate_id)) == n_decisions
    by_hand = [f"{record.candidate_id}/data.csv: differs from the assessed file"] if before is altered else []
    assert [str(one) for one in verify(store)] == by_hand


@pytest.mark.enemy("approver", "forges a word")
def test_a_signed_text_is_of_one_store_one_candidate_one_person_and_one_time(store: ReleaseStore) -> None:
    record, other = awaiting(store, approvers=2), awaiting(store, approvers=2, period="2025")
    good = text(store, record, "bob")
    said = good.said()
    key = key_of("bob").key
    for wrong, finding in (
        (SignedText(sign_text(replace(said, store_id="another"), key)), "was signed for another store id"),
        (text(store, other, "bob"), "was signed for another object"),
        (SignedText(sign_text(replace(said, reason="other"), key)), "was signed for another reason"),
        (SignedText(sign_text(replace(said, act="reject"), key)), "was signed for another act"),
        (text(store, record, "bob", at=utc_now() + timedelta(minutes=6)), "which is in the future"),
        (text(store, record, "bob", at=record.made_at - timedelta(seconds=1)), "before its subject"),
        (text(store, record, "bob", history_head="0" * 64), "other files, another policy or another history"),
        (SignedText("c29tZXRoaW5n"), "this is not a signed decision"),
        (None, "no key or token was given for bob"),
    ):
        with pytest.raises(ReleaseGateError) as caught:
            give(store, record, "bob", wrong)
        assert finding in caught.value.message
        # Signed by bob for this very candidate, and refused on another ground: these are bob's own words.
        own = "in the future" in finding or "before its subject" in finding or "other files" in finding
        assert last(store)[:2] == ("decision.refused", "bob" if own else system_account())
    assert give(store, record, "bob", good) is CandidateState.AWAITING_APPROVAL
    with pytest.raises(UsageError, match="this signed text was used before"):
        give(store, record, "bob", good)
    assert last(store)[1] == system_account()  # anybody can read it in the log, and give it again
    assert verify(store) == []


@pytest.mark.enemy("approver", "forges a word")
def test_another_name_with_the_same_key_is_the_same_person(store: ReleaseStore) -> None:
    record = awaiting(store, approvers=2)
    agreed(store, word(record, "bob"), 2)
    write_people(store.root, {**member("bob"), "name": "Robert"})
    with pytest.raises(UsageError, match="Robert has decided on it before"):
        give(store, record, "Robert", key_of("bob"))
    assert store.candidate(record.candidate_id).state is CandidateState.AWAITING_APPROVAL


@pytest.mark.enemy("operator", "gains a role")
def test_the_maker_under_another_name_is_still_the_maker(store: ReleaseStore) -> None:
    record = awaiting(store)
    write_people(store.root, {**member("ann"), "name": "Annabel"}, member("bob"))
    with pytest.raises(UsageError, match="Annabel made it, and cannot decide on it"):
        give(store, record, "Annabel", key_of("ann"))
    assert store.events()[-1].action == "decision.refused"
    agreed(store, word(record), 1)
    assert store.candidate(record.candidate_id).state is CandidateState.APPROVED
    assert verify(store) == []


@pytest.mark.parametrize(
    "left",
    [
        [member("cid")],
        [member("bob", ["auditor"]), member("cid")],
        [{**member("eve"), "name": "bob"}, member("cid")],
    ],
    ids=["removed", "without the role", "with another key"],
)
@pytest.mark.enemy("approver", "gains a role")
def test_the_word_of_somebody_who_could_not_give_it_any_more_does_not_count(
    store: ReleaseStore, left: list[dict[str, object]]
) -> None:
    record = awaiting(store, approvers=2)
    agreed(store, word(record, "bob"), 2)
    write_people(store.root, *left, member("dan"))
    assert agreed(store, word(record, "cid"), 2) is CandidateState.AWAITING_APPROVAL
    assert agreed(store, word(record, "dan"), 2) is CandidateState.APPROVED
    assert store.events()[-1].reason == "2 of 2 approvals"
    assert verify(store) == []


@pytest.mark.enemy("administrator", "gains a role")
def test_the_override_of_an_administrator_who_is_none_any_more_does_not_count(store: ReleaseStore) -> None:
    record = stage(store)
    store.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    agreed(store, word(record, "bob", "override"), 1)
    write_people(store.root, member("bob", ["approver"]), member("cid"), member("dan"))
    assert agreed(store, word(record, "cid", "override"), 1) is CandidateState.BLOCKED
    assert agreed(store, word(record, "dan", "override"), 1) is CandidateState.APPROVED
    assert verify(store) == []


def test_a_service_has_no_key_by_which_it_could_be_known(store: ReleaseStore) -> None:
    record = awaiting(store, made_by="nightly")
    staged = next(one for one in store.events_about(record.candidate_id) if one.action == "candidate.staged")
    assert "maker" not in staged.payload


@pytest.mark.enemy("operator", "gains a role")
def test_without_a_file_of_people_nobody_decides(store: ReleaseStore) -> None:
    record = awaiting(store)
    logged = store.events()
    people_path(store.root).unlink()
    with pytest.raises(UsageError, match="no approvers are configured") as caught:
        agreed(store, word(record), 1)
    assert "releasegate people add" in caught.value.hint
    with pytest.raises(UsageError, match="no approvers are configured"):
        withdraw(store, "clinic-2024-r1", by="bob", reason="wrong", credential=key_of("bob"))
    assert store.events() == logged


def test_a_token_counts_and_is_not_kept(store: ReleaseStore) -> None:
    secret = "a token that only eve has"  # noqa: S105 -- made up
    write_people(store.root, {"name": "eve", "roles": ["approver"], "token_hash": hash_token(secret)})
    record = awaiting(store)
    assert give(store, record, "eve", Token(secret)) is CandidateState.APPROVED
    release = publish_one(store, record.candidate_id)
    assert verify(store) == []
    (kept,) = store.decisions(record.candidate_id)
    assert kept.proof is not None
    assert kept.proof.method == "token"
    bundle = write_evidence(store, release.release_id, store.root.parent / "bundle.zip")
    report = examine(bundle)
    assert report.findings == []
    assert any("the decision of eve, is proven by a token only" in note for note in report.notes)
    everything = b"".join(path.read_bytes() for path in store.root.rglob("*") if path.is_file())
    assert secret.encode() not in everything + bundle.read_bytes()


def test_the_log_tells_who_was_in_force_when_a_word_was_taken(store: ReleaseStore) -> None:
    record = awaiting(store, approvers=3)
    agreed(store, word(record, "bob"), 3)
    agreed(store, word(record, "cid"), 3)
    write_people(store.root, member("dan", ["approver"]))
    agreed(store, word(record, "dan"), 3)
    told = [event for event in store.events() if event.action in ("people.changed", "decision.approve")]
    assert [event.action.partition(".")[0] for event in told] == [
        "people",
        *["decision"] * 2,
        "people",
        "decision",
    ]
    assert told[4].payload["proof"]["people"] == told[3].payload["digest"]
    assert [one["name"] for one in told[3].payload["members"]] == ["dan"]
    assert verify(store) == []


# Withdrawal ------------------------------------------------------------------------------------------


def test_a_withdrawal_is_signed_for_a_release_in_its_state(store: ReleaseStore) -> None:
    first = publish_one(store, approved(store))
    said = release_statement(Act.WITHDRAW, first, store.store_id, "eve", "wrong")
    signed = SignedText(sign_text(said, key_of("eve").key))
    publish_one(store, approved(store, content="other\n"))  # which supersedes it
    with pytest.raises(
        Blocked, match="the signed text is about another state of the release, or other files"
    ):
        withdraw(store, first.release_id, by="eve", reason="wrong", credential=signed)
    assert last(store)[:2] == ("decision.refused", "eve")
    now = release_statement(Act.WITHDRAW, store.release(first.release_id), store.store_id, "eve", "wrong")
    signed = SignedText(sign_text(now, key_of("eve").key))
    for by, credential, finding in (
        ("eve", key_of("bob"), "the signature is not by the key of eve"),
        ("mallory", key_of("mallory"), "mallory is not in"),
        ("eve", None, "no key or token"),
        ("bob", signed, "was signed for another by"),
    ):
        with pytest.raises(UsageError) as caught:
            withdraw(store, first.release_id, by=by, reason="wrong", credential=credential)
        assert finding in caught.value.message
        assert last(store)[:2] == ("decision.refused", system_account())
        assert store.events()[-1].payload["claimed_by"] == by
    withdraw(store, first.release_id, by="eve", reason="wrong", credential=signed)
    assert verify(store) == []


# Override --------------------------------------------------------------------------------------------


def blocked(store: ReleaseStore, *gates: GateResult, **wanted: Any) -> CandidateRecord:
    record = stage(store, **wanted)
    results = gates or (K_FAILS,)
    store.record_gates(record.candidate_id, results, to=CandidateState.BLOCKED, actor="ann")
    return store.candidate(record.candidate_id)


def overridden(store: ReleaseStore, record: CandidateRecord, by: str) -> CandidateState:
    return agreed(store, word(record, by, "override", reason=f"{by} says so"), 0)


def test_two_administrators_let_out_what_gates_held_back_and_it_is_marked_for_ever(
    store: ReleaseStore,
) -> None:
    record = blocked(
        store, K_FAILS, replace(K_UNKNOWN, gate="e"), replace(K_PASSES, gate="truth"), approvers=3
    )
    assert overridden(store, record, "bob") is CandidateState.BLOCKED
    with pytest.raises(StoreError, match="only an approved candidate is published"):
        publish_one(store, record.candidate_id)
    assert overridden(store, record, "eve") is CandidateState.APPROVED
    release = publish_one(store, record.candidate_id)
    assert release.overridden
    assert verify(store) == []
    assert [str(one) for one in notes(store)] == [
        f"{release.release_id}: bob and eve published it by override of k (fail), e (unknown)"
    ]
    folder = store.root / "releases/clinic"
    manifest = json.loads((folder / release.release_id / "manifest.json").read_text())
    assert manifest["override"]["gates"] == {"k": "fail", "e": "unknown"}
    assert [(one["by"], one["reason"]) for one in manifest["override"]["by"]] == [
        ("bob", "bob says so"),
        ("eve", "eve says so"),
    ]
    (listed,) = json.loads((store.root / "releases/catalog.json").read_text())["series"]["clinic"]
    assert listed["override"] is True
    bundle = write_evidence(store, release.release_id, store.root.parent / "bundle.zip")
    report = examine(bundle, keys.read_public_hex(store.root))
    assert report.findings == []
    assert any(
        f"bob and eve published {release.release_id} by override of the gates: e, k" in n
        for n in report.notes
    )


def test_the_data_package_of_what_was_overridden_is_marked_and_else_as_judged(store: ReleaseStore) -> None:
    record = blocked(store, K_FAILS, replace(K_PASSES, gate="truth"))
    for by in ("bob", "eve"):
        overridden(store, record, by)
    release = publish_one(store, record.candidate_id)
    folder = store.root / "releases/clinic" / release.release_id
    package = json.loads((folder / "datapackage.json").read_text())
    manifest = json.loads((folder / "manifest.json").read_text())
    mark = package.pop("releasegate:override")
    assert mark["gates"] == {"k": "fail"}
    assert [one["by"] for one in mark["by"]] == ["bob", "eve"]
    assert [one["at"] for one in mark["by"]] == [one["at"] for one in manifest["override"]["by"]]
    assert package == {}  # as it was judged
    judged = store.files(record.candidate_id)["datapackage.json"]
    assert manifest["override"]["judged"] == {"datapackage.json": judged}
    assert manifest["files"]["datapackage.json"] == file_digest(folder / "datapackage.json") != judged
    assert file_digest(candidate_folder(store.root, record.candidate_id) / "datapackage.json") == judged
    assert verify(store) == []
    plain = publish_one(store, approved(store, period="2026"))
    assert "override" not in (folder.parent / plain.release_id / "datapackage.json").read_text()
    bundle = write_evidence(store, release.release_id, store.root.parent / "bundle.zip")
    assert examine(bundle, keys.read_public_hex(store.root)).findings == []


@pytest.mark.parametrize(
    ("package", "wrong"),
    [
        ({}, "does not say what was overridden"),
        ({"releasegate:override": {"gates": {}, "by": []}}, "does not say what was overridden"),
        (
            {"releasegate:override": None, "title": "fine"},
            "is not the assessed file with the mark of the override",
        ),
    ],
)
@pytest.mark.enemy("store writer", "changes history")
def test_a_data_package_with_another_mark_or_other_words_is_found(
    store: ReleaseStore, package: dict[str, Any], wrong: str
) -> None:
    """Though whoever altered it had the digests, too: the mark itself is looked at."""
    record = blocked(store)
    for by in ("bob", "eve"):
        overridden(store, record, by)
    release = publish_one(store, record.candidate_id)
    folder = store.root / "releases/clinic" / release.release_id
    manifest = json.loads((folder / "manifest.json").read_text())
    if package.get("releasegate:override", 0) is None:
        package = {**package, "releasegate:override": mark_of(manifest["override"])}
    assert override_mark_error(manifest, (folder / "datapackage.json").read_bytes()) == ""
    assert wrong in override_mark_error(manifest, package_text(package))
    (folder / "datapackage.json").write_bytes(package_text(package))
    assert [str(one) for one in verify(store)] == [
        f"{release.release_id}/datapackage.json: differs from the published file"
    ]


@pytest.mark.enemy("store writer", "changes history")
def test_an_evidence_whose_data_package_lost_the_mark_is_found_though_all_is_signed_again(
    store: ReleaseStore,
) -> None:
    record = blocked(store)
    for by in ("bob", "eve"):
        overridden(store, record, by)
    release = publish_one(store, record.candidate_id)
    bundle = write_evidence(store, release.release_id, store.root.parent / "bundle.zip")
    key = keys.load_key(store.root)

    def found(edit: Callable[[Told], object]) -> list[str]:
        forgery = forged(taken_apart(bundle), edit, key)
        other = put_together(store.root.parent / "other.zip", forgery)
        return [str(one) for one in examine(other, keys.public_hex(key)).findings]

    def without(tale: Told) -> None:
        tale.files["datapackage.json"] = b"{}\n"
        tale.manifest["files"]["datapackage.json"] = sha256_hex(b"{}\n")

    def other_files(tale: Told) -> None:
        tale.manifest["override"]["judged"]["datapackage.json"] = "0" * 64

    def of_an_earlier_store(tale: Told) -> None:
        without(tale)
        del tale.manifest["override"]["judged"]

    where = "release/datapackage.json: "
    assert found(of_an_earlier_store) == []
    assert found(lambda _: None) == []
    assert found(without) == [f"{where}does not say what was overridden, by whom and when"]
    assert f"{where}is not the assessed file with the mark of the override" in found(other_files)
    assert "release/manifest.json: its files differs from the logged one" in found(other_files)


def test_what_cannot_be_marked_is_not_published_by_override(store: ReleaseStore) -> None:
    record = blocked(store, package=b'{"a":1}\n')
    for by in ("bob", "eve"):
        overridden(store, record, by)
    with pytest.raises(StoreError, match="the override cannot be marked in it"):
        publish_one(store, record.candidate_id)
    assert store.releases() == []
    assert verify(store) == []


@pytest.mark.enemy("administrator", "gains a role")
def test_who_may_override_and_what(store: ReleaseStore) -> None:
    write_people(
        store.root, *(member(n) for n in ("ann", "bob", "eve")), member("cid", ["approver", "operator"])
    )
    record = blocked(store)
    for by, finding in (("ann", "ann made it"), ("cid", "cid does not have the role for this \\(admin\\)")):
        with pytest.raises(UsageError, match=finding):
            overridden(store, record, by)
    overridden(store, record, "bob")
    with pytest.raises(UsageError, match="bob has decided on it before"):
        overridden(store, record, "bob")
    assert store.candidate(record.candidate_id).state is CandidateState.BLOCKED
    with pytest.raises(UsageError, match="is blocked, and only a candidate that awaits approval"):
        agreed(store, word(record, "eve"), 1)
    waiting = awaiting(store, period="2025")
    with pytest.raises(UsageError, match="only a blocked candidate can be overridden"):
        overridden(store, waiting, "eve")
    for verdict in (Verdict.ERROR, Verdict.NOT_RUN):
        broken = blocked(store, K_FAILS, replace(K_FAILS, gate="e", verdict=verdict), period=f"x-{verdict}")
        with pytest.raises(UsageError, match=f"cannot be overridden: e says {verdict}"):
            overridden(store, broken, "bob")
    assert last(store)[0] == "decision.refused"
    assert verify(store) == []


@pytest.mark.enemy("administrator", "changes history")
def test_what_is_altered_stale_or_expired_is_not_overridden(store: ReleaseStore) -> None:
    first = blocked(store, period="2024")
    late = blocked(store, period="2025", expires_at=LONG_AGO)
    with pytest.raises(Blocked, match="expired on 2020-01-01"):
        overridden(store, late, "bob")
    overridden(store, first, "bob")
    altered(store, first)
    with pytest.raises(VerificationFailed, match="changed since its gates ran"):
        overridden(store, first, "eve")
    other = blocked(store, period="2026")
    overridden(store, other, "bob")
    publish_one(store, approved(store, period="2027"))
    with pytest.raises(Blocked, match="stale"):
        overridden(store, other, "eve")
    for record in (first, late, other):
        assert store.candidate(record.candidate_id).state is CandidateState.BLOCKED
    assert [one.period for one in store.releases()] == ["2027"]
    assert [str(one) for one in verify(store)] == [
        f"{first.candidate_id}/data.csv: differs from the assessed file"
    ]


def test_a_candidate_that_was_overridden_can_still_be_rejected(store: ReleaseStore) -> None:
    record = blocked(store)
    for by in ("bob", "eve"):
        overridden(store, record, by)
    agreed(store, word(record, "dan", "reject"), 0)
    assert store.candidate(record.candidate_id).state is CandidateState.REJECTED
    assert verify(store) == []


@pytest.mark.enemy("store writer", "forges a word")
def test_verify_finds_a_blocked_candidate_that_was_let_out_without_two_proofs(store: ReleaseStore) -> None:
    record = blocked(store)
    overridden(store, record, "bob")
    with duckdb.connect(str(store.root / DATABASE)) as con:
        con.execute("UPDATE candidate SET state = 'approved'")
    found = [str(one) for one in verify(store)]
    assert any("is approved, though gate k says fail" in one for one in found)
    with pytest.raises(VerificationFailed, match="is approved in the store, but blocked in the log"):
        publish_one(store, record.candidate_id)
    assert OVERRIDES_NEEDED == 2


# What verify says of proofs ----------------------------------------------------------------------------


@pytest.fixture
def decided(fresh_store: Path, built_once: BuiltOnce) -> ReleaseStore:
    """A store with one release that bob approved; the triggers that keep its events are gone."""
    return built_once(fresh_store, approve_one)


def approve_one(store: ReleaseStore) -> None:
    record = awaiting(store)
    agreed(store, word(record), 1)
    publish_one(store, record.candidate_id)


def proof_of(other: str) -> Callable[[dict[str, Any]], None]:
    def edit(payload: dict[str, Any]) -> None:
        payload["proof"]["public_key"] = keys.public_hex(key_of(other).key)

    return edit


@pytest.mark.enemy("store writer", "forges a word")
def test_verify_finds_the_maker_under_another_name(
    decided: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from release_store.verification import verify as verification

    def edited(con: duckdb.DuckDBPyConnection) -> Any:
        log = read_log(con)
        for one in log.candidates.values():
            staged = {**one.staged(), "maker": {"public_key": keys.public_hex(key_of("bob").key)}}
            one.first = json.dumps(staged)
        return log

    assert verify(decided) == []
    monkeypatch.setattr(verification, "read_log", edited)
    assert "a decision is by the person who made it" in {one.what for one in verify(decided)}


@pytest.mark.parametrize(
    ("action", "edit", "finding"),
    [
        ("decision.approve", lambda p: p.pop("proof"), "has no proof of identity"),
        ("decision.approve", proof_of("eve"), "is not proven to be by bob"),
        ("decision.approve", lambda p: p["proof"].update(signature="0" * 128), "is not proven to be by bob"),
        (
            "decision.approve",
            lambda p: p["proof"].update(method="token", token=""),
            "is not proven to be by bob",
        ),
        (
            "decision.approve",
            lambda p: p["proof"].update(people="0" * 64),
            "refers to a different list of people than the log held then",
        ),
        (
            "decision.approve",
            lambda p: p.update(at="2026-01-01T00:00:00.000000+00:00"),
            "is not proven to be",
        ),
        ("decision.approve", lambda p: p.update(history_head="0" * 64), "is not proven to be by bob"),
        (
            "decision.approve",
            lambda p: p.update(decision="reject"),
            "names a different action than its event",
        ),
        (
            "decision.approve",
            lambda p: p.update(decision="be king"),
            "names a different action than its event",
        ),
        ("decision.approve", lambda p: p.update(proof="yes"), "lacks required fields"),
        (
            "people.changed",
            lambda p: p["members"][1].update(roles=["auditor"]),
            "refers to a different list of people than the log held then",
        ),
        (
            "people.changed",
            lambda p: p.update(members=[]),
            "refers to a different list of people than the log held then",
        ),
    ],
)
@pytest.mark.enemy("store writer", "forges a word")
@pytest.mark.by_day(5)
def test_verify_finds_a_proof_that_does_not_hold(
    decided: ReleaseStore,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    edit: Callable[[dict[str, Any]], object],
    finding: str,
) -> None:
    """Said of the log as it was read, whatever its hashes say: those find any change by themselves."""
    from release_store.verification import verify as verification

    def edited(con: duckdb.DuckDBPyConnection) -> Any:
        log = read_log(con)
        if action == "people.changed":
            edit(log.people[0])
        else:
            edit(log.words[0].payload)
        return log

    assert verify(decided) == []
    monkeypatch.setattr(verification, "read_log", edited)
    assert any(finding in str(one) for one in verify(decided))


# What is told of a refusal ---------------------------------------------------------------------------


def brought_to(store: ReleaseStore, record: CandidateRecord, state: CandidateState) -> None:
    with duckdb.connect(str(store.root / DATABASE)) as con:
        con.execute("UPDATE candidate SET state = ?", [state.value])


@pytest.mark.parametrize("state", CandidateState)
@pytest.mark.by_day(4)
def test_a_refusal_says_its_mend_in_every_state(store: ReleaseStore, state: CandidateState) -> None:
    record = awaiting(store)
    brought_to(store, record, state)
    for act in ("approve", "reject", "override"):
        with pytest.raises(ReleaseGateError) as caught:  # the maker's word is refused in any state
            agreed(store, word(record, "ann", act), 1)
        assert caught.value.hint
        assert "\n" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("blocked", "act", "hint"),
    [
        (True, "override", "Restore the files, or run the period again."),
        (False, "approve", "Restore the files, or reject the candidate and run the period again."),
    ],
)
def test_files_that_were_altered_are_told_with_what_can_be_done(
    store: ReleaseStore, blocked: bool, act: str, hint: str
) -> None:
    record = stage(store) if blocked else awaiting(store)
    if blocked:
        store.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    altered(store, record)
    with pytest.raises(VerificationFailed, match="changed since its gates ran") as caught:
        agreed(store, word(record, "bob", act), 1)
    assert caught.value.hint == hint
    if blocked:
        with pytest.raises(UsageError, match="is blocked, and only") as usage:
            agreed(store, word(record, "bob"), 1)
        assert usage.value.hint == "Prepare the period again, or let two administrators override the gates."
