"""What a release says of gates that administrators overrode."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from release_store.protocol.names import PACKAGE, REPORT
from release_store.protocol.strict_json import json_object, read_json, same

MARK = "releasegate:override"  # in the data package of a release that gates held back
OVERRIDES_NEEDED = 2


def mark_of(override: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the data package says of an override in the manifest: gates, people and times."""
    people = [{"by": one["by"], "at": one["at"]} for one in override["by"]]
    return {"gates": override["gates"], "by": people}


def package_text(package: Any) -> bytes:
    """Return a data package as releasegate writes it."""
    return (json.dumps(package, indent=2, ensure_ascii=False) + "\n").encode()


def judged_files(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the digests of the files as the gates judged them: no report, and no mark in the package."""
    override = json_object(manifest.get("override") or {}, "the override in the manifest")
    judged = {
        **manifest["files"],
        **json_object(override.get("judged") or {}, "what was judged in the manifest"),
    }
    return {name: digest for name, digest in judged.items() if name != REPORT}


def wrong_mark(manifest: dict[str, Any], package: bytes) -> str:
    """Return what is wrong with the data package of a release by override; empty if nothing is.

    Of releases that a releasegate published before there was a mark, none is demanded.
    """
    override = manifest.get("override") or {}
    if "judged" not in override:
        return ""
    found = json_object(read_json(package), PACKAGE)
    if not same(found.pop(MARK, None), mark_of(override)):
        return "does not say what was overridden, by whom and when"
    judged = {PACKAGE: hashlib.sha256(package_text(found)).hexdigest()}
    return "" if same(override["judged"], judged) else "is not what was judged and the mark of the override"
