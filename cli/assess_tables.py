"""What `assess` shows without --json: a few tables of figures, and what they do not say."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from cli.console import console
from reports.table_wording import (
    COLUMN_HEADS,
    LIMITS,
    SET_HEADS,
    column_rows,
    columns_text,
    figure_groups,
    set_rows,
    sets_words,
)
from reports.text import escaped, sanitize_text
from tasks.table_measures.measure import AssessedTable


def show_assessment(of: AssessedTable, page: Path | None) -> None:
    """Show the figures of a table, and where its page is, if there is one."""
    out = console()
    out.print(f"[bold]{escaped(of.table)}[/]  quasi-identifiers: {escaped(columns_text(of))}", soft_wrap=True)
    for group in figure_groups(of.measures):
        table = _table(group.title, ("", "", ""))
        table.show_header = False
        for one in group.figures:
            table.add_row(escaped(one.name), one.value, f"[dim]{escaped(one.meaning)}[/]")
        out.print()
        out.print(table)
    found = of.measures.singling_out
    columns = _table("Which columns single people out", COLUMN_HEADS)
    for row in column_rows(found, of.measures.identity.people):
        columns.add_row(escaped(row[0]), *row[1:])
    out.print()
    out.print(columns)
    out.print()
    out.print(sets_words(found))
    if found.sets:
        sets = _table(None, SET_HEADS)
        for names, rows in set_rows(found):
            sets.add_row(escaped(names), rows)
        out.print(sets)
    out.print()
    out.print("[bold]What these figures do not say[/]")
    for line in LIMITS:
        out.print(f"- {line}", markup=False)
    if page is not None:
        out.print(f"\nreport: {sanitize_text(str(page))}", markup=False, soft_wrap=True)


def _table(title: str | None, heads: tuple[str, ...]) -> Table:
    table = Table(
        box=None,
        pad_edge=False,
        header_style="bold",
        title=escaped(title) if title else None,
        title_justify="left",
        title_style="bold",
    )
    for number, name in enumerate(heads):
        table.add_column(name, justify="right" if name and number else "left", overflow="fold")
    return table
