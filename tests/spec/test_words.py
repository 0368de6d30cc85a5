"""One word for one thing: names that the glossary's terms took the place of do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.spec import docs_pages

PACKAGES = ("policy", "release_store", "expectations", "tasks", "reports", "services", "flows", "web", "cli")
REFUSED = {
    "mend": "hint",
    "Staff": "Reviewers",
    "Member": "Reviewer",
    "Whole": "StoreSnapshot",
    "note_people": "log_reviewers",
    "record_reviewers": "log_reviewers",
    "load_staff": "load_reviewers",
    "needed_staff": "needed_reviewers",
    "LoggedWord": "LoggedDecision",
    "check_words": "check_decision_proofs",
    "BrokenPlaces": "CorruptCursors",
    "read_whole": "read_snapshot",
    "Sheet": "ReportModel",
    "Beside": "Comparison",
    "Stories": "Timeline",
    "wrong_proof": "proof_error",
    "wrong_correction": "correction_error",
    "wrong_mark": "schema_mark_error",
    "wrong_triggers": "trigger_errors",
    "appear": "move_into_place",
    "in_force": "count_valid_decisions",
    "marks_of": "credential_ids",
    "guarded": "run_check",
    "set_up": "check_environment",
    "MadeRows": "PublishableRows",
    "undisturbed": "series_lock",
    "same_work": "find_equivalent_candidate",
    "left_waiting": "resume_candidate",
    "asked_of": "resolve_revision",
    "Look": "InputCheck",
    "Wanted": "ExpectedInput",
    "telling": "notify_on_exit",
    "acting": "authenticated_as",
    "talk": "request_json",
    "shielded": "sanitize_errors",
    "unfit": "text_problem",
    "NOTHING": "UNCONSTRAINED",
    "Told": "KnownClasses",
    "Side": "ReleaseGeometry",
    "Part": "Component",
    "Setting": "BuildContext",
    "Leaf": "ReleasePage",
    "Teller": "TimelineBuilder",
    "Narrator": "TimelineBuilder",
}


PARTS = {"mends": "mend", "mend": "mend"}  # in any case, and as constants


def defined(source: str) -> Iterator[str]:
    """Yield the names of functions, classes and module constants that a module defines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.arg):
            yield node.arg


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_is_one_of_those_that_were_given_up(package: str) -> None:
    found = {
        f"{path.relative_to(docs_pages.ROOT)}: {name}, which is called {REFUSED[name]}"
        for path in (docs_pages.ROOT / package).rglob("*.py")
        for written in defined(path.read_text(encoding="utf-8"))
        if (name := PARTS.get(written.strip("_").lower(), written)) in REFUSED
    }
    assert not found


def test_the_search_finds_what_it_looks_for() -> None:
    source = "Whole = 1\ndef talk(mend): ...\nclass Staff: ..."
    assert {*defined(source)} & REFUSED.keys() == {"Whole", "talk", "mend", "Staff"}


def test_the_glossary_has_each_term_once() -> None:
    text = (docs_pages.ROOT / "GLOSSARY.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
    terms = [term.strip() for row in rows for term in row.split(",") if row not in ("term", "---")]
    assert len(terms) == len(set(terms)) > 50
