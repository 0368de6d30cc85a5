"""The checks of a bundle: each yields what it finds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from release_store.evidence.findings import Finding
from release_store.evidence.reader import Bundle
from release_store.protocol.checkpoints import proven_by, signature_holds, tree_root
from release_store.protocol.clock import IN_ORDER, correction_error, out_of_order
from release_store.protocol.demanded_gates import demanded_gates
from release_store.protocol.merkle_proofs import consistency_holds, inclusion_holds, leaf_hash
from release_store.protocol.names import (
    BINDING,
    CHECKPOINT,
    CORRECTED,
    EVENT_FIELDS,
    EVIDENCE,
    MANIFEST,
    NEWEST,
    PACKAGE,
    POLICY,
    PUBLIC_KEY,
    RELEASE,
)
from release_store.protocol.overrides import files_as_judged, override_mark_error
from release_store.protocol.proofs import PROVEN, one_person, proof_error
from release_store.protocol.questions import question_errors
from release_store.protocol.strict_json import (
    json_digest,
    json_object,
    json_text,
    optional_object,
    same,
    whole_number,
)

_DECISION = ("decision", "by", "reason", "at", "candidate_digest", "policy_digest", "history_head")
_STAGED = (*BINDING, "input_digest", "files", "summary")


def _check_keys(bundle: Bundle) -> Iterator[Finding]:
    if bundle.own_key != bundle.key:
        yield Finding(PUBLIC_KEY, "is not the key that was given")
    first = bundle.events[0]
    if first["number"] != 1 or first["action"] != "store.created":
        yield Finding("event 1", "is missing, so the store's first key is unknown")
        return
    if first["payload"].get("public_key") != bundle.key:
        yield Finding("event 1", "the store's first key is not the trusted key")
    if not same(first["payload"].get("store_id"), bundle.newest.get("store_id")):
        yield Finding("event 1", "the store's first id is not the signed id")


def _check_checkpoints(bundle: Bundle) -> Iterator[Finding]:
    """Both are signed by the trusted key, and the newest goes on where the release's stands."""
    for name, one in ((CHECKPOINT, bundle.checkpoint), (NEWEST, bundle.newest)):
        if not signature_holds(one, bundle.key):
            yield Finding(name, "is not signed by the trusted key")
    if bundle.checkpoint.get("of", bundle.release) != bundle.release:
        yield Finding(CHECKPOINT, "is not the release's checkpoint")
    if not same(bundle.checkpoint["store_id"], bundle.newest["store_id"]):
        yield Finding(NEWEST, "belongs to a different store than the release's checkpoint")
    if "root" not in bundle.newest:
        yield Finding(NEWEST, "has no Merkle root, so it proves nothing")
    elif not _continues(bundle, bundle.checkpoint):
        yield Finding(NEWEST, "does not continue the log of the release's checkpoint")


def _is_sound(bundle: Bundle, one: dict[str, Any]) -> bool:
    """Tell whether one of the checkpoints is what it should be: what another says proves nothing."""
    fits = one is bundle.newest or one.get("of", bundle.release) == bundle.release
    return fits and signature_holds(one, bundle.key)


def _check_kept(bundle: Bundle) -> Iterator[Finding]:
    """The checkpoint that the reader kept is of the same log."""
    kept = bundle.kept
    if kept is None:
        return
    where = "the checkpoint that was given"
    if not signature_holds(kept, bundle.key):
        yield Finding(where, "is not signed by the trusted key")
    elif not same(kept["store_id"], bundle.newest["store_id"]):
        yield Finding(where, "belongs to a different store")
    elif whole_number(kept["size"]) > whole_number(bundle.newest["size"]):
        yield Finding(where, "is newer than the bundle; ask for a new bundle")
    elif not _continues(bundle, kept):
        yield Finding(where, "is not of the log in the bundle")


