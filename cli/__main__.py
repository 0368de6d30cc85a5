"""The command line: `releasegate COMMAND ...`. The commands stand in `cli.commands`."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from typer import Abort, _click
from typer.main import get_command

from cli.app import app
from cli.process_exit import exit_process, outlive_readers
from flows.runtime import machine_limits
from policy.errors import ReleaseGateError, UsageError
from policy.text import is_valid_text

_INTERRUPTED = 130
# A command makes many objects that live as long as it does: looking among them for garbage, which Python does
# after every 700 new ones, takes a fifth of the imports' time.
_COLLECT_AFTER = (200_000, 20, 50)


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        machine_limits.check()
        _check_words(sys.argv[1:] if args is None else args)
        code = int(get_command(app).main(args, prog_name="releasegate", standalone_mode=False) or 0)
    except _click.exceptions.UsageError as error:
        return _print_error(_usage_error(error))
    except ReleaseGateError as error:
        return _print_error(error)
    except (KeyboardInterrupt, Abort):
        code = _INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            return _print_error(UsageError("the name of a file is too long", hint="Give a shorter path."))
        print(f"releasegate: unexpected error ({type(error).__name__})", file=sys.stderr)
        return 1
    if code == _INTERRUPTED:
        print("releasegate: interrupted; no partial result is visible", file=sys.stderr)
    return code


def _check_words(words: Sequence[str]) -> None:
    """Raise UsageError for a word of the command, or a setting of ours, that no text of ours can hold.

    They name files, people and candidates, and are written to the store, to JSON and to pages.
    """
    hint = "Write it in UTF-8, without NUL."
    for number, word in enumerate(words, start=1):
        if not is_valid_text(word):
            raise UsageError(f"word {number} of the command is no valid text", hint=hint)
    for name, value in os.environ.items():
        if name.startswith("RELEASEGATE_") and not (is_valid_text(value) and is_valid_text(name)):
            raise UsageError("is no valid text", where=name, hint=hint)


def _usage_error(error: _click.exceptions.UsageError) -> UsageError:
    """Return what is wrong with the words of a command as one of our errors."""
    if getattr(error, "option_name", "") == "--store":
        hint = "--store goes before the command: releasegate --store DIR COMMAND ..."
    else:
        hint = f"See `{error.ctx.command_path if error.ctx else 'releasegate'} --help`."
    return UsageError(error.format_message().replace("Value error, ", ""), hint=hint)


def _print_error(error: ReleaseGateError) -> int:
    from reports.text import sanitize_text

    where = f"{error.where}: " if error.where else ""
    for line in (f"releasegate: {where}{error.message}", f"  {error.hint}" if error.hint else ""):
        if line:
            print(sanitize_text(line), file=sys.stderr)
    return error.exit_code


def entry() -> NoReturn:
    """Run one command and end the process with its exit code."""
    gc.set_threshold(*_COLLECT_AFTER)
    outlive_readers()
    try:
        code = main()
    except SystemExit as ended:  # shell completion
        code = ended.code if isinstance(ended.code, int) else 2
    exit_process(code)


if __name__ == "__main__":
    entry()
