"""The report of a candidate and of a release, where flows write it: a page made from the store alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from release_store.changes import gate_document
from release_store.public_files import candidate_folder, release_folder, replace_file
from release_store.records import CandidateState, Verdict
from release_store.store import ReleaseStore
from release_store.verify_evidence import REPORT

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
</head>
<body>
<h1>{{ title }}</h1>
<p>{{ verdict }}</p>
{% if classes %}<p>{{ classes.records }} rows in {{ classes.n }} classes of {{ classes.least }} to \
{{ classes.greatest }}.</p>
{% endif -%}
<table>
<caption>Gates</caption>
<thead><tr><th scope="col">gate</th><th scope="col">verdict</th><th scope="col">measured</th>\
<th scope="col">must be</th><th scope="col">attacker</th><th scope="col">detail</th></tr></thead>
<tbody>
{% for gate in gates -%}
<tr><th scope="row">{{ gate.gate }}</th><td>{{ gate.verdict }}</td>\
<td>{{ "" if gate.value is none else "%.4g" | format(gate.value) }}</td>\
<td>{{ "" if gate.threshold is none else "%s %.4g" | format(gate.relation, gate.threshold) }}</td>\
<td>{{ gate.attacker }}</td><td>{{ gate.detail }}</td></tr>
{% endfor -%}
</tbody>
</table>
</body>
</html>
"""


def report_of(store: ReleaseStore, candidate_id: str) -> Callable[[Mapping[str, Any]], bytes]:
    """Return what makes the report of the release that a candidate becomes, as `publish` calls it.

    It is given what the manifest says but for its files; of the same facts it makes the same bytes.
    """

    def report(facts: Mapping[str, Any]) -> bytes:
        held_back = facts.get("override", {}).get("gates", {})
        verdict = f"Published by override of {', '.join(sorted(held_back))}." if held_back else "Published."
        return _page(store, candidate_id, f"Release {facts['release_id']}", verdict, facts["gates"])

    return report


def write_candidate_report(store: ReleaseStore, candidate_id: str) -> Path:
    """Write `report.html` beside the files of a candidate that was judged, whole or not at all.

    It is none of the files that were judged, and only the store's owner can read it.
    """
    path = candidate_folder(store.root, candidate_id) / REPORT
    replace_file(path, _candidate_report(store, candidate_id), mode=0o600)
    return path


def report_path(store: ReleaseStore, series: str, candidate_id: str, release_id: str = "") -> str:
    """Return where the report of a release lies, or that of a candidate; empty where it has none."""
    if release_id:
        folder = release_folder(store.root, series, release_id)
    else:
        folder = candidate_folder(store.root, candidate_id)
    path = folder / REPORT
    return str(path) if candidate_id and path.is_file() else ""


def _candidate_report(store: ReleaseStore, candidate_id: str) -> bytes:
    results = store.gates(candidate_id)
    held_back = [one.gate for one in results if one.verdict is not Verdict.PASS]
    state = store.candidate(candidate_id).state
    verdict = f"Blocked by {', '.join(held_back)}." if held_back else "Every gate passed it."
    if state is CandidateState.AWAITING_APPROVAL:
        verdict += f" {store.approvers_needed(candidate_id)} approval(s) needed."
    gates = [gate_document(one) for one in results]
    return _page(store, candidate_id, f"Candidate {candidate_id}", verdict, gates)


def _page(
    store: ReleaseStore, candidate_id: str, title: str, verdict: str, gates: Sequence[Mapping[str, Any]]
) -> bytes:
    classes = (store.figures(candidate_id) or {}).get("classes")
    return _template().render(title=title, verdict=verdict, classes=classes, gates=gates).encode()


@cache
def _template() -> Template:
    return Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True).from_string(
        _PAGE
    )
