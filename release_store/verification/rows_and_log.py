"""Do the rows of the store say what its log says? Asked by `verify`, and before anything becomes public.

What is published, withdrawn, approved or listed follows the log: rows that differ from it refuse the act.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb

from policy.errors import ReleaseGateError, VerificationFailed
from release_store.audit import keys
from release_store.audit.log import Finding
from release_store.audit.replay import ReplayedLog, read_log
from release_store.db import queries
from release_store.db.connection import trigger_errors
from release_store.db.figures import check_figures
from release_store.db.people import check_people
from release_store.own_places import file_error
from release_store.records import Release
from release_store.verification.candidates import check_candidates
from release_store.verification.checkpoints import check_goes_on_from_kept
from release_store.verification.inputs import check_inputs
from release_store.verification.proofs import check_decision_proofs
from release_store.verification.releases import check_admissions, check_release_rows
from release_store.verification.restorations import check_restorations
from release_store.verification.rows import check_rows
from release_store.verification.view import VerificationContext, run_check

_HINT = "Nothing was changed. Run `releasegate verify` for details, and restore the store from a copy."
_replayed: dict[Path, ReplayedLog] = {}  # of the store that this process looked at last


def check_rows_follow_log(
    con: duckdb.DuckDBPyConnection,
    root: Path,
    series: str | None,
    *,
    compared: bool = False,
    again: bool = False,
) -> None:
    """Raise VerificationFailed, with the first finding, unless the rows of a series, or all, follow the log.

    The log goes on from the checkpoint that is kept beside the key. To be called in the transaction of the
    act that follows. `compared` says that the caller has compared the classes and people of earlier
    releases; with `again`, what this process has read of the log in the same act is not read again.
    """
    view = context_of(con, root, series, compared=compared, again=again)
    findings = [*view.log.findings]
    for what, check in {**ROW_CHECKS, "kept checkpoint": _goes_on}.items():
        findings += run_check(what, check, view)
    refuse(findings)


def context_of(
    con: duckdb.DuckDBPyConnection,
    root: Path,
    series: str | None = None,
    *,
    compared: bool = False,
    again: bool = True,
) -> VerificationContext:
    """Return what checks before an act look at; the parameters are those of `check_rows_follow_log`."""
    log = replayed_log(con, root, again=again)
    public_key = keys.read_public_hex(root)
    return VerificationContext(root, con, log, public_key, series, by_root=False, compared=compared)


def refuse(findings: Sequence[Finding]) -> None:
    """Raise VerificationFailed with the first of these findings, if there is any."""
    if findings:
        first, more = findings[0], len(findings) - 1
        told = f"{first.what}; {more} more" if more else first.what
        raise VerificationFailed(told, where=first.where, hint=_HINT)


def listed_releases(con: duckdb.DuckDBPyConnection, root: Path) -> list[Release]:
    """Return all releases, to be listed. Raises VerificationFailed unless they are as the log left them."""
    view = context_of(con, root)
    releases = queries.releases(con)
    refuse([*view.log.findings, *run_check("releases", check_release_rows, view, releases)])
    return releases


def trusted_log(con: duckdb.DuckDBPyConnection, root: Path) -> ReplayedLog:
    """Return what the log says. Raises VerificationFailed unless it holds, and goes on from what was kept."""
    view = context_of(con, root)
    refuse([*view.log.findings, *run_check("checkpoints", _goes_on, view)])
    return view.log


def replayed_log(con: duckdb.DuckDBPyConnection, root: Path, *, again: bool = True) -> ReplayedLog:
    """Return what the log says; with `again`, what this process has read of it is not read again."""
    log = read_log(con, _replayed.get(root) if again else None)
    _replayed.clear()
    _replayed[root] = log
    return log


def _goes_on(view: VerificationContext) -> list[Finding]:
    try:
        return check_goes_on_from_kept(view)
    except ReleaseGateError as error:
        return [Finding(error.where or view.root.name, error.message)]


def _store(view: VerificationContext) -> list[Finding]:
    """The store's own id and key stand in its first event."""
    action, payload = view.log.first or ("", {})
    if action != "store.created":
        return [Finding("event 1", "the log does not begin with the creation of the store")]
    findings = []
    if view.public_key != payload.get("public_key"):
        findings.append(Finding(keys.PUBLIC_KEY_FILE, _key_error(view)))
    elif view.public_key != (_held_public_key(view.root) or view.public_key):
        findings.append(
            Finding(keys.PUBLIC_KEY_FILE, f"is not the public half of {keys.key_path(view.root)}")
        )
    if "created_at" in payload and view.created_at != payload["created_at"]:
        findings.append(Finding("created_at", "differs from the logged one"))
    if view.store_id != payload.get("store_id"):
        findings.append(Finding("store_id", "differs from the first one"))
    return findings


def _key_error(view: VerificationContext) -> str:
    if view.public_key is not None:
        return "is not the store's first key"
    path = view.root / keys.PUBLIC_KEY_FILE
    if os.path.lexists(path):
        return file_error(path) or "is not a public key as releasegate writes it"
    return "is missing"


def _held_public_key(root: Path) -> str | None:
    """Return the public half of the signing key where it is at hand: beside a copy of a store it is not."""
    try:
        return keys.public_hex(keys.key_at_hand(root))
    except ReleaseGateError:
        return None


def _guards(view: VerificationContext) -> list[Finding]:
    """The triggers that keep tables append-only are there, as they were made, and no others."""
    return [Finding(name, what) for name, what in trigger_errors(view.con).items()]


def _places(view: VerificationContext) -> list[Finding]:
    """Candidates, gate results and decisions stand in the order of the log, numbered without a gap."""
    findings = [
        Finding(name, f"the positions of its rows in {table} were changed")
        for table, rows in (("gate_result", "gate_result"), ("decision", queries.DECISIONS))
        for name in queries.misplaced(view.con, rows)
    ]
    logged = list(view.log.candidates)
    for name, place in queries.places(view.con).items():
        if not 0 < place <= len(logged) or logged[place - 1] != name:
            findings.append(Finding(name, "is not at its position in the log"))
    return findings


def _figures(view: VerificationContext) -> list[Finding]:
    return check_figures(view.con, view.log, view.series)


def _people(view: VerificationContext) -> list[Finding]:
    return [] if view.compared else check_people(view.con, view.log, view.series)


def _releases(view: VerificationContext) -> list[Finding]:
    """All are looked at, since the catalog lists them; what let them out, for those of the series."""
    releases = queries.releases(view.con)
    own = [release for release in releases if view.series in (None, release.series)]
    return check_release_rows(view, releases) + check_admissions(view, own, classes=not view.compared)


# What each looks at is what a damaged database does not give back.
ROW_CHECKS: dict[str, Callable[[VerificationContext], list[Finding]]] = {
    "the store's id": _store,
    "triggers": _guards,
    "rows": check_rows,
    "positions": _places,
    "validation": check_inputs,
    "candidates": check_candidates,
    "decisions": check_decision_proofs,
    "figures": _figures,
    "hashes of people": _people,
    "releases": _releases,
    "restorations": check_restorations,
}
