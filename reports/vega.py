"""Vega's scripts for the pages: bundled once, then read from the user's cache if the digest is right."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

GLOBALS = "window.vegaEmbed = vegaEmbed;"  # what the bundle gives to the scripts after it
SHA256 = "373b1f84072b31010f15ceb787be6b415c53936411aae267c8c2b2b6ccde46e7"  # of the locked version's bundle
LARGEST = 4_000_000  # bytes


def bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script.

    Bundling takes two CPU seconds. The user's cache saves them: what it holds is used only if its digest is
    `SHA256` and nobody else can write it, and nothing else is kept there.
    """
    kept = _folder()
    found = None if kept is None else _read(kept / f"vega-{SHA256[:16]}.js")
    if found is not None:
        return found
    import vl_convert

    code: str = vl_convert.javascript_bundle(GLOBALS)
    if kept is not None and _digest(code.encode()) == SHA256:
        _write(kept / f"vega-{SHA256[:16]}.js", code.encode())
    return code


def _folder() -> Path | None:
    """Return the folder of this program in the user's cache; None where there is no such user."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # The specification says that a relative path is to be ignored.
        cache = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return cache / "releasegate" if cache.is_absolute() else None


def _is_own(found: os.stat_result) -> bool:
    """Tell whether a file or folder belongs to this user, and nobody else can write it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(path: Path) -> str | None:
    try:
        if not _is_own(path.parent.lstat()):
            return None
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if not (stat.S_ISREG(status.st_mode) and _is_own(status)):
                return None
            data = file.read(LARGEST)
    except OSError:
        return None
    return data.decode() if _digest(data) == SHA256 else None


def _write(path: Path, data: bytes) -> None:
    """Write a file whole, or not at all: a page does without the cache.

    The temporary file has one name, so that what a killed process left is removed by the next that writes. Of
    two that write at once, one may move what the other has begun: the digest tells.
    """
    temporary = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(path.parent.lstat()):
            return
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
    except OSError:
        return


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