def _continues(bundle: Bundle, earlier: dict[str, Any]) -> bool:
    """Tell whether the log of the newest checkpoint begins with that of an earlier one."""
    newest = bundle.newest
    size, last = whole_number(earlier["size"]), whole_number(newest["size"])
    heads = {one["number"]: one["hash"] for one in bundle.events}
    if heads.get(size, earlier["head"]) != earlier["head"]:
        return False
    if "root" not in earlier:
        # The earlier form of checkpoints: its last event is itself proven to be in the newest tree.
        return size in heads and size <= last
    if size == last:
        return same(earlier["root"], newest["root"]) and same(earlier["head"], newest["head"])
    path = bundle.consistency.get(size)
    roots = [tree_root(one) for one in (earlier, newest)]
    return path is not None and consistency_holds(size, roots[0], last, roots[1], path)


def _check_events(bundle: Bundle) -> Iterator[Finding]:
    """Every event is what its hash says, and stands at its number in the log that was signed.

    Where a checkpoint is not what it should be, that is told once: no proof can then be judged.
    """
    sound = all(_is_sound(bundle, one) for one in (bundle.checkpoint, bundle.newest))
    for event in bundle.events:
        number, path = event["number"], bundle.paths[event["number"]]
        where = f"event {number}"
        if event["hash"] != json_digest({name: event[name] for name in EVENT_FIELDS}):
            yield Finding(where, "does not match its hash: it was changed")
            continue
        if not sound:
            continue
        signed = proven_by(number, bundle.checkpoint, bundle.newest)
        if signed is None:
            if path is not None:
                yield Finding(where, "is newer than every checkpoint, yet has a proof")
            continue
        leaf = leaf_hash(bytes.fromhex(event["hash"]))
        root = tree_root(signed)
        if path is None or not inclusion_holds(leaf, number - 1, signed["size"], path, root):
            yield Finding(where, "is not proven to be in the signed log")


def _check_times(bundle: Bundle) -> Iterator[Finding]:
    """No event is earlier than one before it, unless the clock was corrected between them."""
    demanded = bundle.events[0]["payload"].get("times") == IN_ORDER  # the first stores could step back
    for one, other in itertools.pairwise(bundle.events):
        steps = other["number"] - one["number"]
        if other["action"] == CORRECTED:
            wrong = correction_error(other, one["at"] if steps == 1 else None)
        else:
            wrong = out_of_order(one["at"], other["at"], steps) if demanded else None
        if wrong:
            yield Finding(f"event {other['number']}", wrong)


def _check_files(bundle: Bundle) -> Iterator[Finding]:
    """The files are those that the log says were published."""
    published = bundle.published()
    logged = json_object(published["payload"]["files"], "the list of files")
    if bundle.proven_state() != "withdrawn":
        for name in bundle.left_out:
            yield Finding(RELEASE + name, "is missing, though the release is not withdrawn")
    for name in sorted((logged.keys() | bundle.files.keys()) - set(bundle.left_out)):
        if bundle.files.get(name) != logged.get(name):
            yield Finding(RELEASE + name, "differs from the published file")
    late = published["number"] > whole_number(bundle.checkpoint["size"])
    if late and _is_sound(bundle, bundle.checkpoint):
        yield Finding(CHECKPOINT, "was signed before the release was published")
    started = bundle.started()
    for name in ("release", "files", "classes", "candidate"):
        if not same(started["payload"][name], published["payload"][name]):
            yield Finding(
                f"event {published['number']}",
                f"its {name} differs from that at the start of the publication",
            )


def _check_manifest(bundle: Bundle) -> Iterator[Finding]:
    """What the manifest says is what the log says."""
    manifest, where = bundle.manifest, RELEASE + MANIFEST
    candidate = bundle.candidate
    started, published = bundle.started(), bundle.published()
    if published["payload"]["candidate"] != candidate:
        yield Finding(where, "names a different candidate than the published one")
    staged = bundle.event("candidate.staged", candidate)
    assessed = bundle.event("candidate.assessed", candidate)
    order = [staged["number"], assessed["number"]]
    order += [one["number"] for one in bundle.decisions()] + [started["number"], published["number"]]
    if order != sorted(order):
        yield Finding(
            EVIDENCE, "the release was not staged, assessed, decided on and published in this order"
        )
    logged = {name: staged["payload"][name] for name in _STAGED}
    logged["made_by"] = staged["actor"]
    logged["gates"] = bundle.gates()
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
    judged = {**manifest, "files": files_as_judged(manifest)}
    for name, value in logged.items():
        if not same(judged[name], value):
            yield Finding(where, f"its {name} differs from the logged one")
    if wrong := override_mark_error(manifest, bundle.package):
        yield Finding(RELEASE + PACKAGE, wrong)
    if json_digest(judged["files"]) != manifest["candidate_digest"]:
        yield Finding(where, "its candidate_digest does not match its files")


