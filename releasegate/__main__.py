"""`releasegate COMMAND ...` as it is installed: our own packages, or none."""

from __future__ import annotations

import sys
from typing import NoReturn

from releasegate.own_packages import ForeignPackageError, check_own_packages

_HINT = "Install releasegate in an environment of its own, or remove the other package (docs/install.md)."


def entry() -> NoReturn:
    """Run one command and end the process with its exit code; 1 where a package is not ours."""
    try:
        check_own_packages()
    except ForeignPackageError as error:
        print(f"releasegate: {error}\n  {_HINT}", file=sys.stderr)
        sys.exit(1)
    from cli.__main__ import entry as run_command

    run_command()


if __name__ == "__main__":
    entry()
