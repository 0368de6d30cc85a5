"""What the commands show without --json: tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cli.console import console, gate_table, plain_table, titled
from policy.rounding import measured_share
from policy.text import number_of
from release_store.records import Verdict
from release_store.store import ReleaseStore
from release_store.summary import (
    Summary,
    over_max_group_size,
    removed_duplicates,
)
from reports.advice_text import POLICY, advice_document
from reports.documents import Document, gate_result, history_document
from reports.notes import levels_text, reuse_text
from reports.people import people_line
from reports.text import escaped, minute, sanitize_text
from services.outcome import Outcome

MOST_ROWS = 200  # that rich lays out
MOST_ADVICE = 5  # lines about gates that block a candidate


def show_outcome(outcome: Outcome, store: Path, policy: str = POLICY) -> None:
    """Show a run's end: the gates, the figures, and where the files are.

    `policy` is the path of the policy's file as commands name it.
    """
    out = console()
    if outcome.gates:
        out.print(gate_table(outcome.gates))
    if outcome.message:
        out.print(sanitize_text(outcome.message), markup=False, soft_wrap=True)
    show_advice([advice_document(one) for one in outcome.advice], outcome.candidate_id, policy)
    if outcome.gates and outcome.ncp is not None:
        left_out = outcome.n_source - outcome.n_published
        out.print(
            f"{number_of(outcome.n_published, 'row')} in {number_of(outcome.n_classes, 'class', 'classes')}, "
            f"{number_of(left_out, 'record')} left out, NCP {measured_share(outcome.ncp, '<=')}, "
            f"{sum(outcome.seconds.values()):.1f} s"
        )
    if outcome.over_max_group_size:
        out.print(_oversize(outcome.over_max_group_size))
    if outcome.repair:
        out.print(
            f"repair: {number_of(outcome.repair.failing_groups, 'group')} would have failed against "
            f"earlier releases; {outcome.repair.merged:,} merged, "
            f"{number_of(outcome.repair.n_left_out, 'record')} left out"
        )
    if outcome.report:
        out.print(f"report: {sanitize_text(outcome.report)}", markup=False, soft_wrap=True)
    if outcome.state == "published":
        out.print(f"published: {store / 'releases' / outcome.series / outcome.release_id}/", soft_wrap=True)
    elif outcome.state == "awaiting_approval":
        out.print(
            f"next: releasegate approve {outcome.candidate_id} --by NAME --reason TEXT --key FILE",
            soft_wrap=True,
        )
    elif outcome.state == "blocked":
        out.print(f"nothing was published; releasegate show {outcome.candidate_id}", soft_wrap=True)


def show_advice(advice: Sequence[Document], candidate_id: str, policy: str = POLICY) -> None:
    """Show what may let the gates pass that block a candidate, a line each, and at most `MOST_ADVICE`."""
    out = console()
    for one in advice[:MOST_ADVICE]:
        command = one["command"].replace(f" {POLICY} ", f" {policy} ", 1)
        search = f"to search for parameters that pass: {command}" if command else ""
        said = "; ".join(filter(None, [one["text"], search]))
        out.print(sanitize_text(f"to pass {one['gate']}: {said}"), markup=False, soft_wrap=True)
    if len(advice) > MOST_ADVICE:
        out.print(f"and {len(advice) - MOST_ADVICE} more: releasegate show {candidate_id} --json")


def _oversize(n_groups: int) -> str:
    why = "no split keeps the privacy model, or passes against earlier releases"
    return f"{number_of(n_groups, 'oversized group')} could not be split safely (max_group_size): {why}"


def show_history(store: ReleaseStore, series: str | None) -> None:
    """Show releases and candidates as tables."""
    document = history_document(store, series)
    out = console()
    if not any(document.values()):
        out.print("nothing has been released yet; next: releasegate run POLICY")
        return
    tables: tuple[tuple[str, tuple[str, ...], list[tuple[str, ...]]], ...] = (
        (
            "Releases",
            ("release", "period", "state", "published", "method", "rows", "left out", "k", "NCP", "gates"),
            [
                (
                    row["release"],
                    row["period"],
                    f"{row['state']} by override" if row["override"] else row["state"],
                    minute(row["published_at"]),
                    row["method"] or "",
                    str(row["published_rows"]),
                    str(row["rows"] - row["published_rows"]),
                    f"{row['k']:.0f}",
                    measured_share(row["ncp"], "<="),
                    f"{row['gates_passed']} of {row['gates']} pass",
                )
                for row in document["releases"]
            ],
        ),
        (
            "Candidates not published",
            ("candidate", "period", "state", "made by", "made", "blocked by"),
            [
                (
                    row["candidate"],
                    row["period"],
                    row["state"],
                    escaped(row["made_by"]),
                    minute(row["made_at"]),
                    ", ".join(row["failing"]),
                )
                for row in document["candidates"]
            ],
        ),
        (
            "Inputs refused",
            ("series", "period", "at", "failed expectations"),
            [
                (row["series"], row["period"], minute(row["at"]), escaped(", ".join(row["failed"])))
                for row in document["refused_inputs"]
            ],
        ),
    )
    for number, (title, columns, rows) in enumerate(table for table in tables if table[2]):
        if number:
            out.print()
        if len(rows) > MOST_ROWS:
            out.file.write(plain_table(title, columns, rows))
        else:
            out.print(titled(title, columns, rows))


def show_record(document: Document) -> None:
    """Show one release or candidate."""
    out = console()
    out.print(f"[bold]{document['release'] or document['candidate']}[/]  {document['state']}")
    if document["override"]:
        held_back = ", ".join(g["gate"] for g in document["gates"] if g["verdict"] != Verdict.PASS)
        out.print(f"[bold]PUBLISHED BY OVERRIDE[/] of these gates: {held_back}", soft_wrap=True)
    summary = Summary(document["summary"])
    cells = {"levels": levels_text(summary), "reuses": reuse_text(summary)}
    facts = {
        "series": document["series"],
        "period": document["period"],
        "made by": f"{document['made_by']} at {document['made_at']}",
        **_came_of(summary),
        "method": f"{summary.method} {summary.parameters or ''}".strip(),
        **{name: text for name, text in cells.items() if text},
        "rows": f"{summary.n_published} of {summary.n_source}{_without_duplicates(summary)}",
        "digest": document["candidate_digest"],
        "policy": document["policy_digest"],
        "input": document["input_digest"],
        "history": document["history_head"],
        "folder": document["folder"],
        **({"purged": f"its rows were removed at {document['purged_at']}"} if document["purged_at"] else {}),
        **({"report": document["report"]} if document["report"] else {}),
    }
    for name, text in facts.items():
        out.print(f"{name:>8}  {sanitize_text(text)}", markup=False, soft_wrap=True)
    if document["people"]:
        out.print(f"{'people':>8}  {people_line(document['people'])}", markup=False, soft_wrap=True)
    oversize = over_max_group_size(summary.notes)
    if oversize:
        out.print(_oversize(oversize))
    for decision in document["decisions"]:
        said = sanitize_text(f"{decision['by']}: {decision['reason']}")
        out.print(f"{decision['decision']:>8}  {said}", markup=False, soft_wrap=True)
    for one in document["questions"]:
        asked = f"{one['number']}, {one['by']}: {one['question']}"
        out.print(f"question  {sanitize_text(asked)}", markup=False, soft_wrap=True)
        said = f"{one['answer']['by']}: {one['answer']['text']}" if one["answer"] else "none yet"
        out.print(f"{'answer':>8}  {sanitize_text(said)}", markup=False, soft_wrap=True)
    for one in document["afterwards"]:
        said = sanitize_text(f"{one['by']}: {one['reason']}")
        out.print(f"{one['state']:>8}  {said}", markup=False, soft_wrap=True)
    results = [gate_result(gate) for gate in document["gates"]]
    out.print(gate_table(results))
    show_advice(document["advice"], document["candidate"])
    for result in results:
        if result.witness and result.verdict is not Verdict.PASS:
            out.print(
                f"witness of {result.gate}: {sanitize_text(str(result.witness))}",
                markup=False,
                soft_wrap=True,
            )


def _without_duplicates(summary: Summary) -> str:
    removed = removed_duplicates(summary.notes)
    return "" if removed is None else f" ({number_of(removed, 'duplicate')} removed)"


def _came_of(summary: Summary) -> dict[str, str]:
    """Return who had a candidate assessed again, what it revises, and why it needs more people, if so."""
    again, revision, required = summary.reassessment, summary.revision, summary.required_approvals
    return {
        **({"assessed": f"again by {again.by}, from {again.of}"} if again else {}),
        **({"revises": f"{revision.of}: {revision.reason}"} if revision else {}),
        **({"approval": required.why} if required and required.why else {}),
    }
