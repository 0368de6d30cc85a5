"""Write texts as YAML that is read back as the same texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import yaml


def scalar(text: str) -> str:
    """Write a text as YAML that is read back as the same text."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9 _.-]*", text) and yaml.safe_load(text) == text:
        return text
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=2**31).strip()


def listed(items: Iterable[str], indent: str, width: int = 100) -> Iterator[str]:
    """Write a list of texts in brackets, broken between the items; the first line follows a field."""
    line = "["
    written = [scalar(item) for item in items]
    for number, item in enumerate(written):
        piece = item + ("]" if number == len(written) - 1 else ",")
        if line not in ("[", indent) and len(line) + len(piece) > width:
            yield line.rstrip()
            line = indent
        line += piece + " "
    yield line.rstrip() if written else "[]"
