"""What a process and those below it wrote into the temporary files of a folder: open, without a name."""

from __future__ import annotations

from pathlib import Path

import psutil


def spilled_bytes(process: int, folder: Path) -> bytes:
    """Return the bytes of all files in `folder` that the process or one below it has open, one by one."""
    found = []
    below = [one.pid for one in psutil.Process(process).children(recursive=True)]
    for entry in (file for one in (process, *below) for file in _open_files(one)):
        try:
            if str(entry.readlink()).startswith(f"{folder}/"):
                found.append(entry.read_bytes())
        except OSError:  # closed in the meantime
            continue
    return b"".join(found)


def _open_files(process: int) -> list[Path]:
    try:
        return [*Path(f"/proc/{process}/fd").iterdir()]
    except OSError:  # it ended in the meantime
        return []
