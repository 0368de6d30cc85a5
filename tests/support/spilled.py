"""What a process has written into the temporary files of a folder, which have no name but are open."""

from __future__ import annotations

from pathlib import Path


def spilled_bytes(process: int, folder: Path) -> bytes:
    """Return the bytes of all files in `folder` that the process has open, one after the other."""
    found = []
    for entry in Path(f"/proc/{process}/fd").iterdir():
        try:
            if str(entry.readlink()).startswith(f"{folder}/"):
                found.append(entry.read_bytes())
        except OSError:  # closed in the meantime
            continue
    return b"".join(found)
