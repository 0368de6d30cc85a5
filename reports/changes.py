"""What a candidate changes against the last release of its series: rows, roles, policy, risk, detail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from policy.errors import ReleaseGateError
from release_store.db.changes import gate_json
from release_store.snapshot import StoreSnapshot
from release_store.store import ReleaseStore
from release_store.summary import Summary
from reports.gate_wording import measured_of
from reports.pages import number, share
from reports.policy_text import ROLES, UNSEEN, field_text, policy_fields, roles_of
from reports.sure import HowSure, how_sure

Document = Mapping[str, Any]
SAME = "same"
MOST_FIELDS = 8  # of the policy; the policy in full tells the rest
MOST_COLUMNS = 3  # whose detail is told, those that changed most: the first screen holds no more
LEAST_LOSS = 0.02  # of NCP: a column that changed by less is not named
RISKS = {
    "k": "rows in the smallest class",
    "err": "linkage risk (ERR)",
    "umr": "people whose class is identified (UMR)",
    "forced": "people whose class or value is certain (forced)",
    "sadr": "surest guess of a sensitive value (SADR)",
    "worlds": "people with too few values (worlds)",
    "known": "people whom one unlocks (known)",
}


@dataclass(frozen=True)
class LastRelease:
    """The release that a candidate is compared with: what the store keeps of it."""

    release_id: str
    policy: Document
    summary: Document = field(default_factory=dict)
    gates: Sequence[Document] = ()
    figures: Document | None = None


@dataclass(frozen=True)
class Change:
    """One line: what, before and now, and in a word how it changed; `mood` is good, bad, open or empty."""

    about: str  # rows, roles, policy, risk or detail
    what: str
    before: str
    now: str
    word: str
    mood: str = ""


def last_release(store: ReleaseStore, summary: Summary) -> LastRelease | None:
    """Return the release that a candidate's policy was compared with; None for a first or older candidate."""
    name = _compared_with(summary)
    if name is None:
        return None
    try:
        release = store.release(name)
        record = store.candidate(release.candidate_id)
        return LastRelease(
            name,
            store.policy(record.policy_digest),
            release.summary.document,
            [gate_json(result) for result in store.gates(record.candidate_id)],
            store.figures(record.candidate_id),
        )
    except ReleaseGateError:  # of a store that lost it: the report is about another release
        return None


def last_release_in(whole: StoreSnapshot, summary: Summary) -> LastRelease | None:
    """Return the same of a store that was read at one moment."""
    name = _compared_with(summary)
    release = next((one for one in whole.releases if one.release_id == name), None)
    digests = {one.candidate_id: one.policy_digest for one in whole.candidates}
    if release is None or release.candidate_id not in digests:
        return None
    return LastRelease(
        release.release_id,
        whole.policies.get(digests[release.candidate_id], {}),
        release.summary.document,
        whole.gate_documents.get(release.candidate_id, ()),
        whole.figures.get(release.candidate_id),
    )


def _compared_with(summary: Summary) -> str | None:
    required = summary.required_approvals
    return required.compared_with if required else None


def changes(
    facts: Document, policy: Document, figures: Document | None, last: LastRelease, *, public: bool = False
) -> list[Change]:
    """Return the changes, a line each; of a `public` page without what nobody but the owner sees."""
    summary = Summary(facts["summary"])
    return [
        *_of_rows(Summary(last.summary), summary),
        *_of_roles(last.policy, policy, public),
        *_of_policy(last.policy, policy, summary, public),
        *_of_risk(last.gates, facts["gates"]),
        *_of_detail(last, facts["gates"], figures),
    ]


def _of_rows(before: Summary, now: Summary) -> Iterator[Change]:
    for what, was, is_ in (
        ("rows", before.n_published, now.n_published),
        ("records left out", before.left_out, now.left_out),
    ):
        if was is not None and is_ is not None:
            word = SAME if was == is_ else f"{is_ - was:+,}"
            yield Change("rows", what, number(was), number(is_), word)


def _of_roles(before: Document, now: Document, public: bool) -> Iterator[Change]:
    one, other = roles_of(before), roles_of(now)
    changed = [name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name)]
    shown = [name for name in changed if not public or {one.get(name), other.get(name)} - {*UNSEEN, None}]
    for name in shown:
        was, is_ = (ROLES.get(roles.get(name, ""), "-") for roles in (one, other))
        word = "new" if name not in one else "removed" if name not in other else "changed"
        yield Change("roles", name, was, is_, word, "open")
    if not shown:
        n = sum(not public or role not in UNSEEN for role in other.values())
        yield Change("roles", f"columns and their roles ({n})", "", "", SAME)


