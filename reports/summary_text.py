"""What a report says in words and numbers of one candidate or release: the verdict, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policy.rounding import limit_share, measured_share
from policy.text import number_of
from release_store.permission import Act
from release_store.records import CandidateState, ReleaseState, Verdict
from release_store.summary import RequiredApprovals, Summary, removed_duplicates
from reports.gate_wording import why_not_passed
from reports.notes import levels_text, reuse_text
from reports.pages import number
from reports.protection import measurement_sentence
from reports.text import decided

Document = Mapping[str, Any]
_GONE = {
    ReleaseState.WITHDRAWN: ("Withdrawn", "bad"),
    ReleaseState.SUPERSEDED: ("Superseded by a later release", "open"),
}
_ENDED = {
    CandidateState.REJECTED: ("Rejected", "bad"),
    CandidateState.EXPIRED: ("Expired before approval", "open"),
    CandidateState.STALE: ("Stale: another release appeared after its gates ran", "open"),
    CandidateState.FAILED: ("Failed", "bad"),
}


def verdict(facts: Document, release: str | None, state: str) -> tuple[str, str, list[str]]:
    """Return the verdict in a few words, its mood (good, bad or open), and the reasons.

    `facts` are those of the manifest, `state` is that of the store, "" where the release is about to appear.
    """
    gates = facts["gates"]
    failing = [gate for gate in gates if gate["verdict"] != Verdict.PASS]
    passed = f"{len(gates) - len(failing)} of {len(gates)} gates pass."
    reasons = [passed, *map(why_not_passed, failing)]
    words = [f"{decided(one)}: {one['reason']}" for one in facts["decisions"]]
    if release and failing:
        word, _ = _gone(state) or ("Published", "")
        return f"{word}, by override of blocking gates", "bad", [*reasons, *words]
    if release:
        word, mood = _gone(state) or ("Published", "good")
        return word, mood, [*reasons, *words]
    if not gates:
        return "Not assessed", "bad", [f"It is {state or 'staged'}: no gate was run.", *words]
    if failing:
        names = ", ".join(gate["gate"] for gate in failing)
        return f"Blocked by {names}", "bad", [*reasons, *words]
    if state in _ENDED:
        word, mood = _ENDED[CandidateState(state)]
        return f"{word}; it passed every gate", mood, [*reasons, *words]
    required = _required(facts) if state == CandidateState.AWAITING_APPROVAL else None
    because = required.why if required else ""
    reasons += [f"More approvals are needed: {because}."] if because else []
    reasons += _waiting(facts) if state == CandidateState.AWAITING_APPROVAL else []
    return _passing(facts, state), "good" if state == CandidateState.APPROVED else "open", [*reasons, *words]


def _waiting(facts: Document) -> list[str]:
    """Return how many people agreed to what waits for them, and until when they can."""
    given = sum(one["decision"] == Act.APPROVE for one in facts["decisions"])
    required = _required(facts)
    needed = required.needed if required else 0  # an earlier releasegate did not keep it
    of = f" of {needed}" if needed else ""
    said = f"{given}{of} {'approval' if (needed or given) == 1 else 'approvals'} given"
    expires = facts.get("expires_at")
    return [f"{said}; it expires at {str(expires)[:16].replace('T', ' ')} UTC." if expires else f"{said}."]


def _required(facts: Document) -> RequiredApprovals | None:
    return Summary(facts["summary"]).required_approvals


def _gone(state: str) -> tuple[str, str] | None:
    return _GONE.get(ReleaseState(state)) if state else None


def _passing(facts: Document, state: str) -> str:
    if state == CandidateState.AWAITING_APPROVAL:
        required = _required(facts)
        needed = required.needed if required else 0
        people = "people" if not needed else "one person" if needed == 1 else f"{needed} people"
        return f"Passes every gate and awaits approval by {people}"
    return f"Passes every gate; {state.replace('_', ' ') or 'assessed'}"


def tiles(facts: Document, figures: Document | None, n_earlier: int | None) -> list[tuple[str, str]]:
    """Return the few numbers that stand at the top."""
    values = {gate["gate"]: gate["value"] for gate in facts["gates"]}
    published, left_out = _rows(facts)
    classes = (figures or {}).get("classes") or {}
    return [
        ("rows", number(published)),
        ("records left out", number(left_out)),
        *([("classes", number(classes["n"]))] if classes else []),
        ("smallest class", number(values.get("k"))),
        ("detail lost (NCP)", measured_share(values.get("ncp"), "<=") or "-"),
        ("earlier releases compared", number(n_earlier)),
    ]


def risk(facts: Document, policy: Document, figures: Document | None, n_earlier: int | None) -> list[str]:
    """Return what attackers get, as the gates measured it, and what was compared."""
    lines = []
    for gate in facts["gates"]:
        if gate["gate"] in ("err", "umr", "sadr") and gate["value"] is not None:
            most = "" if gate["threshold"] is None else f" The limit is {limit_share(gate['threshold'])}."
            lines.append(measurement_sentence(gate, policy) + most)
    if n_earlier:
        lines.append(
            f"Compared with {number_of(n_earlier, 'earlier release')}. The bars show for how many people how "
            "many sensitive values remain possible: the darker, the fewer."
        )
    elif n_earlier == 0:
        lines.append("There is no earlier release to compare with.")
    elif facts["gates"]:
        lines.append("It could not be compared with earlier releases of its series.")
    if figures is None and facts["gates"]:
        lines.append("It has no stored figures: it was made before releasegate stored any.")
    return lines


def cost(facts: Document, are: str) -> list[str]:
    """Return what analysts lose of a table whose records `are` (are, were, would be) published."""
    published, left_out = _rows(facts)
    omitted = "none" if left_out == 0 else number(left_out)
    records = "record" if published == 1 else "records"
    lines = [f"{number(published)} {records} {are} published and {omitted} omitted."]
    ncp = next((gate for gate in facts["gates"] if gate["gate"] == "ncp"), None)
    if ncp is not None and ncp["value"] is not None:
        lines.append(
            f"On average {measured_share(ncp['value'], '<=')} of an attribute's detail is lost (NCP, limit "
            f'{limit_share(ncp["threshold"]) or "-"}): 0% means unchanged, 100% means "any value" only.'
        )
    return lines


def making_of(facts: Document) -> list[tuple[str, str]]:
    """Return by whom, when, how and of what it was made."""
    summary = Summary(facts["summary"])
    parameters = sorted(summary.parameters.items())
    aware = "blind to" if summary.history == "blind" else "aware of"
    found = [
        ("series", str(facts["series"])),
        ("period", str(facts["period"])),
        ("candidate", str(facts["candidate_id"])),
        ("made", f"by {facts['made_by']} at {str(facts['made_at'])[:16].replace('T', ' ')} UTC"),
        ("method", f"{summary.method}, {aware} the history"),
        ("parameters", ", ".join(f"{name} = {value}" for name, value in parameters) or "all by default"),
        ("seed", str(summary.seed)),
    ]
    revision, again, repair = summary.revision, summary.reassessment, summary.repair
    found += [("revises", f"{revision.of}: {revision.reason}")] if revision else []
    found += [("assessed again", f"by {again.by}, from {again.of}")] if again else []
    removed = removed_duplicates(summary.notes)
    if removed is not None:
        said = f"{number_of(removed, 'row')} removed from the input, each equal to the row before it"
        found.append(("duplicates", said))
    cells = (("levels", levels_text(summary)), ("reuses", reuse_text(summary)))
    found += [(name, text) for name, text in cells if text]
    if repair and repair.failing_groups:
        said = (
            f"{number_of(repair.failing_groups, 'group')} would have failed against earlier releases; "
            f"{repair.merged:,} merged, {number_of(repair.n_left_out, 'record')} left out"
        )
        found.append(("repair", said))
    return found


def digests(facts: Document) -> list[tuple[str, str]]:
    """Return what each SHA-256 is of."""
    named = {
        "candidate": "candidate_digest",
        "policy": "policy_digest",
        "input": "input_digest",
        "history it was assessed against": "history_head",
    }
    return [
        *((words, str(facts[name])) for words, name in named.items()),
        *sorted(facts.get("files", {}).items()),
    ]


def _rows(facts: Document) -> tuple[int | None, int | None]:
    """Return how many records are published and left out; None where the summary does not say."""
    source, published = facts["summary"].get("n_source"), facts["summary"].get("n_published")
    return published, None if source is None or published is None else source - published
