"""What verification looks at: the store while it is open, what its log says, and rows by the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from policy.errors import ReleaseGateError
from release_store.audit import merkle
from release_store.audit.log import Finding
from release_store.audit.replay import ReplayedLog
from release_store.canonical import digest_of
from release_store.db import queries
from release_store.db.classes import KeptClasses
from release_store.db.connection import is_damage
from release_store.protocol.ed25519 import is_public_key
from release_store.records import Decision

_BATCH = 2_000
_MOST_CLASSES = 200_000  # of all candidates of a batch; a single one may have more


@dataclass
class VerificationContext:
    """The store as it is being verified: an open connection, what the log says, and the key it trusts.

    With a `series`, only what is kept of that one is looked at, and of the others what the catalog lists.
    """

    root: Path
    con: duckdb.DuckDBPyConnection
    log: ReplayedLog
    public_key: str | None
    series: str | None = None
    by_root: bool = True  # whether Merkle roots of checkpoints are compared: the head binds the log too
    compared: bool = False  # classes and people of earlier releases are left out: the caller compared them
    notes: list[Finding] = field(default_factory=list)
    _policies: dict[str, dict[str, Any]] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)

    def note(self, where: str, what: str) -> None:
        """Keep what is no fault and must be known: above all, what could not be compared."""
        self.notes.append(Finding(where, what))

    @property
    def signed_by(self) -> str | None:
        """The key that checkpoints must be signed by: the store's first, as the log has it.

        Where the file of the public key holds another or none, that is told once.
        """
        first = (self.log.first or ("", {}))[1].get("public_key")
        return first if isinstance(first, str) and is_public_key(first) else self.public_key

    @cached_property
    def tree(self) -> merkle.MerkleTree:
        """The Merkle tree over the events."""
        return merkle.log_tree(self.log.hashes)

    @cached_property
    def store_id(self) -> str:
        """The id that the store says it has."""
        return queries.store_info(self.con, "store_id")

    @cached_property
    def created_at(self) -> str:
        """The time at which the store says it was made."""
        return queries.store_info(self.con, "created_at")

    def policy(self, digest: str) -> dict[str, Any]:
        """Return the policy that is kept under a digest."""
        if digest not in self._policies:
            self._policies[digest] = queries.policy(self.con, digest)
        return self._policies[digest]

    def digest_of_policy(self, digest: str) -> str:
        """Return the digest that the policy kept under `digest` has."""
        if digest not in self._digests:
            self._digests[digest] = digest_of(self.policy(digest))
        return self._digests[digest]


@dataclass
class Batch:
    """What the tables hold of some candidates: one query a table, made when it is asked for."""

    con: duckdb.DuckDBPyConnection
    candidate_ids: list[str]

    @cached_property
    def gate_rows(self) -> dict[str, list[queries.GateRow]]:
        """Gate results by candidate, as they are kept."""
        return queries.gate_rows_of(self.con, self.candidate_ids)

    @cached_property
    def verdicts(self) -> dict[str, list[tuple[str, str]]]:
        """Gates and what they say by candidate."""
        return queries.verdicts_of(self.con, self.candidate_ids)

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """What was decided by candidate."""
        return queries.words_of(self.con, self.candidate_ids)

    @cached_property
    def decisions(self) -> dict[str, list[Decision]]:
        """Decisions by candidate."""
        return queries.decisions_of(self.con, self.candidate_ids)

    @cached_property
    def files(self) -> dict[str, dict[str, str]]:
        """Digests of staged files by candidate."""
        return queries.files_of(self.con, self.candidate_ids)

    @cached_property
    def classes(self) -> KeptClasses:
        """The classes that are kept of them."""
        return KeptClasses(self.con, self.candidate_ids)


def batches(names: list[str], weights: Mapping[str, int] | None = None) -> Iterator[list[str]]:
    """Cut a list into pieces of at most `_BATCH` names and, if they have more than one, `_MOST_CLASSES`."""
    piece: list[str] = []
    total = 0
    for name in names:
        weight = weights.get(name, 0) if weights else 0
        if piece and (len(piece) >= _BATCH or total + weight > _MOST_CLASSES):
            yield piece
            piece, total = [], 0
        piece.append(name)
        total += weight
    if piece:
        yield piece


@dataclass(frozen=True)
class Unreadable(Finding):
    """What the database does not give back: of a damaged one, all of these are told in one line."""


def run_check(where: str, check: Callable[..., list[Finding]], *arguments: object) -> list[Finding]:
    """Run a check, and turn what it stumbles over into a finding: damage has no fixed shape."""
    try:
        return check(*arguments)
    except ReleaseGateError as error:
        return [Finding(where, error.message)]
    except duckdb.Error as error:
        if is_damage(error):
            return [Unreadable(where, "cannot be read")]
        return [Finding(where, f"cannot be read ({type(error).__name__})")]
    except Exception as error:
        return [Finding(where, f"cannot be read ({type(error).__name__})")]


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are one as canonical JSON, where 1 and 1.0 are, and 1 and true are not."""
    if type(one) is str and type(other) is str:  # most are, of very many
        return one == other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
