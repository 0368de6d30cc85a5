"""Groups in which people keep their signatures over the releases, where people can be followed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from policy.model import ReleasePolicy
from tasks.history.placing import Cut
from tasks.history.sticky import sticky
from tasks.history.subjects import Unfit
from tasks.repair.followers import Followers
from tasks.repair.past import Earlier, past_of
from tasks.types import FloatArray, IntArray, Partition, PreparedTable, Progress


def staying(
    table: PreparedTable,
    partition: Partition,
    points: FloatArray,
    policy: ReleasePolicy,
    earlier: Earlier,
    followers: Followers,
    cut: Cut,
    enforce: Callable[[IntArray], IntArray],
    progress: Progress,
    revised: str | None = None,
) -> Partition:
    """Return groups in which people keep their signatures, or `partition` where none can be had.

    The notes say which, and why not. `points`, `cut` and `enforce` as for `sticky`; `revised` names the
    earlier release of the same period, if there is one.
    """
    try:
        past = past_of(table, policy, earlier, followers)
    except Unfit as reason:
        return replace(partition, notes={**partition.notes, "sticky": {"not_possible": str(reason)}})
    if past is None:
        return partition
    followed = [name for name, _ in earlier if name not in policy.gates.person.without]
    number = followed.index(revised) if revised in followed else None
    least, together = policy.privacy, policy.method.together
    found = sticky(past, table, points, least.l, least.k, cut, enforce, progress, number, together)
    if (found.labels < 0).all():
        nobody = {"not_possible": "nobody could be hidden"}
        return replace(partition, notes={**partition.notes, "sticky": nobody})
    notes = {**partition.notes, "sticky": found.notes}
    return replace(partition, labels=found.labels, notes=notes, seats=found.seats)