def _check_policy(bundle: Bundle) -> Iterator[Finding]:
    if json_digest(bundle.policy) != bundle.manifest["policy_digest"]:
        yield Finding(POLICY, "is not the policy of the release")


def _check_gates(bundle: Bundle) -> Iterator[Finding]:
    """Every gate passed, and those that the policy names were asked."""
    results = [(json_text(one["gate"]), json_text(one["verdict"])) for one in bundle.gates()]
    if not results:
        yield Finding("gates", "no gate was run")
    overridden = bundle.overridden()
    held_back = {gate: verdict for gate, verdict in results if verdict != "pass"}
    for gate, verdict in held_back.items():
        if not overridden:
            yield Finding("gates", f"{gate} says {verdict}")
    override = optional_object(bundle.manifest.get("override"), "the override in the manifest")
    if not same(override.get("gates"), held_back if overridden else None):
        yield Finding(RELEASE + MANIFEST, "does not say which gates were overridden")
    asked = {gate for gate, _ in results}
    for name in bundle.demanded_gates():
        if name not in asked:
            yield Finding("gates", f"{name} has no result, though the release had to pass it")
    for name in demanded_gates(bundle.policy):
        if name not in asked:
            yield Finding("gates", f"the policy requires {name}, and it was not run")


def _check_decisions(bundle: Bundle) -> Iterator[Finding]:
    """Enough people other than the maker agreed, to what was then published."""
    manifest, decisions = bundle.manifest, bundle.decisions()
    approval = optional_object(bundle.policy.get("approval"), "approval of the policy")
    kept = optional_object(manifest["summary"].get("approval"), "approval of the candidate")
    needed = max(whole_number(approval.get("approvers", 0)), whole_number(kept.get("needed", 0)))
    approvals = sum(one["action"] == "decision.approve" for one in decisions)
    if approvals < needed and not bundle.overridden():
        required = "required approval" if needed == 1 else "required approvals"
        yield Finding("decisions", f"the release has {approvals} of {needed} {required}")
    if any(one_person(one, other) for one, other in itertools.combinations(decisions, 2)):
        yield Finding("decisions", "one person decided twice")
    staged = bundle.event("candidate.staged", bundle.candidate)
    maker = {"actor": staged["actor"], "payload": {"proof": staged["payload"].get("maker")}}
    candidates = {bundle.candidate, *bundle.predecessors()}
    for one in bundle.all_decisions():
        if one["object"] not in candidates:
            yield Finding(f"event {one['number']}", "is a decision about another candidate")
    for one in decisions:
        where, said = f"event {one['number']}", one["payload"]
        if one["action"] == "decision.reject" or one["action"] != f"decision.{json_text(said['decision'])}":
            yield Finding(where, "is a rejection of the published candidate")
        if said["by"] != one["actor"]:
            yield Finding(where, "names somebody other than its actor")
        if not all(same(said[name], manifest[name]) for name in BINDING):
            yield Finding(where, "is a decision about other files, another policy or another history")
    for one in (*decisions, *bundle.restorations()):
        if one_person(one, maker):
            yield Finding(f"event {one['number']}", "is a decision by the person who made the release")


def _check_proofs(bundle: Bundle) -> Iterator[Finding]:
    """Every word on the release is proven to be of a person who might say it."""
    demanded = bundle.events[0]["payload"].get("decisions") == PROVEN
    for one in bundle.signed_events():
        people = bundle.people_before(one["number"])
        wrong = proof_error(one, json_text(bundle.newest["store_id"]), people, demanded)
        if wrong:
            yield Finding(f"event {one['number']}", f"the decision {wrong}")


def _check_questions(bundle: Bundle) -> Iterator[Finding]:
    """Every answer is to an open question, and nobody approved before it was given."""
    for number, wrong in question_errors(bundle.events):
        yield Finding(f"event {number}", wrong)


CHECKS: tuple[tuple[str, Callable[[Bundle], Iterator[Finding]]], ...] = (
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
    ("questions", _check_questions),
)
