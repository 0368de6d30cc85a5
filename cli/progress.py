"""How far long work is, on the standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tasks import types


@contextmanager
def progress_reporter() -> Iterator[types.Progress]:
    """Show the stages on a terminal as a moving bar, elsewhere as one line a stage."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _line_reporter()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("", total=1.0)

    def tell(share: float, words: str) -> None:
        bar.start()  # with the first word: what is printed before stays
        bar.update(task, description=words, completed=share)

    try:
        yield tell
    finally:
        bar.stop()


def _line_reporter() -> types.Progress:
    last = ""

    def tell(_share: float, words: str) -> None:
        nonlocal last
        stage = words.partition(":")[0]
        if stage != last:
            last = stage
            print(f"  {stage} ...", file=sys.stderr, flush=True)

    return tell
