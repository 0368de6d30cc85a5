"""A search for a goal as a person reads it: the trials that no other one beats, the best, and its lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from cli.console import console
from policy.text import number_of
from reports.documents import Document
from reports.text import escaped

DIGITS = 4


def show_search(document: Document, files: Sequence[Path]) -> None:
    """Show the front, whether the goal is met, the lines for the policy, and where the files are."""
    out = console()
    trials = {one["trial"]: one for one in document["trials"]}
    shown = document["front"] if document["best"] in document["front"] else [document["best"]]
    out.print(_table(document, [trials[number] for number in shown]))
    out.print(f"\n{_outcome(document, trials[document['best']])}", soft_wrap=True)
    if len(shown) > 1:
        out.print("no trial is better than one of these in every figure that the goal names")
    if len(tables := _tables(document)) > 1:
        out.print(f"of {' and '.join(tables)}: limits are kept in each, the objective is the mean")
    out.print("the gates on earlier releases were not asked: `releasegate run` asks them")
    if document["interrupted"]:
        out.print(f"[yellow]interrupted[/] after {number_of(len(trials), 'trial')}")
    out.print(f"\nthe lines of trial {document['best']} for the policy:\n")
    for line in document["policy"].splitlines():
        out.print(f"  {escaped(line)}", soft_wrap=True)
    out.print()
    for one in document["trials"]:
        finding = next((run["finding"] for run in one["runs"] if run["finding"]), "")
        if finding:
            out.print(f"[red]✗[/] trial {one['trial']} {escaped(one['method'])}: {escaped(finding)}")
    out.print(f"wrote {number_of(len(files), 'file')} to {escaped(str(files[0].parent))}/", soft_wrap=True)


def _tables(document: Document) -> list[str]:
    counts = ((len(document["periods"]), "period"), (len(document["seeds"]), "seed"))
    return [number_of(n, noun) for n, noun in counts if n > 1]


def _table(document: Document, trials: Sequence[Document]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    objective = document["goal"].rpartition(",")[2].rpartition(" ")[0].strip()
    limits = document["goal"].split(", ")[:-1]
    table.add_column("trial", justify="right")
    table.add_column("method")
    for name in (objective, *limits):
        table.add_column(escaped(name), justify="right")
    table.add_column("CPU s", justify="right")
    table.add_column("changes", overflow="fold")
    for one in trials:
        worst = {limit["limit"]: limit for limit in one["limits"]}
        table.add_row(
            f"{one['trial']}{' *' if one['trial'] == document['best'] else '  '}",
            escaped(one["method"]),
            _number(one["objective"]),
            *(_kept(worst.get(limit)) for limit in limits),
            f"{one['cpu_seconds']:.2f}",
            escaped(", ".join(f"{name}={_value(value)}" for name, value in one["changes"].items())) or "none",
        )
    return table


def _kept(limit: Document | None) -> str:
    if limit is None:
        return "-"
    return f"{_number(limit['worst'])} {'[red]✗[/]' if limit['beyond'] else '[green]✓[/]'}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.{DIGITS}g}"


def _value(value: Any) -> str:
    return "/".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _outcome(document: Document, best: Document) -> str:
    """Say in a line whether the goal is met, and if not, how far the nearest trial is from it."""
    goal, name = escaped(document["goal"]), f"trial {best['trial']}"
    tried = number_of(len(document["trials"]), "trial")
    if document["met"]:
        return f"[green]✓[/] the goal is met: {goal}; {name} (*) is the best of {tried}"
    not_met = f"[red]✗[/] the goal is not met in {tried}: {goal}"
    if best["standing"] == "no_figure":
        return f"{not_met}; a measure of it has no meaning for {name} (*)"
    far = [
        f"{escaped(limit['limit'])} is missed by {_number(limit['beyond'])}"
        for limit in best["limits"]
        if limit["beyond"]
    ]
    failing = [f"the gates {', '.join(best['gates'])} of the policy fail"] if best["gates"] else []
    return f"{not_met}; {name} (*) is nearest: {', '.join([*failing, *far])}"
