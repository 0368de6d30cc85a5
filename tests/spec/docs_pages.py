"""The documentation as the tests read it: pages, headings, fenced blocks, tables and generated parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: language, text, the line where it opens, and the comment before it."""

    page: Path
    line: int
    language: str
    text: str
    comment: str

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        before = text[: match.start()]
        comment = re.search(r"<!-- (elsewhere(?:(?!-->).)*) -->\n\Z", before, re.DOTALL)
        line = before.count("\n") + 1
        found.append(Block(page, line, match[1], match[2], " ".join(comment[1].split()) if comment else ""))
    return found


def without_code(text: str) -> str:
    """Return the text of a page without fenced blocks and inline code."""
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))


def anchor(heading: str) -> str:
    """Return the anchor that a heading gets: lower case, without punctuation, spaces as hyphens."""
    plain = re.sub(r"[`*]", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def headings(page: Path, level: str = "#{1,6}") -> list[str]:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.findall(rf"^{level} (.+)$", text, re.MULTILINE)


def section(page: Path, heading: str) -> str:
    """Return what stands under a heading, up to the next heading of any level."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}$\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, f"{page.name} has no heading '{heading}'"
    return found[1]


def table(text: str) -> list[list[str]]:
    """Return the cells of the first table in a text, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def code(cell: str) -> str:
    """Return the inline code that a cell consists of."""
    found = re.fullmatch(r"`([^`]+)`", cell)
    assert found, f"no code: {cell}"
    return found[1]
