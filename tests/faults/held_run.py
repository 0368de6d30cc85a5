"""A command that stops itself when it begins a stage: `python -m tests.faults.held_run STAGE WORD...`.

It says so on its error output, as any command does, and is stopped by SIGSTOP before it does anything of the
stage. So nobody who reads the line has to be quick.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from cli import progress
from cli.__main__ import entry


def hold(stage: str) -> None:
    """Let this process stop itself, once, where it tells of the stage."""
    made = progress._line_reporter
    held = False

    def line_teller() -> Callable[[float, str], None]:
        tell = made()

        def tell_and_stop(share: float, words: str) -> None:
            nonlocal held
            tell(share, words)
            if not held and words.startswith(stage):
                held = True
                os.kill(os.getpid(), signal.SIGSTOP)

        return tell_and_stop

    progress._line_reporter = line_teller


if __name__ == "__main__":
    hold(sys.argv.pop(1))
    entry()
