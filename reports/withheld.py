"""What is not to be spread: the content of what was withdrawn, or never published and waits for nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from release_store.records import CandidateRecord, CandidateState, Release, ReleaseState

WAITS = (CandidateState.AWAITING_APPROVAL, CandidateState.APPROVED, CandidateState.PUBLISHING)
_HIDDEN = "Rows and attribute values are not shown because"
_NOT_PUBLIC = f"{_HIDDEN} this candidate was never published and is not awaiting approval."
_WITHDRAWN = f"{_HIDDEN} the release was withdrawn."


def withholding_reason(record: CandidateRecord, release: Release | None) -> str:
    """Return why the content of a candidate or release is not to be spread; empty where it may be shown."""
    if release is None:
        return "" if record.state in WAITS else _NOT_PUBLIC
    return _WITHDRAWN if release.state is ReleaseState.WITHDRAWN else ""


def without_content(figures: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return figures without what stands in the rows: the attributes' values, and the latent space."""
    if figures is None:
        return None
    return {name: value for name, value in figures.items() if name not in ("attributes", "latent")}
