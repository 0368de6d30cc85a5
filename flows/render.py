"""What the reading commands show: documents for programs, tables for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from flows.outcome import Outcome, over_max_group_size
from policy.errors import UsageError, did_you_mean
from release_store.public_files import candidate_folder, kept_folder
from release_store.queries import GateSummary
from release_store.records import GateResult, Verdict
from release_store.store import ReleaseStore

Document = dict[str, Any]
_NUMBERS = ("rows", "left out", "k", "NCP")  # columns to the right
_MOST_ROWS = 200  # that rich lays out
_NO_GATES = GateSummary(0, 0, (), None, None)
_MARK = {Verdict.PASS: "[green]✓ pass[/]", Verdict.FAIL: "[red]✗ fail[/]"}


def console() -> Console:
    """Return a console on the standard output, wide enough for the tables when that is a file."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=140)


def gate_document(result: GateResult) -> Document:
    """Return one gate's result as JSON values."""
    return {
        "gate": result.gate,
        "verdict": str(result.verdict),
        "value": result.value,
        "relation": result.relation,
        "threshold": result.threshold,
        "attacker": result.attacker,
        "detail": result.detail,
        "seconds": round(result.seconds, 4),
        "witness": result.witness,
    }


def outcome_document(outcome: Outcome) -> Document:
    """Return a run's outcome as JSON values."""
    return {
        "series": outcome.series,
        "period": outcome.period,
        "state": outcome.state,
        "candidate": outcome.candidate_id,
        "release": outcome.release_id,
        "message": outcome.message,
        "rows": outcome.n_source,
        "published_rows": outcome.n_published,
        "classes": outcome.n_classes,
        "ncp": outcome.ncp,
        "repaired": outcome.repaired,
        "over_max_group_size": outcome.over_max_group_size,
        "seconds": {name: round(value, 3) for name, value in outcome.seconds.items()},
        "gates": [gate_document(result) for result in outcome.gates],
    }


def show_outcome(outcome: Outcome, store: Path) -> None:
    """Show a run's end: the gates, the figures, and where the files are."""
    out = console()
    if outcome.gates:
        out.print(gate_table(outcome.gates))
    if outcome.message:
        out.print(outcome.message, markup=False, soft_wrap=True)
    if outcome.gates and outcome.ncp is not None:
        left_out = outcome.n_source - outcome.n_published
        out.print(
            f"{outcome.n_published} rows in {outcome.n_classes} classes, {left_out} left out, "
            f"NCP {outcome.ncp:.3f}, {sum(outcome.seconds.values()):.1f} s"
        )
    if outcome.over_max_group_size:
        out.print(_oversize(outcome.over_max_group_size))
    if outcome.repaired:
        out.print(
            f"repair: {outcome.repaired['failing_groups']} groups would have failed beside earlier releases; "
            f"{outcome.repaired['merged']} merged, {outcome.repaired['suppressed_records']} records left out"
        )
    if outcome.state == "published":
        out.print(f"published: {store / 'releases' / outcome.series / outcome.release_id}/", soft_wrap=True)
    elif outcome.state == "awaiting_approval":
        out.print(f"next: releasegate approve {outcome.candidate_id} --by NAME --reason TEXT", soft_wrap=True)
    elif outcome.state == "blocked":
        out.print(f"nothing was published; releasegate show {outcome.candidate_id}", soft_wrap=True)


def _oversize(n_groups: int) -> str:
    why = "no cut of them keeps the model, or passes beside the history"
    return f"{n_groups} groups stay over max_group_size: {why}"


