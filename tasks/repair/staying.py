"""Groups in which people keep their signatures over the releases, where people can be followed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, PersonHashes
from tasks.history.placing import Cut
from tasks.history.signatures import NONE
from tasks.history.sticky import Past, sticky
from tasks.history.subjects import Rows, Unfit, rows_of, subjects_of
from tasks.repair.followers import Followers
from tasks.types import FloatArray, IntArray, Partition, PreparedTable, Progress

Earlier = Sequence[tuple[str, EquivalenceClasses]]


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
) -> Partition:
    """Return groups in which people keep their signatures, or `partition` where none can be had.

    The notes say which, and why not. `points`, `cut` and `enforce` as for `sticky`.
    """
    stable = [name for name, each in policy.roles.sensitive.items() if each.stability == "stable"]
    chosen = [
        (classes, people)
        for (name, classes), people in zip(earlier, followers.earlier, strict=True)
        if name not in policy.gates.person.without
    ]
    if not stable or policy.rows != "one_per_person":
        return partition
    try:
        past = _past(table, chosen, followers, {name: policy.roles.sensitive[name].width for name in stable})
    except Unfit as reason:
        return replace(partition, notes={**partition.notes, "sticky": {"not_possible": str(reason)}})
    found = sticky(past, table, points, policy.privacy.l, policy.privacy.k, cut, enforce, progress)
    if (found.labels < 0).all():
        nobody = {"not_possible": "nobody could be hidden"}
        return replace(partition, notes={**partition.notes, "sticky": nobody})
    return Partition(found.labels, {**partition.notes, "sticky": found.notes}, found.seats)


def _past(
    table: PreparedTable,
    earlier: Sequence[tuple[EquivalenceClasses, PersonHashes | None]],
    followers: Followers,
    widths: Mapping[str, float],
) -> Past:
    """Return where everybody was, by the stable attributes and their `widths`.

    Raises Unfit where the values of some release are not at hand.
    """
    stable = list(widths)
    found = []
    for classes, people in earlier:
        if people is None:
            raise Unfit("people cannot be followed into every earlier release")
        found.append(rows_of(followers.key, people, classes, stable))
    columns = [list(table.sensitive_names).index(name) for name in stable]
    own = Rows(
        followers.hashes,
        np.zeros(table.n_records, dtype=np.int64),
        {name: table.sensitive_values[name] for name in stable},
        table.sensitive[:, columns].astype(np.int64),
        np.full((table.n_records, 2), NONE, dtype=np.int64),
    )
    subjects = subjects_of([*found, own], stable, widths)
    # In an order that does not follow from the key, so that another key gives the same classes.
    record = np.full(len(subjects.value), table.n_records, dtype=np.int64)
    record[subjects.rows[-1]] = np.arange(table.n_records)
    before = subjects.classes[:, :-1]
    order = np.lexsort((record, subjects.value, *before.T))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Past(
        before[order],
        subjects.value[order],
        subjects.seat[order],
        place[subjects.rows[-1]],
        subjects.attributes,
    )
