"""Do the rows of `validation` say how the inputs met their expectations as the log says it?"""

from __future__ import annotations

from typing import Any

from release_store.audit.log import Finding, canonical_payload
from release_store.canonical import sha256_hex
from release_store.verification.view import VerificationContext

_VALIDATED, _REFUSED = "input.validated", "input.refused"


def check_inputs(view: VerificationContext) -> list[Finding]:
    """Every input that was read has its row, as it was logged, and every row its event.

    All is compared but the time: a row has one of its own.
    """
    rows = {row["validation"]: row for row in _rows(view)}
    findings = []
    for event, logged in _logged(view):
        row = rows.pop(logged["validation"], None)
        where = f"event {event}"
        if row is None:
            findings.append(Finding(where, "its validation result is missing"))
        elif row != {name: logged[name] for name in row}:
            findings.append(Finding(where, "its validation result differs from the logged one"))
    return findings + [Finding(f"validation {number}", "is in no event of the log") for number in rows]


def _rows(view: VerificationContext) -> list[dict[str, Any]]:
    found = view.con.execute(
        "SELECT number, series || '/' || period, actor, passed, input_digest, n_rows, n_columns, results "
        "FROM validation WHERE series = coalesce(?, series) ORDER BY number",
        [view.series],
    )
    return [
        {
            "validation": number,
            "object": subject,
            "actor": actor,
            "passed": passed,
            "input": digest,
            "rows": n_rows,
            "columns": n_columns,
            "results": sha256_hex(results.encode()),
        }
        for number, subject, actor, passed, digest, n_rows, n_columns, results in found.fetchall()
    ]


def _logged(view: VerificationContext) -> list[tuple[int, dict[str, Any]]]:
    found = view.con.execute(
        "SELECT number, actor, action, object, payload FROM event WHERE action IN (?, ?) "
        "AND (?::VARCHAR IS NULL OR starts_with(object, ? || '/')) ORDER BY number",
        [_VALIDATED, _REFUSED, view.series, view.series],
    ).fetchall()
    logged = []
    for number, actor, action, subject, text in found:
        payload = canonical_payload(text) or {}
        if "validation" not in payload:  # what could not be read has no row
            continue
        said = {name: payload.get(name) for name in ("validation", "input", "rows", "columns", "results")}
        said |= {"object": subject, "actor": actor, "passed": action == _VALIDATED}
        logged.append((number, said))
    return logged
