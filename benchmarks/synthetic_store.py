"""A large store made in bulk: every hash, digest and signature as the store itself would have written it.

`n_releases` releases in series of 100, each after one blocked candidate of its period, with thirteen gates,
one approval, two equivalence classes, figures and five small files; refused inputs; and checked inputs until
the log has `n_events` events. The figures are of the size that a register's are, and not those of the rows.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy.errors import UsageError
from release_store.approval.authentication import CHANGED
from release_store.approval.credentials import Statement
from release_store.approval.reviewers import Reviewer, roster
from release_store.audit import keys, merkle
from release_store.audit import log as audit
from release_store.canonical import (
    canonical_json,
    digest_of,
    iso,
    pretty_json,
    sha256_hex,
    tree_digest,
)
from release_store.db.changes import gate_json
from release_store.db.classes import classes_digest
from release_store.db.connection import transaction
from release_store.permission import Role
from release_store.protocol.names import REPORT
from release_store.protocol.seals import SEAL
from release_store.publishing.public_files import (
    CATALOG,
    MANIFEST,
    candidate_folder,
    checkpoint_file,
    release_folder,
    series_folder,
)
from release_store.publishing.public_index import LATEST, catalog
from release_store.records import EquivalenceClasses, GateResult, Proof, SetCells, Verdict
from release_store.store import ReleaseStore

PER_SERIES = 100
EVENTS_PER_RELEASE = 12  # of the release and of the blocked candidate before it
DATA = b"age_min,age_max,sex,disease\n" + b"20,29,f,flu\n" * 3 + b"30,45,*,none\n" * 4


def _parquet() -> bytes:
    """Return the same rows as a Parquet file."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as con:
        source, target = Path(folder) / "data.csv", Path(folder) / "data.parquet"
        source.write_bytes(DATA)
        con.execute(f"COPY (FROM read_csv('{source}')) TO '{target}' (FORMAT parquet)")
        return target.read_bytes()


FILES = {"data.csv": DATA, "data.parquet": _parquet(), "datapackage.json": b"{}\n"}
STAGED = {name: sha256_hex(data) for name, data in FILES.items()}
SUMMARY = {"method": "mondrian", "n_source": 7, "n_published": 7, "parameters": {"seed": 1}}
GATES = (
    "files",
    "truth",
    "leak",
    "unique",
    "k",
    "p_max",
    "h_min",
    "e",
    "err",
    "umr",
    "sadr",
    "pairwise",
    "whole_history",
)
PASSES = tuple(
    GateResult(name, Verdict.PASS, value, 0.5, "<=", "prosecutor", 0.0125, "", {"class": 1, "records": 3})
    for name, value in [*((gate, 3.0) for gate in GATES), ("suppression", 0.0), ("ncp", 0.25)]
)
FAILS = (
    *PASSES[:2],
    GateResult("k", Verdict.FAIL, 1.0, 2.0, ">=", "prosecutor", 0.0125),
    *PASSES[3:],
)
RESULTS = [{"column": "age", "expectation": "expect_no_missing", "passed": True}]
CLASSES = EquivalenceClasses(
    size=np.array([3, 4]),
    intervals={"age": np.array([[20.0, 29.0], [30.0, 45.0]])},
    sets={"sex": SetCells(("f", "m"), np.array([[True, False], [False, False]]), np.array([False, True]))},
    sensitive_values={"disease": ("flu", "none")},
    counts={"disease": np.array([[3, 0], [0, 4]])},
)
REPORT_PAGE = b"<!doctype html>\n<title>A made-up release</title>\n"
PUBLIC = {**STAGED, REPORT: sha256_hex(REPORT_PAGE)}
N_FIGURES = 16  # different ones, in turn
POINTS = 150  # of the latent space, before and after each
BATCH = 100_000


