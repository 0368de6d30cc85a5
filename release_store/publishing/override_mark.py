"""The mark in the data package of a release that administrators published by override.

The data package that is published is the one that was judged, with one property more: which gates were
overridden, by whom and when. Without that property it is, byte for byte, what was judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from policy.errors import StoreError, VerificationFailed
from release_store.canonical import sha256_hex
from release_store.protocol.names import PACKAGE
from release_store.protocol.overrides import MARK, package_text, with_override_mark


def package_digest(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """Return the name and the digest of the staged file that is to carry a mark.

    Raises StoreError for a candidate without a data package, which nothing could mark.
    """
    if PACKAGE not in files:
        raise StoreError(
            f"has no {PACKAGE} to hold the mark of the override",
            where=str(folder),
            hint="Run the period again.",
        )
    return {PACKAGE: files[PACKAGE]}


def mark_package(folder: Path, override: Mapping[str, Any]) -> bytes:
    """Return the data package in `folder` with the mark of `override`, as it stands in the manifest.

    Raises VerificationFailed if the file is not the one that was judged, StoreError for one that could not be
    read back from its marked form.
    """
    path = folder / PACKAGE
    judged = path.read_bytes()
    if sha256_hex(judged) != override["judged"][PACKAGE]:
        raise VerificationFailed("differs from the assessed file", where=str(path))
    try:
        found = json.loads(judged)
        plain = isinstance(found, dict) and MARK not in found and package_text(found) == judged
    except (ValueError, TypeError):
        plain = False
    if not plain:
        raise StoreError(
            "is not in the form of releasegate, so the override cannot be marked in it",
            where=str(path),
            hint="Run the period again.",
        )
    return with_override_mark(override, judged)
