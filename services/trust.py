"""What the owner of a store trusts, made to hold for the process that works with it."""

from __future__ import annotations

from pathlib import Path

from policy.trusted import Trusted
from release_store.trusted import load_trusted


def trusted_in(store: Path) -> Trusted:
    """Return what the store's owner trusts, and let its packages be loaded and its memory be used.

    Raises as `load_trusted`.
    """
    from tasks.memory import use_memory
    from tasks.packages import trust_packages

    found = load_trusted(store)
    trust_packages(found.packages)
    use_memory(found.memory)
    return found


def use_memory_of(store: Path) -> None:
    """Let the process use the memory that the store's owner allows.

    Raises as `load_trusted`.
    """
    from tasks.memory import use_memory

    use_memory(load_trusted(store).memory)
