"""A sealed input as it is handed on: its bytes, and how large a table may become when it is unpacked."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

CHUNK = 1 << 20
# Text that is compressed more than this many times is no table about people, above a size that harms nobody.
LARGEST_RATIO = 200
HARMLESS_BYTES = 64 << 20


@dataclass(frozen=True)
class SealedFile:
    """The decompressed bytes of an input, and the SHA-256 of the file or object as it was."""

    shown: str  # the path or address that messages name
    path: Path  # by which this process opens the bytes
    digest: str
    size: int
    rows: int | None = None  # of a table that was copied as text

    @property
    def handle(self) -> int:
        """The descriptor of the bytes."""
        return int(self.path.name)

    def open(self) -> BinaryIO:
        """Open the bytes anew, at their start."""
        return self.path.open("rb")

    def text(self, encoding: str) -> io.TextIOWrapper:
        """Open the bytes as text, its line ends as they are."""
        return io.TextIOWrapper(self.open(), encoding=encoding, newline="")