def gate_table(gates: tuple[GateResult, ...] | list[GateResult]) -> Table:
    """Return the gates as a table."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("gate", "verdict", "value", "must be", "detail"):
        table.add_column(name, overflow="fold", justify="right" if name == "value" else "left")
    for result in gates:
        table.add_row(
            result.gate,
            _MARK.get(result.verdict, f"[yellow]? {result.verdict}[/]"),
            "" if result.value is None else f"{result.value:.4g}",
            "" if result.threshold is None else f"{result.relation} {result.threshold:.4g}",
            _escaped(result.detail),
        )
    return table


def history_document(store: ReleaseStore, series: str | None) -> Document:
    """Return releases and candidates as JSON values. Raises UsageError for a series unknown to the store."""
    found = store.overview(series)
    if series is not None and series not in found.known_series:
        known = found.known_series
        raise UsageError(
            f"unknown series '{series}'{did_you_mean(series, known)}",
            mend=f"Known series: {', '.join(known)}." if known else "The store holds no series yet.",
        )
    return {
        "releases": [
            {
                "release": release.release_id,
                "series": release.series,
                "period": release.period,
                "number": release.number,
                "state": str(release.state),
                "published_at": release.published_at.isoformat(),
                "method": release.summary.get("method"),
                "rows": release.summary.get("n_source"),
                "published_rows": release.summary.get("n_published"),
                "ncp": gates.ncp,
                "k": gates.k,
                "gates_passed": gates.passed,
                "gates": gates.n,
            }
            for release in found.releases
            for gates in (found.gates.get(release.candidate_id, _NO_GATES),)
        ],
        "candidates": [
            {
                "candidate": candidate.candidate_id,
                "series": candidate.series,
                "period": candidate.period,
                "state": str(candidate.state),
                "made_by": candidate.made_by,
                "made_at": candidate.made_at.isoformat(),
                "failing": list(found.gates.get(candidate.candidate_id, _NO_GATES).failing),
            }
            for candidate in found.unpublished
        ],
        "refused_inputs": [
            {
                "series": v.series,
                "period": v.period,
                "at": v.at.isoformat(),
                "failed": _failed_expectations(v.results),
            }
            for v in found.refused
        ],
    }


def _failed_expectations(results: Any) -> list[str]:
    return [f"{r.get('column') or 'table'}: {r.get('expectation')}" for r in results if not r.get("passed")]


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
                    row["state"],
                    _minute(row["published_at"]),
                    row["method"] or "",
                    str(row["published_rows"]),
                    str(row["rows"] - row["published_rows"]),
                    f"{row['k']:.0f}",
                    f"{row['ncp']:.3f}",
                    f"{row['gates_passed']} of {row['gates']} pass",
                )
                for row in document["releases"]
            ],
        ),
        (
            "Candidates not published",
            ("candidate", "period", "state", "made by", "made", "held back by"),
            [
                (
                    row["candidate"],
                    row["period"],
                    row["state"],
                    _escaped(row["made_by"]),
                    _minute(row["made_at"]),
                    ", ".join(row["failing"]),
                )
                for row in document["candidates"]
            ],
        ),
        (
            "Inputs refused",
            ("series", "period", "at", "expectations that failed"),
            [
                (row["series"], row["period"], _minute(row["at"]), _escaped(", ".join(row["failed"])))
                for row in document["refused_inputs"]
            ],
        ),
    )
    for number, (title, columns, rows) in enumerate(table for table in tables if table[2]):
        if number:
            out.print()
        if len(rows) > _MOST_ROWS:
            out.file.write(_plain_table(title, columns, rows))
        else:
            out.print(_titled(title, columns, rows))


def _plain_table(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return what `_titled` shows, without style: for thousands of rows, where rich takes many seconds."""
    from rich.cells import cell_len
    from rich.markup import render

    lines = [columns, *(tuple(render(c).plain if "\\" in c else c for c in row) for row in rows)]
    widths = [
        max(len(cell) if cell.isascii() else cell_len(cell) for cell in column)
        for column in zip(*lines, strict=True)
    ]
    padded = []
    for line in lines:
        cells = []
        for name, cell, width in zip(columns, line, widths, strict=True):
            space = " " * (width - (len(cell) if cell.isascii() else cell_len(cell)))
            cells.append(space + cell if name in _NUMBERS else cell + space)
        padded.append("  ".join(cells).rstrip())
    return "\n".join([title, *padded]) + "\n"


