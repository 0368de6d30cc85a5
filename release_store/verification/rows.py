"""Do the rows that no candidate or release leads to belong there: names, migrations, policies, orphans?"""

from __future__ import annotations

from release_store.audit.log import Finding
from release_store.db.connection import migrations
from release_store.verification.view import VerificationContext, run_check

_OF_CANDIDATES = (
    "class_attribute",
    "class_size",
    "class_interval",
    "class_value",
    "class_set",
    "class_count",
    "proven_decision",
    "candidate_figures",
)


def check_rows(view: VerificationContext) -> list[Finding]:
    """Every row is of something that the store knows."""
    findings = run_check("classes", _orphans, view)
    findings += run_check("candidate_name", _names, view)
    findings += run_check("schema_migration", _migrations, view)
    return findings + run_check("policy", _policies, view)


def _orphans(view: VerificationContext) -> list[Finding]:
    return [
        Finding(str(name), f"has rows in {table}, but is not a candidate")
        for table in _OF_CANDIDATES
        for (name,) in view.con.execute(
            f"SELECT DISTINCT candidate_id FROM {table} "
            "WHERE candidate_id NOT IN (SELECT candidate_id FROM candidate) ORDER BY 1"
        ).fetchall()
    ]


def _names(view: VerificationContext) -> list[Finding]:
    """Every candidate has its name reserved, and every name that is reserved says its series and period."""
    findings = [
        Finding(str(name), "its name is not reserved for its series and period")
        for (name,) in view.con.execute(
            "SELECT candidate_id FROM candidate "
            "ANTI JOIN candidate_name USING (candidate_id, series, period) ORDER BY 1"
        ).fetchall()
    ]
    return findings + [
        Finding(str(name), "is reserved for another series or period")
        for (name,) in view.con.execute(
            "SELECT candidate_id FROM candidate_name "
            "WHERE NOT regexp_full_match(candidate_id[len(series || '-' || period) + 1:], '-c[1-9][0-9]*') "
            "OR NOT starts_with(candidate_id, series || '-' || period) ORDER BY 1"
        ).fetchall()
    ]


def _migrations(view: VerificationContext) -> list[Finding]:
    """The migrations that were applied are the first of those that there are, by their names."""
    kept = view.con.execute("SELECT number, name FROM schema_migration ORDER BY number").fetchall()
    known = [(number, name) for number, (name, _) in migrations().items()]
    if kept and kept == known[: len(kept)]:
        return []
    return [Finding("schema_migration", "does not list the migrations of the tables")]


def _policies(view: VerificationContext) -> list[Finding]:
    """Every policy has the digest under which it is kept, used or not."""
    return [
        Finding("policy", f"differs from the policy stored as {digest[:12]}")
        for (digest,) in view.con.execute("SELECT digest FROM policy ORDER BY digest").fetchall()
        if view.digest_of_policy(digest) != digest
    ]
