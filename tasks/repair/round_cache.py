"""What the rounds of a repair share: the earlier releases in the table's space, and what they tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.geometry.space import Space, points_of
from tasks.history.intersection import History, by_column, compared_attributes, history_of
from tasks.history.persons import Followed, follow
from tasks.history.required import required_of
from tasks.repair.followers import Followers
from tasks.repair.judge import Judge
from tasks.repair.known_pairs import KnownPairs
from tasks.types import PreparedTable


@dataclass
class RoundCache:
    """What the earlier releases tell of a table whatever its groups are, for as long as its space stays."""

    _space: tuple[object, ...] = ()
    _history: History | None = None
    _judge: tuple[Followed | None, Judge] | None = None
    _pairs: dict[int, KnownPairs] = field(default_factory=dict)

    def history(
        self,
        policy: ReleasePolicy,
        earlier: Sequence[tuple[str, EquivalenceClasses]],
        space: Space,
        apart: Sequence[tuple[int, int]] | None,
    ) -> History:
        """Return the earlier releases in the space; those of the last call where the space is the same.

        Raises ValueError where there is no earlier release.
        """
        asked = space.numeric, tuple(space.domains.items()), tuple(space.sensitive.items())
        if self._history is None or self._space != asked:
            history = history_of(earlier, space, policy, apart)
            if history is None:
                raise ValueError("there is no earlier release")
            self._space, self._history, self._judge = asked, history, None
            self._pairs = {}
        return self._history

    def pairs_with(self, release: int) -> KnownPairs:
        """Return what finds the classes of one of the releases, as `history` returned them last.

        Raises ValueError where it was not asked before.
        """
        if self._history is None:
            raise ValueError("there is no history yet")
        if release not in self._pairs:
            self._pairs[release] = KnownPairs(self._history.by_release[release])
        return self._pairs[release]

    def judge(
        self,
        table: PreparedTable,
        policy: ReleasePolicy,
        earlier: Sequence[tuple[str, EquivalenceClasses]],
        space: Space,
        apart: Sequence[tuple[int, int]] | None,
        followers: Followers | None,
    ) -> tuple[Followed | None, Judge]:
        """Return where the table's people were before, if they can be followed, and the judge of its groups.

        Raises ValueError where there is no earlier release.
        """
        history = self.history(policy, earlier, space, apart)
        if self._judge is None:
            required = by_column(space, required_of(policy, space, compared_attributes(policy)))
            followed = follow(followers.hashes, followers.earlier, history) if followers else None
            cells = not (followers and followers.alone(policy, earlier))
            points = points_of(table, space)
            self._judge = (
                followed,
                Judge(history, points, required, followed, cells=cells),
            )
        return self._judge
