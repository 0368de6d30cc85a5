"""What a report shows of one candidate or release, gathered from the store, and put into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from flows.desk.pages import number, share
from flows.desk.pictures import Pictures, pictures_of, used
from flows.desk.words import asks, not_protected, protected
from release_store.approvals import why
from release_store.canonical import iso
from release_store.changes import gate_document
from release_store.decisions import decision_document
from release_store.manifest import software_versions
from release_store.public_files import candidate_folder, differing_files, kept_folder
from release_store.records import CandidateState, ReleaseState, Verdict
from release_store.store import ReleaseStore

Document = Mapping[str, Any]
N_ROWS = 10
_NO_LONGER = "They are not shown: what was withdrawn, or was never published, is not to be spread."


@dataclass(frozen=True)
class Kept:
    """What the store keeps about one candidate or release, beside what its manifest says."""

    policy: Document
    figures: Document | None
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    n_earlier: int


@dataclass(frozen=True)
class Sheet:
    """What the template of a report shows.

    `facts` are those of the manifest; `word` is the verdict, `mood` good, bad or open; `reasons` what led to
    it.
    """

    kind: str  # "release" or "candidate"
    name: str
    title: str
    word: str
    mood: str
    reasons: tuple[str, ...]
    facts: Document
    figures: Document | None
    tiles: tuple[tuple[str, str], ...]
    gates: tuple[Document, ...]
    risk: tuple[str, ...]
    cost: tuple[str, ...]
    pictures: Pictures
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    no_rows: str
    protected: tuple[str, ...]
    not_protected: tuple[str, ...]
    made: tuple[tuple[str, str], ...]
    digests: tuple[tuple[str, str], ...]


def kept(store: ReleaseStore, candidate_id: str, *, rows: bool = True) -> Kept:
    """Read what the store keeps of a candidate: its policy, its figures, and ten rows of its staged files."""
    record = store.candidate(candidate_id)
    columns, lines = (), ()
    folder, files = candidate_folder(store.root, candidate_id), store.files(candidate_id)
    if rows and not differing_files(folder, files):
        columns, lines = sample(folder / "data.parquet")
    return Kept(
        store.policy(record.policy_digest),
        store.figures(candidate_id),
        columns,
        lines,
        _n_earlier(store.gates(candidate_id)),
    )


def candidate_facts(store: ReleaseStore, candidate_id: str) -> dict[str, Any]:
    """Return of a candidate what the manifest says of a release."""
    record = store.candidate(candidate_id)
    return {
        "series": record.series,
        "period": record.period,
        "candidate_id": candidate_id,
        "candidate_digest": record.candidate_digest,
        "made_by": record.made_by,
        "made_at": iso(record.made_at),
        "files": store.files(candidate_id),
        "policy_digest": record.policy_digest,
        "input_digest": record.input_digest,
        "history_head": record.history_head,
        "summary": record.summary,
        "gates": [gate_document(result) for result in store.gates(candidate_id)],
        "decisions": [decision_document(one) for one in store.decisions(candidate_id)],
        "software": software_versions(),
        "state": str(record.state),
    }


def sample(file: Path) -> tuple[tuple[str, ...], tuple[tuple[str | None, ...], ...]]:
    """Return the columns of a published file and ten of its rows, evenly spread over it."""
    with duckdb.connect() as con:
        con.execute("SET autoinstall_known_extensions=false; SET autoload_known_extensions=false")
        con.execute("SET enable_progress_bar=false")
        counted = con.execute("SELECT count(*) FROM read_parquet(?)", [str(file)]).fetchone()
        n = counted[0] if counted else 0
        wanted = sorted({i * n // N_ROWS for i in range(min(n, N_ROWS))})
        found = con.execute(
            "SELECT * EXCLUDE (file_row_number) FROM read_parquet(?, file_row_number=true) "
            "WHERE file_row_number IN (SELECT unnest(?)) ORDER BY file_row_number",
            [str(file), wanted],
        )
        columns = tuple(str(one[0]) for one in found.description or ())
        rows = found.fetchall()
    return columns, tuple(tuple(_cell(cell) for cell in row) for row in rows)


def _cell(cell: Any) -> str | None:
    if cell is None:
        return None
    return f"{cell:.10g}" if isinstance(cell, float) else str(cell)


def sheet_of(
    facts: Document, of: Kept, *, release: str | None = None, state: str = "", why_not: str = ""
) -> Sheet:
    """Return the sheet of a release, or of a candidate without one; `state` is that of the store."""
    gates = tuple(
        {**gate, "used": used(gate), "over": (used(gate) or 0) > 1, "asks": asks(gate["gate"])}
        for gate in facts["gates"]
    )
    word, mood, reasons = _verdict(facts, release, state)
    summary = facts["summary"]
    return Sheet(
        kind="release" if release else "candidate",
        name=release or str(facts["candidate_id"]),
        title=str(of.policy.get("publication", {}).get("title") or facts["series"]),
        word=word,
        mood=mood,
        reasons=tuple(reasons),
        facts=facts,
        figures=of.figures,
        tiles=tuple(_tiles(facts, of)),
        gates=gates,
        risk=tuple(_risk(facts, of)),
        cost=tuple(_cost(facts)),
        pictures=pictures_of(facts["gates"], of.figures),
        columns=of.columns,
        rows=of.rows,
        no_rows=why_not or _NO_LONGER,
        protected=tuple(protected(facts["gates"], of.policy, of.n_earlier)),
        not_protected=tuple(not_protected(facts["gates"], of.policy, of.n_earlier)),
        made=tuple(_made(facts, summary)),
        digests=tuple(_digests(facts)),
    )


def _verdict(facts: Document, release: str | None, state: str) -> tuple[str, str, list[str]]:
    """Return the verdict in a few words, its mood, and the reasons."""
    failing = [gate for gate in facts["gates"] if gate["verdict"] != Verdict.PASS]
    n, said = len(facts["gates"]), [_reason(gate) for gate in failing]
    passed = f"{n - len(failing)} of {n} gates pass."
    if release:
        words = [f"{one['decision']} by {one['by']}: {one['reason']}" for one in facts["decisions"]]
        if failing:
            return "Published by override of gates that held it back", "bad", [passed, *said, *words]
        gone = {ReleaseState.WITHDRAWN: "Withdrawn", ReleaseState.SUPERSEDED: "Superseded"}
        word = next((text for at, text in gone.items() if at == state), "Published")
        return word, "good" if word == "Published" else "open", [passed, *words]
    if failing or state == CandidateState.BLOCKED:
        names = ", ".join(gate["gate"] for gate in failing)
        return f"Held back by {names}", "bad", [passed, *said]
    needed = (facts["summary"].get("approval") or {}).get("needed")
    because = why(facts["summary"])
    waits = {
        CandidateState.AWAITING_APPROVAL: f"Passes every gate, and waits for {needed or 'people'} to approve",
        CandidateState.APPROVED: "Passes every gate, and is approved",
    }
    word = next(
        (text for at, text in waits.items() if at == state), f"Passes every gate; {state or 'judged'}"
    )
    return (
        word.replace("_", " "),
        "good" if state == CandidateState.APPROVED else "open",
        [passed, *([because] if because else [])],
    )


def _reason(gate: Document) -> str:
    measured = ""
    if gate["value"] is not None and gate["threshold"] is not None:
        measured = (
            f" Measured {number(gate['value'])}, must be {gate['relation']} {number(gate['threshold'])}."
        )
    return f"{gate['gate']} {str(gate['verdict']).replace('_', ' ')}: {asks(gate['gate'])}{measured}"


def _tiles(facts: Document, of: Kept) -> list[tuple[str, str]]:
    values = {gate["gate"]: gate["value"] for gate in facts["gates"]}
    source, published = facts["summary"].get("n_source"), facts["summary"].get("n_published")
    classes = (of.figures or {}).get("classes") or {}
    found = [("rows", number(published)), ("records left out", number(source - published))]
    found += [("classes", number(classes["n"]))] if classes else []
    return [
        *found,
        ("smallest class", number(values.get("k"))),
        ("detail lost (NCP)", share(values.get("ncp"))),
        ("earlier releases compared", number(of.n_earlier)),
    ]


def _risk(facts: Document, of: Kept) -> list[str]:
    by_name = {gate["gate"]: gate for gate in facts["gates"]}
    lines = []
    for name in ("err", "umr", "sadr"):
        gate = by_name.get(name)
        if gate is not None and gate["value"] is not None:
            limit = "" if gate["threshold"] is None else f" (limit {share(gate['threshold'])})"
            lines.append(f"{asks(name)} {share(gate['value'])}{limit}.")
    if of.n_earlier:
        lines.append(
            f"Compared with {of.n_earlier} earlier {'release' if of.n_earlier == 1 else 'releases'}: the curves "
            "show to how many sensitive values people can be narrowed by this release alone and by all of them. "
            "They count people, and show nobody."
        )
    else:
        lines.append("There is no earlier release to compare it with.")
    if of.figures is None:
        lines.append("No figures are kept of it: it was made before releasegate kept any.")
    return lines


def _cost(facts: Document) -> list[str]:
    source, published = facts["summary"].get("n_source"), facts["summary"].get("n_published")
    values = {gate["gate"]: gate for gate in facts["gates"]}
    lines = [
        f"{number(published)} of {number(source)} records are published, {number(source - published)} left out."
    ]
    ncp = values.get("ncp")
    if ncp is not None and ncp["value"] is not None:
        lines.append(
            f"On average {share(ncp['value'])} of an attribute's detail is lost (NCP; limit {share(ncp['threshold'])}): "
            "0% is as it was, 100% is nothing but “any value”."
        )
    return lines


def _made(facts: Document, summary: Document) -> list[tuple[str, str]]:
    found = [
        ("series", str(facts["series"])),
        ("period", str(facts["period"])),
        ("candidate", str(facts["candidate_id"])),
        ("made", f"by {facts['made_by']} at {facts['made_at'][:16].replace('T', ' ')} UTC"),
        (
            "method",
            f"{summary.get('method')}, {'aware of' if summary.get('history_aware') else 'blind to'} the history",
        ),
        (
            "parameters",
            ", ".join(f"{k} = {v}" for k, v in sorted((summary.get("parameters") or {}).items()))
            or "all by default",
        ),
        ("seed", str(summary.get("seed"))),
    ]
    revision, again = summary.get("revision"), summary.get("judged_again")
    found += [("revises", f"{revision['of']}: {revision['reason']}")] if revision else []
    found += [("judged again", f"by {again['by']}, of {again['of']}")] if again else []
    repair = (summary.get("notes") or {}).get("repair") or {}
    if repair.get("failing_groups"):
        found.append(
            (
                "repair",
                f"{repair['failing_groups']} groups would have failed beside earlier releases; {repair['merged']} were "
                f"merged, {repair['suppressed_records']} records left out",
            )
        )
    return found


def _digests(facts: Document) -> list[tuple[str, str]]:
    named = ("candidate_digest", "policy_digest", "input_digest", "history_head")
    words = ("candidate", "policy", "input", "history it was judged against")
    return [
        *zip(words, (str(facts[name]) for name in named), strict=True),
        *sorted(facts.get("files", {}).items()),
    ]


def _n_earlier(gates: Sequence[Any]) -> int:
    """Return how many earlier releases the comparison ran over, as the gates say."""
    for gate in gates:
        if gate.gate == "whole_history":
            coverage = gate.witness.get("coverage")
            if isinstance(coverage, Mapping):
                return int(coverage.get("releases", 0))
    return 0
