"""Two releases side by side as a person reads them: one table, in which a mark shows what differs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rich.table import Table

from cli.console import console, verdict_mark
from policy.text import number_of
from release_store.records import Verdict
from reports.documents import Document
from reports.gate_wording import limit_of, measured_of
from reports.text import escaped, minute

_NONE = "[dim]none[/]"
_LONGEST = 120  # characters of a policy's value; the document has all
_DIGESTS = ("policy_digest", "input_digest", "candidate_digest", "history_head")


def show_difference(document: Document) -> None:
    """Show what `difference_document` returned."""
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True, padding=(0, 2, 0, 0))
    table.add_column("", width=1)
    table.add_column("", overflow="fold")
    for name in ("a", "b"):
        table.add_column(escaped(document[name]), overflow="fold", ratio=1)
    _section(table, "", document["facts"], _fact)
    same = all(row["same"] for row in document["facts"] if row["name"] == "policy_digest")
    _section(table, "policy: the same" if same else "policy: what differs", document["policy"], _policy)
    _section(table, "method", document["method"], _plain)
    _section(table, "gates", document["gates"], _gate, absent="[dim]not run[/]")
    _section(table, "classes", document["classes"], _plain)
    equal = document["equal_classes"]
    table.add_row("", "identical classes", *["[dim]not known[/]" if equal is None else str(equal)] * 2)
    _section(table, "utility", document["utility"], _plain)
    out = console()
    out.print(table)
    sections = ("facts", "policy", "method", "gates", "classes", "utility")
    n_different = sum(not row["same"] for name in sections for row in document[name])
    differ = number_of(n_different, "row differs", "rows differ")
    out.print(f"{differ}, marked ≠" if n_different else "nothing differs")


def _section(
    table: Table,
    title: str,
    rows: list[Document],
    shown: Callable[[str, Any], str],
    absent: str = "[dim]-[/]",
) -> None:
    if title:
        table.add_row("", "", "", "")
        table.add_row("", f"[bold]{title}[/]", "", "")
    for row in rows:
        cells = [shown(row["name"], row[side]) if side in row else absent for side in ("a", "b")]
        name = row["name"].replace("_", " ") if shown is _fact else row["name"]
        table.add_row("" if row["same"] else "[yellow]≠[/]", escaped(name), *cells)


def _fact(name: str, value: Any) -> str:
    if value is None:
        return _NONE
    if name in _DIGESTS:
        return str(value)[:12]
    return escaped(minute(value) if name.endswith("_at") else value)


def _plain(_name: str, value: Any) -> str:
    if value is None:
        return _NONE
    return f"{value:.4g}" if isinstance(value, float) else escaped(_text(value))


def _policy(_name: str, value: Any) -> str:
    if value is None:
        return _NONE
    text = _text(value)
    return escaped(text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ...")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _gate(name: str, value: Document) -> str:
    gate = {"gate": name, **value}
    found = "" if value["value"] is None else f" {measured_of(gate)}"
    bound = "" if value["threshold"] is None else f" ({limit_of(gate)})"
    return f"{verdict_mark(Verdict(value['verdict']))}{found}{bound}"