def _titled(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="right" if name in _NUMBERS else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


def record_document(store: ReleaseStore, identifier: str) -> Document:
    """Return a release or candidate with gates, decisions and files. Raises UsageError if there is none."""
    releases = {release.release_id: release for release in store.releases()}
    release = releases.get(identifier)
    candidates = {candidate.candidate_id: candidate for candidate in store.candidates()}
    candidate = candidates.get(release.candidate_id if release else identifier)
    if candidate is None:
        raise UsageError(
            f"no release or candidate '{identifier}'{did_you_mean(identifier, [*releases, *candidates])}",
            mend="`releasegate history` lists them.",
        )
    folder = (
        kept_folder(store.root, release) if release else candidate_folder(store.root, candidate.candidate_id)
    )
    return {
        "release": release.release_id if release else None,
        "candidate": candidate.candidate_id,
        "series": candidate.series,
        "period": candidate.period,
        "state": str(release.state if release else candidate.state),
        "made_by": candidate.made_by,
        "made_at": candidate.made_at.isoformat(),
        "published_at": release.published_at.isoformat() if release else None,
        "policy_digest": candidate.policy_digest,
        "input_digest": candidate.input_digest,
        "candidate_digest": candidate.candidate_digest,
        "history_head": candidate.history_head,
        "summary": candidate.summary,
        "files": release.files if release else store.files(candidate.candidate_id),
        "folder": str(folder),
        "gates": [gate_document(result) for result in store.gates(candidate.candidate_id)],
        "afterwards": _afterwards(store, release.release_id) if release else [],
        "decisions": [
            {"decision": d.decision, "by": d.by, "reason": d.reason, "at": d.at.isoformat()}
            for d in store.decisions(candidate.candidate_id)
        ],
    }


def _afterwards(store: ReleaseStore, release_id: str) -> list[Document]:
    """Return who superseded or withdrew a release, when and why."""
    return [
        {"state": event.payload["release_state"], "by": event.actor, "reason": event.reason, "at": event.at}
        for event in store.events_about(release_id)
        if event.action in ("release.superseded", "release.withdrawn")
    ]


def show_record(document: Document) -> None:
    """Show one release or candidate."""
    out = console()
    out.print(f"[bold]{document['release'] or document['candidate']}[/]  {document['state']}")
    summary = document["summary"]
    facts = {
        "series": document["series"],
        "period": document["period"],
        "made by": f"{document['made_by']} at {document['made_at']}",
        "method": f"{summary.get('method')} {summary.get('parameters') or ''}".strip(),
        "rows": f"{summary.get('n_published')} of {summary.get('n_source')}",
        "policy": document["policy_digest"],
        "input": document["input_digest"],
        "history": document["history_head"],
        "folder": document["folder"],
    }
    for name, text in facts.items():
        out.print(f"{name:>8}  {text}", markup=False, soft_wrap=True)
    oversize = over_max_group_size(summary.get("notes", {}))
    if oversize:
        out.print(_oversize(oversize))
    for decision in document["decisions"]:
        out.print(f"{decision['decision']:>8}  {decision['by']}: {decision['reason']}", markup=False)
    for one in document["afterwards"]:
        out.print(f"{one['state']:>8}  {one['by']}: {one['reason']}", markup=False)
    results = [
        GateResult(
            g["gate"],
            Verdict(g["verdict"]),
            g["value"],
            g["threshold"],
            g["relation"],
            g["attacker"],
            g["seconds"],
            g["detail"],
            g["witness"],
        )
        for g in document["gates"]
    ]
    out.print(gate_table(results))
    for result in results:
        if result.witness and result.verdict is not Verdict.PASS:
            out.print(f"witness of {result.gate}: {result.witness}", markup=False, soft_wrap=True)


def methods_document(name: str | None) -> Document:
    """Return the methods, or one, as JSON values. Raises UsageError for an unknown one."""
    from tasks.methods.registry import METHODS

    if name is not None and name not in METHODS:
        raise UsageError(
            f"unknown method '{name}'{did_you_mean(name, METHODS)}",
            mend=f"Known methods: {', '.join(METHODS)}.",
        )
    return {
        "methods": [
            {
                "name": method.name,
                "summary": method.summary,
                "source": method.source,
                "guarantees": method.guarantees,
                "parameters": {
                    field: {"default": info.default, "type": str(info.annotation).replace("typing.", "")}
                    for field, info in method.parameters.model_fields.items()
                },
            }
            for method in METHODS.values()
            if name in (None, method.name)
        ],
        "chosen": name,
    }


def show_methods(document: Document) -> None:
    """Show the methods; the parameters too where one was chosen."""
    out = console()
    for method in document["methods"]:
        out.print(f"[bold]{method['name']}[/]  {_escaped(method['summary'])}")
        out.print(f"    holds: {_escaped(method['guarantees'])}")
        out.print(f"    from:  {_escaped(method['source'])}")
        if document["chosen"]:
            for name, info in method["parameters"].items():
                out.print(f"    {name} = {info['default']}", markup=False)
        else:
            out.print(f"    parameters: {', '.join(method['parameters'])}")


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
