"""What a report shows of one candidate or release, gathered from the store, and put into words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb

from policy.rounding import bound_text, measured_text
from release_store.approval.decisions import decision_document
from release_store.canonical import iso
from release_store.db.changes import gate_json
from release_store.publishing.manifest import software_versions
from release_store.publishing.public_files import candidate_folder, differing_files
from release_store.records import CandidateState, ReleaseState, Verdict
from release_store.sealed import sealed_file
from release_store.store import ReleaseStore
from reports.advice_text import advice_document, advice_on
from reports.compared import n_earlier
from reports.documents import gate_result
from reports.gate_wording import asks, attacker_text
from reports.pictures import Pictures, pictures_of, used
from reports.protection import not_protected, protected, rows_counted
from reports.summary_text import cost, digests, making_of, risk, tiles, verdict
from tasks import duck

Document = Mapping[str, Any]
N_ROWS = 10
_DATA = "data.parquet"
_ALTERED = "Rows are not shown because the staged files are missing, or differ from the assessed ones."


@dataclass(frozen=True)
class SheetData:
    """What the store keeps about one candidate or release, beside what its manifest says."""

    policy: Document
    figures: Document | None
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    n_earlier: int | None  # None where no gate could tell


@dataclass(frozen=True)
class ReportModel:
    """What the template of a report shows.

    `facts` are those of the manifest; `word` is the verdict, `mood` good, bad or open; `reasons` what led to
    it.
    """

    kind: str  # "release" or "candidate"
    name: str
    title: str
    word: str
    mood: str
    are: str  # what its files do: they "are", "were" or "would be" public
    waits: bool  # for people to agree
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


def read_sheet_data(store: ReleaseStore, candidate_id: str, *, rows: bool = True) -> SheetData:
    """Read what the store keeps of a candidate: its policy, its figures, and ten rows of its staged files."""
    record = store.candidate(candidate_id)
    columns: tuple[str, ...] = ()
    lines: tuple[tuple[str | None, ...], ...] = ()
    folder, files = candidate_folder(store.root, candidate_id), store.files(candidate_id)
    if rows and _DATA in files and not differing_files(folder, files):
        with sealed_file(folder / _DATA, files[_DATA]) as file:
            columns, lines = sample(file)
    return SheetData(
        store.policy(record.policy_digest),
        store.figures(candidate_id),
        columns,
        lines,
        n_earlier([gate_json(result) for result in store.gates(candidate_id)]),
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
        "expires_at": iso(record.expires_at) if record.expires_at else None,
        "files": store.files(candidate_id),
        "policy_digest": record.policy_digest,
        "input_digest": record.input_digest,
        "history_head": record.history_head,
        "summary": record.summary.document,
        "gates": [gate_json(result) for result in store.gates(candidate_id)],
        "decisions": [decision_document(one) for one in store.decisions(candidate_id)],
        "software": software_versions(),
        "state": str(record.state),
    }


@contextmanager
def reader() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open what reads published files; it can serve many."""
    with duck.connection() as con:
        yield con


def sample(
    file: Path, con: duckdb.DuckDBPyConnection | None = None
) -> tuple[tuple[str, ...], tuple[tuple[str | None, ...], ...]]:
    """Return the columns of a published file and ten of its rows, evenly spread over it."""
    if con is None:
        with reader() as own:
            return sample(file, own)
    counted = con.execute("SELECT num_rows FROM parquet_file_metadata(?)", [str(file)]).fetchone()
    n = counted[0] if counted else 0
    n_shown = min(n, N_ROWS)
    wanted = [i * n // n_shown for i in range(n_shown)]
    # The number comes last. A join and a sort in the query would take longer than all else of it.
    found = con.execute(
        "SELECT * FROM read_parquet(?, file_row_number=true) WHERE list_contains(?, file_row_number)",
        [str(file), wanted],
    )
    columns = tuple(str(one[0]) for one in found.description or ())
    rows = sorted(found.fetchall(), key=itemgetter(-1))
    return columns[:-1], tuple(tuple(_cell(cell) for cell in row[:-1]) for row in rows)


def _cell(cell: Any) -> str | None:
    if cell is None:
        return None
    return f"{cell:.10g}" if isinstance(cell, float) else str(cell)


def report_model(
    facts: Document, of: SheetData, *, release: str | None = None, state: str = "", why_not: str = ""
) -> ReportModel:
    """Return the sheet of a release, or of a candidate without one; `state` is that of the store."""
    results = [gate_result(gate) for gate in facts["gates"]]
    advice = {} if release else {one.gate: advice_document(one) for one in advice_on(results, of.policy)}
    gates = tuple(
        {
            **gate,
            "advice": advice.get(gate["gate"]),
            "used": used(gate),
            "over": gate["verdict"] == Verdict.FAIL,
            "asks": asks(gate["gate"]),
            "measured": measured_text(gate["value"], gate["relation"], gate["threshold"]) or "-",
            "bound": bound_text(gate["relation"], gate["threshold"]),
            "about": attacker_text(gate["attacker"]) if gate["attacker"] else "",
        }
        for gate in facts["gates"]
    )
    word, mood, reasons = verdict(facts, release, state)
    return ReportModel(
        kind="release" if release else "candidate",
        name=release or str(facts["candidate_id"]),
        title=str(of.policy.get("publication", {}).get("title") or facts["series"]),
        word=word,
        mood=mood,
        are=_are(release, state),
        waits=release is None and state == CandidateState.AWAITING_APPROVAL,
        reasons=(*filter(None, [rows_counted(of.policy)]), *reasons),
        facts=facts,
        figures=of.figures,
        tiles=tuple(tiles(facts, of.figures, of.n_earlier)),
        gates=gates,
        risk=tuple(risk(facts, of.policy, of.figures, of.n_earlier)),
        cost=tuple(cost(facts, _are(release, state))),
        pictures=pictures_of(facts["gates"], of.figures),
        columns=of.columns,
        rows=of.rows,
        no_rows=why_not or _ALTERED,
        protected=tuple(protected(facts["gates"], of.policy)),
        not_protected=tuple(not_protected(facts["gates"], of.policy, of.figures)),
        made=tuple(making_of(facts)),
        digests=tuple(digests(facts)),
    )


def _are(release: str | None, state: str) -> str:
    if release is None:
        return "would be"
    return "were" if state == ReleaseState.WITHDRAWN else "are"
