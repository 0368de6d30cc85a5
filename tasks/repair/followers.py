"""Whom hashes follow from earlier releases into the table that is being prepared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from policy.model import ReleasePolicy
from release_store.person_key import fingerprint_of, person_hash
from release_store.records import EquivalenceClasses, PersonHashes
from tasks.history.persons import all_followed, joinable
from tasks.types import SourceTable


@dataclass(frozen=True)
class Followers:
    """Each record's person as a hash (None: nobody), and the people of each earlier release, oldest first.

    `key` is that of people, under which their values are sealed.
    """

    hashes: Sequence[str | None]
    earlier: Sequence[PersonHashes | None]
    key: bytes = field(default=b"", repr=False)

    def alone(self, policy: ReleasePolicy, earlier: Sequence[tuple[str, EquivalenceClasses]]) -> bool:
        """Tell whether people alone are compared: the policy says so, and each row is somebody's own."""
        gates = policy.gates.person
        if gates.cells != "unfollowed" or gates.without or policy.rows != "one_per_person":
            return False
        return all_followed(self.hashes, self.earlier, [int(each.size.sum()) for _, each in earlier])

    def into(self, chosen: Collection[str], releases: Sequence[str]) -> Followers:
        """Return the same people, followed into those of `releases`, which are the earlier ones, alone."""
        kept = [who for who, name in zip(self.earlier, releases, strict=True) if name in chosen]
        return replace(self, earlier=kept)


def followers_of(
    source: SourceTable, policy: ReleasePolicy, key: bytes | None, earlier: Sequence[PersonHashes | None]
) -> Followers | None:
    """Return who can be followed; None without a key, or if the policy follows nobody. O(n) hashes."""
    column = policy.roles.key
    if key is None or column is None or not policy.gates.person.compare:
        return None
    identifiers = source.frame[column].to_numpy(dtype=object)
    hashes = [person_hash(key, one) if isinstance(one, str) else None for one in identifiers]
    return Followers(hashes, joinable(fingerprint_of(key, column), earlier), key)
