"""What a report shows of one candidate or release, gathered from the store, and put into words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import duckdb

from release_store.approval.decisions import decision_document
from release_store.canonical import iso
from release_store.db.changes import gate_json
from release_store.publishing.manifest import software_versions
from release_store.publishing.public_files import candidate_folder, differing_files
from release_store.records import CandidateState, ReleaseState, Verdict
from release_store.sealed import sealed_file
from release_store.store import ReleaseStore
from release_store.summary import Revision, Summary
from reports.advice_text import advice_document, advice_on
from reports.changes import Change, LastRelease, changes, last_release
from reports.columns import ColumnRow, column_rows, contents, lost_columns
from reports.compared import n_earlier
from reports.documents import gate_result
from reports.gate_groups import GateGroup, group_gates
from reports.gate_wording import asks, attacker_text, failure_meaning, limit_of, measured_of, why_not_passed
from reports.pictures import Pictures, pictures_of, used
from reports.policy_text import field_text, policy_fields
from reports.protection import not_protected, protected, rows_counted
from reports.summary_text import cost, digests, making_of, risk, tiles, verdict
from tasks import duck

Document = Mapping[str, Any]
N_ROWS = 10
_DATA = "data.parquet"
_FIRST = "This is the first release of the series."
_UNKNOWN_LAST = "Nothing says which release it was compared with."
_ALTERED = "Rows are not shown because the staged files are missing, or differ from the assessed ones."


@dataclass(frozen=True)
class SheetData:
    """What the store keeps about one candidate or release, beside what its manifest says."""

    policy: Document
    figures: Document | None
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    n_earlier: int | None  # None where no gate could tell
    last: LastRelease | None = None  # None of a first release, and where nothing says which it was


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
    failing: tuple[Document, ...]  # the gates that did not pass; `why` tells what they found
    revision: Revision | None
    contents: str
    last: str  # the release that it is compared with, "" where there is none
    changes: tuple[tuple[str, tuple[Change, ...]], ...]  # by what they are about
    no_changes: str
    facts: Document
    figures: Document | None
    tiles: tuple[tuple[str, str], ...]
    gates: tuple[GateGroup, ...]
    risk: tuple[str, ...]
    cost: tuple[str, ...]
    column_rows: tuple[ColumnRow, ...]
    warnings: tuple[str, ...]  # of columns that NCP alone would hide to be lost
    policy: tuple[tuple[str, str], ...]
    public: bool  # for everybody: without columns that nobody sees, and where the table comes from
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
        last_release(store, record.summary),
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
    facts: Document,
    of: SheetData,
    *,
    release: str | None = None,
    state: str = "",
    why_not: str = "",
    public: bool = False,
) -> ReportModel:
    """Return the sheet of a release, or of a candidate without one; `state` is that of the store.

    A `public` sheet is for everybody: it names neither unseen columns nor where the table comes from.
    """
    results = [gate_result(gate) for gate in facts["gates"]]
    advice = {} if release else {one.gate: advice_document(one) for one in advice_on(results, of.policy)}
    gates = [{**_gate(gate), "advice": advice.get(gate["gate"])} for gate in facts["gates"]]
    failing = tuple(gate for gate in gates if gate["verdict"] != Verdict.PASS)
    word, mood, reasons = verdict(facts, release, state)
    told_apart = {gate["why"] for gate in failing}
    last = of.last
    return ReportModel(
        kind="release" if release else "candidate",
        name=release or str(facts["candidate_id"]),
        title=str(of.policy.get("publication", {}).get("title") or facts["series"]),
        word=word,
        mood=mood,
        are=_are(release, state),
        waits=release is None and state == CandidateState.AWAITING_APPROVAL,
        reasons=(
            *filter(None, [rows_counted(of.policy)]),
            *(reason for reason in reasons if reason not in told_apart),
        ),
        failing=failing,
        revision=Summary(facts["summary"]).revision,
        contents=contents(of.policy),
        last=last.release_id if last else "",
        changes=_changes(facts, of, public),
        no_changes=_FIRST if of.n_earlier == 0 else _UNKNOWN_LAST,
        facts=facts,
        figures=of.figures,
        tiles=tuple(tiles(facts, of.figures, of.n_earlier)),
        gates=tuple(group_gates(gates)),
        risk=tuple(risk(facts, of.policy, of.figures, of.n_earlier)),
        cost=tuple(cost(facts, _are(release, state))),
        column_rows=tuple(column_rows(of.policy, of.figures, public=public)),
        warnings=tuple(lost_columns(of.figures)),
        policy=tuple(
            (name, field_text(name, value, listed=not (public or why_not)))
            for name, value in policy_fields(of.policy, public=public).items()
        ),
        public=public,
        pictures=pictures_of(facts["gates"], of.figures, of.policy),
        columns=of.columns,
        rows=of.rows,
        no_rows=why_not or _ALTERED,
        protected=tuple(protected(facts["gates"], of.policy)),
        not_protected=tuple(not_protected(facts["gates"], of.policy, of.figures)),
        made=tuple(making_of(facts)),
        digests=tuple(digests(facts)),
    )


def _changes(facts: Document, of: SheetData, public: bool) -> tuple[tuple[str, tuple[Change, ...]], ...]:
    if of.last is None:
        return ()
    lines = changes(facts, of.policy, of.figures, of.last, public=public)
    return tuple((about, tuple(each)) for about, each in groupby(lines, key=attrgetter("about")))


def _gate(gate: Document) -> Document:
    """Return a gate with the texts that a report shows of it."""
    return {
        **gate,
        "used": used(gate),
        "over": gate["verdict"] == Verdict.FAIL,
        "asks": asks(gate["gate"]),
        "why": "" if gate["verdict"] == Verdict.PASS else why_not_passed(gate),
        "means": failure_meaning(gate["gate"]),
        "measured": measured_of(gate) or "-",
        "bound": limit_of(gate),
        "about": attacker_text(gate["attacker"]) if gate["attacker"] else "",
    }


def _are(release: str | None, state: str) -> str:
    if release is None:
        return "would be"
    return "were" if state == ReleaseState.WITHDRAWN else "are"
