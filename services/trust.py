"""What the owner of a store trusts, made to hold for the process that works with it."""

from __future__ import annotations

from pathlib import Path

from policy.errors import UsageError
from policy.trusted import Memory, Trusted
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


def use_memory_of(store: Path, *, reads_only: bool = False) -> None:
    """Let the process use the memory that the store's owner allows.

    An account that only reads may lack the right to `trusted.yaml`, or to write the folder to spill: it has
    the memory that a store without that file has. Raises as `load_trusted`, unless it `reads_only`.
    """
    from tasks.memory import use_memory

    try:
        memory = load_trusted(store).memory
    except UsageError:
        if not reads_only:
            raise
        memory = Memory()
    use_memory(memory)
