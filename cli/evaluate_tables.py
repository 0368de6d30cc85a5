"""An evaluation as a person reads it: one line a method and k, means over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from cli.console import console
from policy.rounding import measured_share
from policy.text import number_of
from reports.documents import Document
from reports.text import escaped
from tasks.utility.front import front


def show_evaluation(document: Document, files: Sequence[Path]) -> None:
    """Show the summary, then what failed, then where the files are."""
    out = console()
    ext_frac = f"{max(document['ext_frac']):g}"
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("method", "k", "NCP", f"ERR {ext_frac}", f"UMR {ext_frac}", "SADR"):
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    for name in ("classes", "largest", "left out", "breaks", "CPU s", "passes"):
        table.add_column(name, justify="left" if name in ("breaks", "passes") else "right", no_wrap=True)
    best = _on_the_front(document["summary"], f"err_{ext_frac}")
    for place, one in enumerate(document["summary"]):
        mean, sd = one["mean"], one["sd"]
        table.add_row(
            escaped(one["method"]),
            str(one["k"]),
            _share(mean["ncp"], sd["ncp"]) + (" *" if place in best else "  "),
            _share(mean[f"err_{ext_frac}"], sd[f"err_{ext_frac}"]),
            _share(mean[f"umr_{ext_frac}"], sd[f"umr_{ext_frac}"]),
            _share(mean["sadr"], sd["sadr"]),
            _number(mean["classes"], 0),
            _number(mean["size_max"], 0),
            _number(mean["suppressed"], 0),
            _broken(mean),
            _number(mean["cpu_seconds"], 2),
            _passes(one),
        )
    out.print(table)
    n_seeds = len(document["seeds"])
    spread = f"means over {n_seeds} seeds ± their standard deviation; " if n_seeds > 1 else ""
    out.print(f"\n{spread}* nothing else is better in NCP and ERR; -: has no meaning there")
    out.print(
        "passes: the runs that pass every gate of the policy but those that compare with earlier releases"
    )
    for one in document["summary"]:
        if one["gates"]:
            out.print(escaped(f"{one['method']} k={one['k']} does not pass: {', '.join(one['gates'])}"))
    if any(_is_noised(one["method"]) for one in document["summary"]):
        out.print("classes are told without noised numbers, which differ from row to row: ERR counts them")
    for run in document["runs"]:
        if run["finding"]:
            name = f"{run['method']} k={run['k']} seed={run['seed']}"
            out.print(f"[red]✗[/] {escaped(name)}: {escaped(run['finding'])}")
    if files:
        out.print(
            f"wrote {number_of(len(files), 'file')} to {escaped(str(files[0].parent))}/", soft_wrap=True
        )


def _on_the_front(summary: Sequence[Document], risk: str) -> set[int]:
    shown = [i for i, one in enumerate(summary) if None not in (one["mean"]["ncp"], one["mean"][risk])]
    return {shown[i] for i in front([(summary[i]["mean"]["ncp"], summary[i]["mean"][risk]) for i in shown])}


def _is_noised(label: str) -> bool:
    from tasks.methods.registry import methods

    method, _, recoding = label.partition(":")
    return (recoding or methods()[method].recoding) == "adaptive"


def _share(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return "-"
    return measured_share(mean, "<=") + ("" if sd is None else f" ± {measured_share(sd, '<=')}")


def _number(mean: float | None, digits: int) -> str:
    return "-" if mean is None else f"{mean:.{digits}f}"


def _passes(one: Document) -> str:
    """Say how many of the runs pass the policy's own gates, and how many came to no rows."""
    sign = "[green]✓" if one["passing"] == one["runs"] else "[red]✗"
    failed = f", {one['failed']} failed" if one["failed"] else ""
    return f"{sign} {one['passing']} of {one['runs']}{failed}[/]"


def _broken(mean: Document) -> str:
    """Name the parts of the model that not every run holds."""
    if mean["k_holds"] is None:
        return ""
    broken = [name.removesuffix("_holds") for name in mean if name.endswith("_holds") and mean[name] < 1]
    return f"[red]✗ {', '.join(broken)}[/]" if broken else "[green]✓ none[/]"
