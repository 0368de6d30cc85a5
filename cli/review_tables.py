"""A review of a series as a person reads it: every release, and what of each would not pass now."""

from __future__ import annotations

from rich.table import Table

from cli.console import console, gate_table, verdict_mark
from policy.text import number_of
from release_store.records import GateResult, Verdict
from reports.documents import Document, gate_result
from reports.text import escaped, override_line
from services.store_review import all_pass


def show_review(document: Document) -> None:
    """Show what `audit_series` returned."""
    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("release", "period", "state", "published", "gates that pass", "not run", "now"):
        table.add_column(name, no_wrap=name != "gates that pass")
    for release in document["releases"]:
        verdicts = [gate["verdict"] for gate in release["gates"]]
        table.add_row(
            release["release"],
            release["period"],
            release["state"],
            release["published_at"][:10],
            f"{verdicts.count(Verdict.PASS)} of {len(verdicts)}",
            str(len(release["not_run"]) or ""),
            _now(release),
        )
    out.print(table)
    for release in document["releases"]:
        results = [gate_result(gate) for gate in release["gates"] if gate["gate"] in release["not_passed"]]
        if results:
            out.print(f"\n[bold]{release['release']}[/] would not pass now:")
            out.print(_one_for_all(results) or gate_table(results))
    let_out = [release for release in document["releases"] if release["override"]]
    if let_out:
        out.print("\n[bold]Published by override[/]")
    for release in let_out:
        said = override_line(release["override"], release["overridden"])
        out.print(f"{release['release']}: {escaped(said)}", soft_wrap=True)
    out.print()
    n_releases, not_run = len(document["releases"]), _not_run(document)
    n_failing = sum(not release["passes"] for release in document["releases"])
    if n_failing:
        out.print(f"{n_failing:,} of {number_of(n_releases, 'release')} would not pass now")
        if not_run:
            out.print(not_run)
    else:
        overridden = any(release["overridden"] for release in document["releases"])
        passes = all_pass(document["not_run"], overridden=overridden)
        out.print(f"{number_of(n_releases, 'release')}: {passes}" + (f"; {not_run}" if not_run else ""))
    if not document["logged"]:
        out.print("not logged: the store is read-only")


def _not_run(document: Document) -> str:
    """Say how many gates were not run, and why; "" if all were."""
    n = document["not_run"]
    if not n:
        return ""
    why = "because the input is missing; pass --input PERIOD=FILE"
    if any(release["had_source"] and release["not_run"] for release in document["releases"]):
        why = "because the store does not keep what is needed; --json says what"
    return f"{number_of(n, 'gate was', 'gates were')} not run {why}"


def _now(release: Document) -> str:
    if release["purged"]:
        return "[yellow]rows purged[/]"
    if not release["passes"]:
        return "[red]✗ would not[/]"
    return "[yellow]! by override[/]" if release["overridden"] else "[green]✓ passes[/]"


def _one_for_all(results: list[GateResult]) -> str:
    """Return one line for gates that all measured nothing for one reason, as where a policy does not fit."""
    first, *others = results
    same = all((one.verdict, one.detail) == (first.verdict, first.detail) for one in others)
    if not others or first.value is not None or not same:
        return ""
    gates = ", ".join(one.gate for one in results)
    return f"{verdict_mark(first.verdict)}: {escaped(first.detail)} ({gates})"
