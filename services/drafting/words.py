"""The words of a column's name."""

from __future__ import annotations

import re


def words_of(name: str) -> set[str]:
    """Return the words of a column's name: `birthDate`, `birth_date` and `Birth-Date` have the same."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return set(re.findall(r"[a-z]+", apart.lower()))
