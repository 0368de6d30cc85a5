"""Are the files of releasegate those that were installed? Others' packages can have the same names."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from policy.text import number_of
from release_store.checkup import Check, Condition

_AGAIN = "Install releasegate again, in an environment of its own (docs/install.md)."


def installed_files() -> list[Check]:
    """Compare each installed file with its digest in the installation's record.

    A distribution that brings a package of the same name, such as `flows`, writes over files of ours, and its
    removal removes them. A checkout that is installed to be edited has no digests of its files.
    """
    try:
        distribution = metadata.distribution("releasegate")
    except metadata.PackageNotFoundError:
        return [Check("files", Condition.FINE, "run from a folder, and not installed")]
    recorded = list(_recorded(distribution))
    wrong = [path for path, digest in recorded if _digest(path) != digest]
    if wrong:
        found = f"{number_of(len(wrong), 'file')} altered or missing since the installation: {wrong[0]}"
        return [Check("files", Condition.WRONG, found, _AGAIN)]
    found = f"{number_of(len(recorded), 'file')} as installed" if recorded else "a checkout, without a record"
    return [Check("files", Condition.FINE, found)]


def _recorded(distribution: metadata.Distribution) -> Iterator[tuple[Path, str]]:
    """Yield the modules and other files of our packages, each with its SHA-256."""
    for file in distribution.files or []:
        ours = len(file.parts) > 1 and ".." not in file.parts and not file.parts[0].endswith(".dist-info")
        if ours and file.hash is not None and file.hash.mode == "sha256":
            yield Path(str(distribution.locate_file(file))), file.hash.value


def _digest(path: Path) -> str:
    """Return a file's SHA-256 as the record writes it; "" for none."""
    try:
        digest = hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