def made_up_figures(number: int) -> dict[str, Any]:
    """Return figures of the form and size that a run keeps; `number` draws their values."""
    rng = np.random.default_rng(number)
    n_classes = int(rng.integers(900, 1100))

    def bins(n: int, *, before: bool) -> list[dict[str, Any]]:
        counts = rng.integers(20, 2000, n).tolist()
        return [
            {"label": f"{5 * i} to {5 * i + 4}", "before": count if before else None, "after": count + 0.5}
            for i, count in enumerate(counts)
        ]

    def points() -> list[list[float]]:
        drawn = [rng.normal(0, 1, POINTS).round(3), rng.normal(0, 1, POINTS).round(3)]
        return np.column_stack([*drawn, rng.integers(5, 60, POINTS)]).tolist()

    names = ("age", "income", "visits", "sex", "municipality")
    attributes = [
        {"name": name, "role": "numeric", "bins": bins(18, before=True), "before_not_told": 3}
        for name in names
    ]
    attributes.append({"name": "disease", "role": "sensitive", "bins": bins(12, before=False)})
    left = [[number_left, int(rng.integers(10, 3000))] for number_left in range(1 + number % 3, 9)]
    narrowing = [
        {"attribute": "disease", "basis": basis, "releases": releases, "least": 2, "unit": "people"}
        | {"counts": left}
        for basis, releases in (("alone", 0), ("cells", 4))
    ]
    return {
        "format": "releasegate/figures/1",
        "least": 5,
        "classes": {
            "n": n_classes,
            "records": 12_000,
            "least": 5,
            "median": 8.0,
            "greatest": 31,
            "sizes": [
                {"low": size, "high": size, "classes": n_classes // 20, "records": size * (n_classes // 20)}
                for size in range(5, 25)
            ],
        },
        "ncp": {name: round(float(share), 4) for name, share in zip(names, rng.random(5) / 4, strict=True)},
        "narrowing": narrowing,
        "attributes": attributes,
        "latent": {
            "before": points(),
            "step": [0.1, 0.12],
            "before_not_told": 12,
            "after": points(),
            "after_not_told": 0,
            "dimensions": 2,
        },
    }


def make(root: Path, n_releases: int, n_events: int, per_series: int = PER_SERIES) -> ReleaseStore:
    """Make the store in `root`, its key beside it. Raises UsageError where the events would not suffice."""
    n_refused = n_releases // 10
    if n_events < 2 + EVENTS_PER_RELEASE * n_releases + n_refused:
        raise UsageError(f"{n_releases} releases need more than {n_events} events")
    store = ReleaseStore.create(root)
    _Maker(store, keys.load_key(root), n_releases, n_refused, n_events).make(per_series)
    return store


class _Maker:
    """What has been written so far: the log's head, the rows that wait for their table, the releases."""

    def __init__(
        self, store: ReleaseStore, key: Ed25519PrivateKey, n_releases: int, n_refused: int, n_events: int
    ) -> None:
        self.store, self.key = store, key
        self.n_releases, self.n_refused, self.n_events = n_releases, n_refused, n_events
        (created,) = store.events()
        self.start = datetime.fromisoformat(created.at)
        self.size, self.head = created.number, created.hash
        self.hashes = [created.hash]
        self.checkpoints: list[tuple[Path, int, str]] = []  # where, of how many events, and when
        self.rows: dict[str, list[Sequence[Any]]] = {}
        self.n_validations = self.n_candidates = 0
        self.pass_documents = [gate_json(one) for one in PASSES]
        self.fail_documents = [gate_json(one) for one in FAILS]
        texts = [canonical_json(made_up_figures(number)) for number in range(N_FIGURES)]
        self.figures = [(text.decode(), sha256_hex(text)) for text in texts]
        self.approver = Ed25519PrivateKey.generate()
        roles, public_key = [Role.APPROVER], keys.public_hex(self.approver)
        self.people = roster([Reviewer(name="bob", roles=roles, public_key=public_key)])

    def make(self, per_series: int) -> None:
        """Write everything, in series of so many releases."""
        with transaction(self.store.root) as con:
            self._event("releasegate", CHANGED, "people", "", self.people)
            for n_series, n_own in enumerate(_shares(self.n_releases, per_series)):
                self._series(f"series{n_series:03d}", n_own)
                self._flush(con, BATCH)
            self._sign()
            fill = self.n_events - self.size
            for n in range(fill):
                self._validation(f"series{n % 97:03d}", "daily", passed=n >= self.n_refused)
                self._flush(con, BATCH)
            self._flush(con, 0)
            self._classes(con)
        path = self.store.root / "releases" / CATALOG
        path.write_bytes(pretty_json(catalog(self.store.releases())))

    def _series(self, series: str, n_releases: int) -> None:
        policy = {"series": series, "approval": {"approvers": 1}}
        self.rows.setdefault("policy", []).append(
            [digest_of(policy), canonical_json(policy).decode(), self._at()]
        )
        folder = series_folder(self.store.root, series)
        folder.mkdir()
        # The text of the list of releases and their files' digests, whose SHA-256 is the history's head.
        entries: list[str] = []
        for number in range(1, n_releases + 1):
            period = f"p{number:03d}"
            head = sha256_hex(f"[{','.join(entries)}]".encode())
            self._candidate(series, period, 1, policy, head)
            candidate_id, bound = self._candidate(series, period, 2, policy, head)
            release_id = f"{series}-{period}-r1"
            files = self._publish(series, period, number, release_id, candidate_id, bound)
            entries.append(canonical_json([release_id, tree_digest(files)]).decode())
        (folder / LATEST).symlink_to(f"{series}-p{n_releases:03d}-r1")

    def _candidate(
        self, series: str, period: str, number: int, policy: dict[str, Any], head: str
    ) -> tuple[str, dict[str, str]]:
        """Add a candidate with its gates: the first of a period is blocked, the second waits."""
        name, blocked = f"{series}-{period}-c{number}", number == 1
        digest = self._validation(series, period, passed=True)
        self.n_candidates += 1
        bound = {
            "candidate_digest": tree_digest(STAGED),
            "policy_digest": digest_of(policy),
            "history_head": head,
        }
        self.rows.setdefault("candidate_name", []).append([name, series, period])
        self.rows.setdefault("candidate", []).append(
            [
                name,
                self.n_candidates,
                series,
                period,
                "blocked" if blocked else "published",
                "ann",
                self._at(),
                bound["policy_digest"],
                digest,
                bound["candidate_digest"],
                head,
                None,
                canonical_json(SUMMARY).decode(),
            ]
        )
        self.rows.setdefault("candidate_file", []).extend([name, *item] for item in STAGED.items())
        if blocked:  # of the others a copy is public
            folder = candidate_folder(self.store.root, name)
            folder.mkdir()
            for file, data in FILES.items():
                (folder / file).write_bytes(data)
        staged = {"state": "staged", **bound, "input_digest": digest, "files": STAGED, "summary": SUMMARY}
        self._event("ann", "candidate.staged", name, "", {"candidate": name, **staged})
        results, documents = (FAILS, self.fail_documents) if blocked else (PASSES, self.pass_documents)
        self.rows.setdefault("gate_result", []).extend(_gate_rows(name, results))
        asked = sorted(result.gate for result in results)
        text, figures = self.figures[self.n_candidates % N_FIGURES]
        self.rows.setdefault("candidate_figures", []).append([name, text])
        self._state("ann", name, "assessed", {"gates": documents, "asked": asked, "figures": figures})
        self._seal("ann", name)
        self._state("ann", name, "blocked" if blocked else "awaiting_approval")
        return name, bound

    def _publish(
        self,
        series: str,
        period: str,
        number: int,
        release_id: str,
        candidate_id: str,
        bound: dict[str, str],
    ) -> dict[str, str]:
        at, why = self._at(), "looked at it"
        proof = self._proof(candidate_id, bound, at, why)
        word = {"decision": "approve", "by": "bob", "reason": why, "at": at, **bound, "proof": proof}
        self.rows.setdefault("proven_decision", []).append(
            [candidate_id, 0, "approve", "bob", why, at, *bound.values(), canonical_json(proof).decode()]
        )
        self._event("bob", "decision.approve", candidate_id, why, {**word, "approvers_needed": 1})
        self._state("bob", candidate_id, "approved")
        manifest = pretty_json(
            {
                "release_id": release_id,
                "series": series,
                "period": period,
                "number": number,
                "candidate_id": candidate_id,
                "summary": SUMMARY,
                "files": PUBLIC,
                **bound,
            }
        )
        files = {**PUBLIC, MANIFEST: sha256_hex(manifest)}
        facts = {"release": release_id, "files": files, "classes": classes_digest(CLASSES)}
        self._state("bob", candidate_id, "publishing", facts, action="publication.started")
        self._seal("bob", candidate_id)
        published = {**facts, "release_state": "published"}
        self._state(
            "bob", candidate_id, "published", published, action="release.published", subject=release_id
        )
        self.rows.setdefault("release", []).append(
            [
                release_id,
                series,
                period,
                number,
                candidate_id,
                "published",
                self._at(),
                canonical_json(SUMMARY).decode(),
            ]
        )
        self.rows.setdefault("release_file", []).extend([release_id, *item] for item in files.items())
        folder = release_folder(self.store.root, series, release_id)
        folder.mkdir()
        written = {**FILES, REPORT: REPORT_PAGE, MANIFEST: manifest}
        for name, data in written.items():
            (folder / name).write_bytes(data)
        self.checkpoints.append((checkpoint_file(self.store.root, series, release_id), self.size, self._at()))
        return files

    def _proof(self, candidate_id: str, bound: dict[str, str], at: str, why: str) -> dict[str, str]:
        store_id = self.store.store_id
        said = Statement("approve", store_id, candidate_id, bound, "bob", why, datetime.fromisoformat(at))
        signature = self.approver.sign(canonical_json(said.document())).hex()
        people = str(self.people["digest"])
        return Proof("signature", people, keys.public_hex(self.approver), signature).document()

    def _sign(self) -> None:
        """Write every checkpoint with the root of the log's tree as it was: one tree has them all."""
        tree = merkle.log_tree(self.hashes)
        for path, size, at in self.checkpoints:
            signed = keys.sign_checkpoint(
                self.key,
                store_id=self.store.store_id,
                size=size,
                head=self.hashes[size - 1],
                at=at,
                root=tree.root(size).hex(),
                of=path.name.removesuffix(".checkpoint.json"),
            )
            path.write_bytes(pretty_json(signed))

    def _validation(self, series: str, period: str, *, passed: bool) -> str:
        """Add a checked input, and return its digest."""
        self.n_validations += 1
        digest = hashlib.sha256(b"input %d" % self.n_validations).hexdigest()
        results = [{**one, "passed": passed} for one in RESULTS]
        self.rows.setdefault("input", []).append([digest, 7, 3, self._at()])
        self.rows.setdefault("validation", []).append(
            [
                self.n_validations,
                series,
                period,
                digest,
                7,
                3,
                passed,
                canonical_json(results).decode(),
                "ann",
                self._at(),
            ]
        )
        self._event(
            "ann",
            "input.validated" if passed else "input.refused",
            f"{series}/{period}",
            "",
            {
                "validation": self.n_validations,
                "input": digest,
                "rows": 7,
                "columns": 3,
                "expectations": 1,
                "results": digest_of(results),
            },
        )
        return digest

    def _state(
        self,
        actor: str,
        candidate_id: str,
        state: str,
        payload: dict[str, Any] | None = None,
        *,
        action: str = "",
        subject: str = "",
    ) -> None:
        self._event(
            actor,
            action or f"candidate.{state}",
            subject or candidate_id,
            "",
            {**(payload or {}), "candidate": candidate_id, "state": state},
        )

    def _seal(self, actor: str, subject: str) -> None:
        place = {"store_id": self.store.store_id, "size": self.size, "head": self.head}
        self._event(
            actor, SEAL, subject, "", keys.sign_checkpoint(self.key, **place, at=self._at(), of=subject)
        )

    def _event(self, actor: str, action: str, subject: str, reason: str, payload: dict[str, Any]) -> None:
        text = canonical_json(payload).decode()
        row = (self.size + 1, self._at(), actor, action, subject, reason, text, self.head)
        self.size, self.head = self.size + 1, audit.hash_of_texts(*row)
        self.hashes.append(self.head)
        self.rows.setdefault("event", []).append([*row, self.head])

    def _at(self) -> str:
        return iso(self.start + timedelta(microseconds=self.size))

    def _flush(self, con: duckdb.DuckDBPyConnection, least: int) -> None:
        """Write the waiting rows, if at least so many events wait."""
        if len(self.rows.get("event", ())) < least:
            return
        for table in ("policy", "input", "candidate", "release"):  # others refer to these
            self._insert(con, table, self.rows.pop(table, []))
        for table, rows in self.rows.items():
            self._insert(con, table, rows)
        self.rows.clear()

    def _insert(self, con: duckdb.DuckDBPyConnection, table: str, rows: list[Sequence[Any]]) -> None:
        if not rows:
            return
        con.register("incoming", pd.DataFrame(rows))
        con.execute(f"INSERT INTO {table} SELECT * FROM incoming")
        con.unregister("incoming")

    def _classes(self, con: duckdb.DuckDBPyConnection) -> None:
        """Give every published candidate the same two classes."""
        whole = "SELECT candidate_id, {} FROM release, (VALUES {}) AS kept"
        for table, columns, values in (
            (
                "class_attribute",
                "*",
                "('interval', 0, 'age'), ('set', 1, 'sex'), ('sensitive', 2, 'disease')",
            ),
            ("class_size", "*", "(0, 3), (1, 4)"),
            ("class_interval", "*", "(0, 0, 20, 29), (0, 1, 30, 45)"),
            ("class_value", "*", "(1, 0, 'f'), (1, 1, 'm'), (2, 0, 'flu'), (2, 1, 'none')"),
            ("class_set", "*", "(1, 0, 0), (1, 1, -1)"),
            ("class_count", "*", "(2, 0, 0, 3), (2, 1, 1, 4)"),
        ):
            con.execute(f"INSERT INTO {table} {whole.format('kept.' + columns, values)}")


def _gate_rows(candidate_id: str, results: Sequence[GateResult]) -> Iterator[list[Any]]:
    for position, one in enumerate(results):
        yield [
            candidate_id,
            position,
            one.gate,
            one.verdict.value,
            one.value,
            one.threshold,
            one.relation,
            one.attacker,
            one.seconds,
            one.detail,
            canonical_json(one.witness).decode(),
        ]


def _shares(total: int, size: int) -> list[int]:
    return [size] * (total // size) + ([total % size] if total % size else [])
