"""What a release says of gates that administrators overrode."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from release_store.protocol.names import PACKAGE, REPORT
from release_store.protocol.strict_json import json_list, json_text, optional_object, read_json, same

MARK = "releasegate:override"  # in the data package of a release that gates held back
OVERRIDES_NEEDED = 2
# The mark is the first property, and lines within it are indented by more than two.
_MARKED = re.compile(rb'\{\n  "releasegate:override": (\{.*?\n  \})(,\n|\n\}\n\Z)', re.DOTALL)


def mark_of(override: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the data package says of an override in the manifest: gates, people and times."""
    people = [{"by": json_text(one["by"]), "at": json_text(one["at"])} for one in json_list(override["by"])]
    return {"gates": override["gates"], "by": people}


def with_override_mark(override: Mapping[str, Any], judged: bytes) -> bytes:
    """Return a data package, as `package_text` writes it, with the mark of an override before all else."""
    return package_text({MARK: mark_of(override), **json.loads(judged)})


def unmarked_package(package: bytes) -> tuple[Any, bytes]:
    """Return the mark at the beginning of a data package, and the package without it.

    Raises ValueError where it begins with none.
    """
    found = _MARKED.match(package)
    if found is None:
        raise ValueError("does not begin with the mark of an override")
    judged = b"{\n" + package[found.end() :] if found[2] == b",\n" else b"{}\n"
    return read_json(found[1]), judged


def package_text(package: Any) -> bytes:
    """Return a data package as releasegate writes it."""
    return (json.dumps(package, indent=2, ensure_ascii=False) + "\n").encode()


def files_as_judged(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the digests of the files as the gates judged them: no report, and no mark in the package."""
    override = optional_object(manifest.get("override"), "the override in the manifest")
    judged = {
        **manifest["files"],
        **optional_object(override.get("judged"), "what was judged in the manifest"),
    }
    return {name: digest for name, digest in judged.items() if name != REPORT}


def override_mark_error(manifest: dict[str, Any], package: bytes) -> str:
    """Return what is wrong with the data package of a release by override; empty if nothing is.

    Of releases that a releasegate published before there was a mark, none is demanded.
    """
    override = optional_object(manifest.get("override"), "the override in the manifest")
    if "judged" not in override:
        return ""
    try:
        mark, without = unmarked_package(package)
    except ValueError:
        mark, without = None, b""
    if not same(mark, mark_of(override)):
        return "does not say what was overridden, by whom and when"
    judged = {PACKAGE: hashlib.sha256(without).hexdigest()}
    return (
        "" if same(override["judged"], judged) else ("is not the assessed file with the mark of the override")
    )
