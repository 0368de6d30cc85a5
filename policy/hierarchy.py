"""Hierarchies of categories: quasi-identifiers are generalized by them, sensitive values compared.

A hierarchy is written as nested lists and mappings in the policy, or as a CSV file with one line a
leaf, `;`-separated, most specific first (ARX's format):

    Leeds;North;*
    York;North;*
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import Field

from policy.plain_file import open_plain, read_at_most

ROOT = "*"
LARGEST_FILE = 16 << 20  # bytes
MOST_LEAVES = 50_000


@dataclass(frozen=True)
class Hierarchy:
    """The paths from each leaf to the root: `paths[i][0]` is a leaf, `paths[i][-1]` the root.

    `origin` names the file that it was read from, for messages; it is no part of the policy's document.
    """

    paths: tuple[tuple[str, ...], ...]
    origin: Annotated[str, Field(exclude=True)] = field(default="", compare=False)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values that may stand in the source, in the hierarchy's own order."""
        return tuple(path[0] for path in self.paths)


def read_csv_hierarchy(path: Path, check: Callable[[int], None] | None = None) -> Hierarchy:
    """Read one line a leaf, `;`-separated, most specific first; `check` is given the opened file.

    Raises OSError as `open_plain`, UnicodeDecodeError, csv.Error, and ValueError with a one-line finding
    where the file is empty, repeats a leaf, is not a tree, or holds a key in PEM.
    """
    with open_plain(path) as data:
        if check is not None:
            check(data.fileno())
        text = read_at_most(data, LARGEST_FILE, path).decode("utf-8")
    if "-----BEGIN" in text:
        raise ValueError("is a key, and no hierarchy")
    rows = [
        tuple(cell.strip() for cell in row) for row in csv.reader(StringIO(text, ""), delimiter=";") if row
    ]
    found = checked([row if row[-1] == ROOT else (*row, ROOT) for row in rows])
    return replace(found, origin=path.name)


def from_tree(tree: object) -> Hierarchy:
    """Build from nested mappings (node: children) whose innermost children are lists of leaves."""
    return checked([(*reversed(path), ROOT) for path in _walk(tree, ())])


def _walk(tree: object, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(tree, Mapping):
        for node, children in tree.items():
            yield from _walk(children, (*above, str(node)))
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for child in tree:
            if isinstance(child, Mapping):
                yield from _walk(child, above)
            else:
                yield (*above, _text(child))
    else:
        raise ValueError("a hierarchy is made of nested mappings with lists of values inside")


def _text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        raise ValueError(f"the value {value!r} is not text in YAML; put it in quotes")
    return str(value)


def checked(rows: Sequence[tuple[str, ...]]) -> Hierarchy:
    """Return the hierarchy of these paths, or raise ValueError where they are not a tree."""
    if not rows:
        raise ValueError("the hierarchy has no values")
    leaves = [row[0] for row in rows]
    if len(leaves) > MOST_LEAVES:
        raise ValueError(f"the hierarchy has more than {MOST_LEAVES:,} values")
    if len(set(leaves)) != len(leaves):
        twice = Counter(leaves).most_common(1)[0][0]
        raise ValueError(f"the value '{twice}' appears twice")
    parents: dict[tuple[int, str], str] = {}
    for row in rows:
        for depth, (child, parent) in enumerate(pairwise(row[1:])):
            # Levels are counted from the leaf, so the same name may stand on two levels.
            if parents.setdefault((depth, child), parent) != parent:
                raise ValueError(f"the node '{child}' has two parents")
    return Hierarchy(tuple(rows))