def _of_policy(before: Document, now: Document, summary: Summary, public: bool) -> Iterator[Change]:
    one, other = (policy_fields(each, public=public) for each in (before, now))
    columns = set(roles_of(before).keys() ^ roles_of(now).keys())
    names = [
        name
        for name in dict.fromkeys([*one, *other])
        if one.get(name) != other.get(name) and not _is_of(name, columns)
    ]
    required = summary.required_approvals
    looser = {words.split()[0] for words in required.looser if words} if required else set()
    for name in names[:MOST_FIELDS]:
        is_looser = any(_is_about(place, name) for place in looser)
        was, is_ = (field_text(name, fields.get(name), listed=False) for fields in (one, other))
        yield Change(
            "policy", name, was, is_, "looser" if is_looser else "changed", "bad" if is_looser else "open"
        )
    if len(names) > MOST_FIELDS:
        yield Change("policy", f"{len(names) - MOST_FIELDS} more fields", "", "", "changed", "open")
    if not names:
        yield Change("policy", f"all {len(other)} fields", "", "", SAME)


def _is_about(place: str, field_name: str) -> bool:
    """Tell whether what guards less, as `policy.loosening` names it, is a field or a part of it."""
    full = [place, f"privacy.{place}", f"approval.{place}"]
    return any(field_name == one or field_name.startswith(f"{one}.") for one in full)


def _is_of(field_name: str, columns: set[str]) -> bool:
    """Tell whether a field is of the role of a column that only one policy has."""
    return any(field_name.startswith(f"roles.{role}.{name}.") for role in ROLES for name in columns)


def _of_risk(before: Sequence[Document], now: Sequence[Document]) -> Iterator[Change]:
    earlier = _measured(before)
    for name, gate in _measured(now).items():
        was = earlier.get(name)
        if name not in RISKS or was is None:
            continue
        before_text, now_text = measured_of(was), measured_of(gate)
        more = gate["value"] - was["value"]
        worse = more < 0 if gate["relation"] in (">=", ">") else more > 0
        word, mood = ("higher risk", "bad") if worse else ("lower risk", "good")
        if before_text == now_text:
            word, mood = SAME, ""
        yield Change("risk", RISKS[name], before_text, now_text, word, mood)
    earlier_sure, sure = how_sure(before), how_sure(now)
    if sure is not None:
        what = f"people {sure.over} of (+ not measured)"
        yield Change("risk", what, *_against(earlier_sure, sure))


def _against(before: HowSure | None, now: HowSure) -> tuple[str, str, str, str]:
    """Return what was, what is, and in a word how it changed and how good that is."""
    if before is None:
        return "-", now.shares(), "new", ""
    if before.shares() == now.shares():
        return before.shares(), now.shares(), SAME, ""
    more = (now.share, now.unmeasured_share) > (before.share, before.unmeasured_share)
    return before.shares(), now.shares(), *(("higher risk", "bad") if more else ("lower risk", "good"))


def _of_detail(last: LastRelease, now: Sequence[Document], figures: Document | None) -> Iterator[Change]:
    was, is_ = (_measured(gates).get("ncp") for gates in (last.gates, now))
    if was is not None and is_ is not None:
        yield _loss(
            "detail lost (NCP), all columns",
            measured_of(was),
            measured_of(is_),
            is_["value"] - was["value"],
        )
    one, other = ((found or {}).get("ncp") or {} for found in (last.figures, figures))
    more = {name: other[name] - one[name] for name in other if name in one}
    most = sorted(more, key=lambda name: -abs(more[name]))[:MOST_COLUMNS]
    for name, change in more.items():
        if name in most and abs(change) >= LEAST_LOSS:
            yield _loss(f"detail lost of {name}", share(one[name]), share(other[name]), change)


def _measured(gates: Sequence[Document]) -> dict[str, Document]:
    """Return the gates that measured a number, by their names."""
    return {str(one["gate"]): one for one in gates if _is_number(one["value"])}


def _is_number(value: Any) -> bool:
    """Tell whether a value is a finite number; a damaged store may have a text there."""
    return isinstance(value, int | float) and isfinite(value)


def _loss(what: str, before: str, now: str, more: float) -> Change:
    word, mood = ("more lost", "open") if more > 0 else ("less lost", "good")
    return Change("detail", what, before, now, *((SAME, "") if before == now else (word, mood)))
