"""The records that the store keeps and gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from release_store.summary import Summary


class Verdict(StrEnum):
    """What a gate says. Only `PASS` of every demanded gate opens the way to publication."""

    PASS = "pass"  # noqa: S105 -- no password
    FAIL = "fail"
    UNKNOWN = "unknown"
    ERROR = "error"
    NOT_RUN = "not_run"


class CandidateState(StrEnum):
    """Where a candidate stands between its staging and its end."""

    STAGED = "staged"
    ASSESSED = "assessed"
    BLOCKED = "blocked"
    AWAITING_APPROVAL = "awaiting_approval"
    APPROVED = "approved"
    PUBLISHING = "publishing"
    PUBLISHED = "published"
    REJECTED = "rejected"
    EXPIRED = "expired"
    STALE = "stale"
    FAILED = "failed"


class ReleaseState(StrEnum):
    """Where a release stands after its publication."""

    PUBLISHED = "published"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class GateResult:
    """What one gate measured, against which attacker, and what it says.

    `witness` holds class numbers, attribute names, counts and sizes: never a value or a person.
    """

    gate: str
    verdict: Verdict
    value: float | None
    threshold: float | None
    relation: str  # "<=", ">=" or ">": how value must stand to threshold
    attacker: str
    seconds: float
    detail: str = ""
    witness: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SetCells:
    """The cells of one categorical quasi-identifier, one a class.

    `member[c, v]` tells whether class `c` covers `values[v]`; `whole[c]` that it is published as `*` and
    covers every value, those outside `values` too. Shapes: member (n_classes, n_values), whole (n_classes,).
    """

    values: tuple[str, ...]
    member: NDArray[np.bool_]
    whole: NDArray[np.bool_]


@dataclass(frozen=True)
class EquivalenceClasses:
    """The equivalence classes of one published table, as anybody can read them from it.

    `size` (n_classes,) records a class; `intervals[qi]` (n_classes, 2) smallest and largest value;
    `sets[qi]` the covered values; `counts[attribute]` (n_classes, n_values) records a sensitive value,
    whose names stand in `sensitive_values[attribute]`. The cells of the quasi-identifiers in `replaced` are
    single values put in place of those of the class's people: they need not be true of any. A noised
    quasi-identifier has no cells: it differs from row to row.
    """

    size: NDArray[np.int64]
    intervals: dict[str, NDArray[np.float64]]
    sets: dict[str, SetCells]
    sensitive_values: dict[str, tuple[str, ...]]
    counts: dict[str, NDArray[np.int64]]
    replaced: frozenset[str] = frozenset()

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.size)


@dataclass(frozen=True)
class PersonHashes:
    """The keyed hashes of the people in one candidate, sorted, and the key's fingerprint.

    `classes` are the numbers of the classes that they are in; a person with several rows is there once a
    class. None for hashes that were kept before classes were. `values` are their published sensitive values,
    sealed (`release_store/person_values.py`); None where none are kept. `canonical` are the hashes of the
    keys' canonical forms, None for a key that has this form itself, and of long numbers what tells whether a
    spreadsheet cut them (`release_store/person_key.py`); empty where none are kept.
    """

    fingerprint: str
    hashes: tuple[str, ...]
    classes: tuple[int, ...] | None = None
    values: bytes | None = field(default=None, repr=False)
    canonical: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class PeopleInCommon:
    """How many people of a candidate were in each earlier release; None where that cannot be told."""

    fingerprint: str
    n: int
    earlier: dict[str, int | None]  # by release


@dataclass(frozen=True)
class CandidateRecord:
    """A candidate as the store keeps it."""

    candidate_id: str
    series: str
    period: str
    state: CandidateState
    made_by: str
    made_at: datetime
    policy_digest: str
    input_digest: str
    candidate_digest: str
    history_head: str
    expires_at: datetime | None
    summary: Summary


@dataclass(frozen=True)
class Proof:
    """What proves that a word is a person's: a signature by their public key, or that they gave their token.

    `people` is the digest of the people in force, as the log's last `people.changed` has it; `token` the
    fingerprint of the token's hash. Keys and signatures are hexadecimal.
    """

    method: str  # "signature" or "token"
    people: str
    public_key: str = ""
    signature: str = ""
    token: str = ""

    def document(self) -> dict[str, str]:
        """Return it as plain JSON."""
        names = ("public_key", "signature") if self.method == "signature" else ("token",)
        return {"method": self.method, "people": self.people, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class Decision:
    """One person's word on one candidate, bound to what that person saw; the first stores asked no proof."""

    candidate_id: str
    decision: str  # "approve", "reject" or "override"
    by: str
    reason: str
    at: datetime
    candidate_digest: str
    policy_digest: str
    history_head: str
    proof: Proof | None = None


@dataclass(frozen=True)
class Release:
    """A published release as the store keeps it."""

    release_id: str
    series: str
    period: str
    number: int  # 1, 2, ... within the series, in the order of publication
    candidate_id: str
    state: ReleaseState
    published_at: datetime
    files: dict[str, str]  # file name to SHA-256
    summary: Summary
    overridden: bool = False  # published though gates held it back, on the word of administrators


@dataclass(frozen=True)
class AuditEvent:
    """One line of the audit log."""

    number: int
    at: str  # UTC, ISO 8601, microseconds
    actor: str
    action: str
    object: str
    reason: str
    payload: dict[str, Any]
    previous: str
    hash: str


@dataclass(frozen=True)
class Validation:
    """How one input met its expectations: names and counts of what was expected, never a value."""

    number: int
    series: str
    period: str
    input_digest: str
    n_rows: int
    n_columns: int
    passed: bool
    results: tuple[dict[str, Any], ...]
    actor: str
    at: datetime
