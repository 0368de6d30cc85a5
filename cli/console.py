"""The pieces of what people read: a console, and tables whose columns line up."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from release_store.db.changes import gate_json
from release_store.records import GateResult, Verdict
from reports.gate_wording import limit_of, measured_of
from reports.text import escaped

_NUMBERS = ("rows", "left out", "k", "NCP")  # columns to the right
_MARK = {Verdict.PASS: "[green]✓ pass[/]", Verdict.FAIL: "[red]✗ fail[/]"}


def console() -> Console:
    """Return a console on the standard output, wide enough for the tables when that is a file."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=140)


def gate_table(gates: tuple[GateResult, ...] | list[GateResult]) -> Table:
    """Return the gates as a table."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("gate", "verdict", "value", "limit", "detail"):
        table.add_column(name, overflow="fold", justify="right" if name == "value" else "left")
    for result in gates:
        document = gate_json(result)
        table.add_row(
            result.gate,
            verdict_mark(result.verdict),
            measured_of(document),
            limit_of(document),
            escaped(result.detail),
        )
    return table


def verdict_mark(verdict: Verdict) -> str:
    """Return a verdict with its sign and colour."""
    return _MARK.get(verdict, f"[yellow]? {verdict}[/]")


def titled(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    """Return a table under a title, numbers to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="right" if name in _NUMBERS else "left")
    for row in rows:
        table.add_row(*row)
    return table


def plain_table(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return what `titled` shows, without style: for thousands of rows, where rich takes many seconds."""
    from rich.cells import cell_len
    from rich.markup import render

    lines = [columns, *(tuple(render(c).plain if "\\" in c else c for c in row) for row in rows)]
    widths = [
        max(len(cell) if cell.isascii() else cell_len(cell) for cell in column)
        for column in zip(*lines, strict=True)
    ]
    padded = []
    for line in lines:
        cells = []
        for name, cell, width in zip(columns, line, widths, strict=True):
            space = " " * (width - (len(cell) if cell.isascii() else cell_len(cell)))
            cells.append(space + cell if name in _NUMBERS else cell + space)
        padded.append("  ".join(cells).rstrip())
    return "\n".join([title, *padded]) + "\n"
