"""A package that is installed beside ours while a test runs, with entry points that the test chooses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tasks.packages import trust_packages

Offers = Callable[..., None]


@contextmanager
def installed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, text: str, group: str
) -> Iterator[Offers]:
    """Install a distribution of the module `module`, and give what writes its entry points and trusts it."""
    (folder / f"{module}.py").write_text(text)
    info, name = folder / f"{module}-1.0.dist-info", module.replace("_", "-")
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")

    def offers(*lines: str) -> None:
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]) + "\n")
        trust_packages([module.title()])

    monkeypatch.syspath_prepend(str(folder))
    yield offers
    sys.modules.pop(module, None)
    trust_packages([])
