"""Three quarters of the made-up register, released in order: `python -m examples.register.demo [FOLDER]`.

Every candidate goes through the real flow and is judged against every release before it. For the second
quarter a candidate is made first without regard for the history, to show the comparison holding it back.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

from cli.process_exit import exit_process, outlive_readers
from examples.register.generate import ROWS, generate, write
from flows.runtime.local_run import run_release
from policy.errors import ReleaseGateError, UsageError
from policy.trusted import TRUSTED_FILE
from release_store.records import GateResult, Verdict
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from services.outcome import Outcome

POLICIES = Path(__file__).resolve().parent.parent / "policies"
AWARE, BLIND = POLICIES / "register.yaml", POLICIES / "register-blind.yaml"
STEPS = (
    ("2026Q1", AWARE, "the first release: nothing to compare with", "published"),
    ("2026Q2", BLIND, "made without regard for 2026Q1", "blocked"),
    ("2026Q2", AWARE, "made with regard for 2026Q1", "published"),
    ("2026Q3", AWARE, "made with regard for 2026Q1 and 2026Q2", "published"),
)


def main(folder: Path, rows: int = ROWS) -> int:
    """Generate the data, release the quarters, and show what came out; 0 if all went as it must."""
    start = perf_counter()
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=120)
    keys = set(folder.glob("store.*key*"))  # and the newest checkpoint, which is kept beside the key
    strange = set(folder.glob("*")) - keys - {folder / "data", folder / "store", folder / TRUSTED_FILE}
    if strange:
        raise UsageError("holds more than an earlier demo", where=str(folder), hint="Name a new folder.")
    for name in ("data", "store"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for path in keys:
        path.unlink()
    console.print(
        f"[bold]1.[/] making up a health register: three quarters of {rows:,} people, 99% in the next one"
    )
    tables = write(folder / "data", generate(n=rows))
    console.print("[bold]2.[/] making a store, and a signing key beside it")
    store = ReleaseStore.create(folder / "store")
    # The policies name their tables in a folder that is not theirs: the store's owner says that they may.
    (folder / TRUSTED_FILE).write_text(f"folders: [{json.dumps(str((folder / 'data').resolve()))}]\n")
    console.print("[bold]3.[/] releasing the quarters in order, each judged against those before it")
    by_period = {path.stem.removeprefix("register-"): path for path in tables}
    outcomes = []
    for period, policy, words, _ in STEPS:
        console.print(f"   {period}, {words}")
        outcomes.append(
            run_release(policy, store=store.root, period=period, input_path=by_period[period], actor="demo")
        )
    findings = verify(store)
    console.print()
    console.print(_table(outcomes))
    _explain(console, outcomes[1], outcomes[2])
    _next(console, store.root, outcomes)
    as_planned = all(o.state == wanted for o, (*_, wanted) in zip(outcomes, STEPS, strict=True))
    if findings or not as_planned:
        console.print("[red]this is not what the demo should show[/]")
        return 1
    console.print(f"\nall of it took {perf_counter() - start:.0f} s")
    return 0


def _table(outcomes: list[Outcome]) -> Table:
    table = Table(title="What came out", title_justify="left", header_style="bold")
    for name, justify in (
        ("candidate", "left"),
        ("made", "left"),
        ("gates", "left"),
        ("verdict", "left"),
        ("classes", "right"),
        ("left out", "right"),
        ("pinned", "right"),
        ("unlocked", "right"),
        ("NCP", "right"),
    ):
        table.add_column(name, justify="right" if justify == "right" else "left")
    for outcome, (_, policy, _, _) in zip(outcomes, STEPS, strict=True):
        passed = sum(result.verdict is Verdict.PASS for result in outcome.gates)
        failing = [result.gate for result in outcome.gates if result.verdict is not Verdict.PASS]
        table.add_row(
            outcome.candidate_id.removeprefix(f"{outcome.series}-"),
            "with the history" if policy == AWARE else "blind to it",
            f"{passed} of {len(outcome.gates)} pass" + "".join(f"\n✗ {name}" for name in failing),
            "[green]published[/]" if outcome.state == "published" else f"[red]{outcome.state}[/]",
            str(outcome.n_classes),
            str(outcome.n_source - outcome.n_published),
            _people_of(outcome, "worlds"),
            _people_of(outcome, "known"),
            "" if outcome.ncp is None else f"{outcome.ncp:.3f}",
        )
    return table


def _people_of(outcome: Outcome, gate: str) -> str:
    """Return how many people a gate counts: so many are pinned, or unlocked by one person's values."""
    found = next((result for result in outcome.gates if result.gate == gate), None)
    return "" if found is None or found.value is None else f"{found.value:,.0f}"


def _explain(console: Console, blind: Outcome, aware: Outcome) -> None:
    found = {result.gate: result for result in blind.gates}
    person, worlds = found.get("person"), found.get("worlds")
    if person is None or worlds is None or not worlds.value or aware.state != "published":
        return
    console.print(
        f"\nThe blind candidate satisfies every model alone. Beside 2026Q1, {person.value:.0f} of its "
        f"{blind.n_classes} classes leave somebody in both releases a single sensitive value, and whoever "
        f"solves for all classes of both at once knows a diagnosis or a cost of {worlds.value:,.0f} people"
        f"{_undecided(worlds)}. In the next candidate everybody stays beside the same few people as in "
        "2026Q1, and nobody's diagnosis or cost of care follows. Whoever knows one person's, such as their "
        "own, unlocks that of few others."
    )


def _undecided(worlds: GateResult) -> str:
    """Say of how many more people the gate's search could not tell before it ended."""
    undecided = worlds.witness.get("undecided", 0)
    return f", and perhaps that of {undecided:,} more, where the search ended" if undecided else ""


def _next(console: Console, store: Path, outcomes: list[Outcome]) -> None:
    last, blind = outcomes[-1], outcomes[1]
    folder = store / "releases" / last.series / last.release_id
    console.print("\n[bold]The files[/]")
    for name in sorted(path.name for path in folder.iterdir()):
        console.print(f"  {folder / name}", soft_wrap=True)
    console.print("\n[bold]Try next[/]")
    run = ".venv/bin/releasegate --store " + str(store)
    for words in ("history", f"show {blind.candidate_id}", f"show {last.release_id}", "verify", "report"):
        console.print(f"  {run} {words}", soft_wrap=True)


if __name__ == "__main__":
    outlive_readers()
    try:
        ended = main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo"))
    except ReleaseGateError as error:
        print(f"demo: {error}", file=sys.stderr)
        ended = error.exit_code
    exit_process(ended)
