"""Outlive whoever reads the output, and leave the process after a flow has run in it."""

from __future__ import annotations

import atexit
import io
import os
import sys
from typing import Any, NoReturn


class _Output(io.BufferedWriter):
    """A standard stream whose reader may leave (`| head`): what is left then goes nowhere.

    Its raw stream is not written in Python: an interrupt there, after the write, would have it written again.
    """

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            self._to_nowhere()
            return len(data)

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            self._to_nowhere()

    def _to_nowhere(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def outlive_readers() -> None:
    """Let a command end with its own exit code where nobody reads its output any more."""
    sys.stdout, sys.stderr = _outliving(sys.stdout), _outliving(sys.stderr)


def _outliving(stream: Any) -> Any:
    if not isinstance(stream, io.TextIOWrapper):  # None where the stream is closed
        return stream
    stream.flush()
    return io.TextIOWrapper(
        _Output(io.FileIO(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def exit_process(code: int) -> NoReturn:
    """Run what must run at exit (Prefect stops its server there), flush, and end.

    The interpreter's own teardown is left out: Prefect's daemon threads keep DuckDB's objects alive through
    it, and DuckDB then prints pages about leaked instances that tell a user nothing.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 1
    os._exit(code)
