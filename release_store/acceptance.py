"""Whether a store may be read, and whether it may be worked with: the owners of its files, and who made it.

A store can come from anywhere, as in an unpacked archive, and its files are then the caller's own. To read it
takes no more than trusted owners. Who writes to it, or goes by what lies beside it, has made or accepted it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from policy.accepted import check_whose, is_made_or_accepted, is_trusted
from policy.errors import UsageError
from policy.ownership import trust_command
from release_store.guarded_files import resolved


def check_owners(root: Path) -> None:
    """Raise UsageError where the store's folder, what is in it or a folder above it is a stranger's."""
    check_whose(root)
    try:
        inside = [Path(entry) for entry in os.scandir(root)]
    except OSError as error:
        raise UsageError(
            f"cannot be read ({type(error).__name__})", where=str(root), hint="Check its permissions."
        ) from None
    for path in inside:
        with suppress(FileNotFoundError):  # another process has just removed it
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode) or not is_trusted(path, status.st_uid):
                check_whose(path)


def check_accepted(root: Path, store_id: Callable[[], str]) -> None:
    """Raise UsageError unless this account made the store in `root`, or accepted it or a folder above it.

    `store_id` is asked for where this account made a store there.
    """
    if not is_made_or_accepted(root, store_id):
        raise UsageError(
            "is a store that this account neither made nor accepted",
            where=str(root),
            hint=f"If you know where it is from, run `{trust_command(resolved(root))}`.",
        )
