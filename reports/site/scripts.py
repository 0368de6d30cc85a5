"""Data that a page of the site loads by a script element: a page opened from a file can load nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports.pages import embedded


def write_data(folder: Path, name: str, value: Any) -> str:
    """Write `data/NAME.js`, which puts a JSON value under its name in `siteData`; return its place."""
    place = f"data/{name}.js"
    code = f'(globalThis.siteData ??= {{}})["{name}"] = {embedded(value)};\n'
    (folder / place).write_text(code, encoding="utf-8")
    return place
