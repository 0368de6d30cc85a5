"""What other packages offer by entry points: of those alone that the store's owner trusts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points

from policy.errors import PolicyError

_packages: frozenset[str] = frozenset()


def trust_packages(names: Iterable[str]) -> None:
    """Let this process load what these distributions offer, and no other: to load it runs its code."""
    global _packages  # noqa: PLW0603 -- what is trusted holds for the process
    _packages = frozenset(map(_normal, names))
    offers.cache_clear()


def offers_elsewhere(group: str) -> dict[str, str]:
    """Return the distribution that offers each entry point that is not loaded, by the entry point's name."""
    return {
        entry.name: entry.dist.name
        for entry in entry_points(group=group)
        if entry.dist is not None and _normal(entry.dist.name) not in _packages
    }


@cache
def offers(group: str) -> tuple[tuple[str, object], ...]:
    """Return the names and the objects of a group of entry points of trusted packages, by name.

    Raises PolicyError where one cannot be loaded.
    """
    found = list[tuple[str, object]]()
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        if entry.dist is None or _normal(entry.dist.name) not in _packages:
            continue
        try:
            found.append((entry.name, entry.load()))
        except Exception as error:  # whatever another package does when it is imported
            raise PolicyError(
                f"cannot be loaded ({type(error).__name__})",
                where=f"entry point {group}:{entry.name}",
                hint="Fix or remove the package.",
            ) from None
    return tuple(found)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
