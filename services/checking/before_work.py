"""What a run checks before its work: that the files are there, and have the columns of the policy."""

from __future__ import annotations

import sys
from pathlib import Path

from policy.errors import InputError
from policy.model import ReleasePolicy
from policy.trusted import Trusted
from release_store.store import ReleaseStore
from services.checking.sources import SourceCheck, check_sources
from tasks.intake.source import Given


def check_before_work(
    policy: ReleasePolicy,
    store: ReleaseStore,
    period: str,
    *,
    input_path: Given | None,
    base: Path,
    trusted: Trusted,
    actor: str,
) -> None:
    """Print a warning where the file's name contradicts the period, and raise the first error of the files.

    That the input cannot be read is kept in the store.
    """
    found = check_sources(policy, input_path=input_path, period=period, base=base, trusted=trusted)
    for one in found.findings:
        if one.is_warning:
            print(f"releasegate: {one.line}", file=sys.stderr, flush=True)
    raise_and_record(found, policy, store, period, actor)


def raise_and_record(
    found: SourceCheck, policy: ReleasePolicy, store: ReleaseStore, period: str, actor: str
) -> None:
    """Raise the first error of a period's files, if there is one, and keep in the store that it was one."""
    own = [one for one in found.of_source if not one.is_warning]
    if own and own[0].exit_code == InputError.exit_code:
        store.record_unread_input(policy.series, period, actor=actor)
    found.raise_first()
