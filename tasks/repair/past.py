"""Where everybody was in the earlier releases, in an order that does not follow from the key of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, PersonHashes
from tasks.history.signatures import NONE
from tasks.history.sticky import Past
from tasks.history.subjects import Rows, Unfit, rows_of, subjects_of
from tasks.repair.followers import Followers
from tasks.types import PreparedTable

Earlier = Sequence[tuple[str, EquivalenceClasses]]


def past_of(
    table: PreparedTable, policy: ReleasePolicy, earlier: Earlier, followers: Followers
) -> Past | None:
    """Return where the people of the earlier releases and of the table were, by the stable attributes.

    None without a stable attribute, and where a person may have several rows. Raises Unfit where people
    cannot be followed into a release, or its values are not at hand.
    """
    stable = [name for name, each in policy.roles.sensitive.items() if each.stability == "stable"]
    if not stable or policy.rows != "one_per_person":
        return None
    chosen = [
        (classes, people)
        for (name, classes), people in zip(earlier, followers.earlier, strict=True)
        if name not in policy.gates.person.without
    ]
    return _past(table, chosen, followers, {name: policy.roles.sensitive[name].width for name in stable})


def _past(
    table: PreparedTable,
    earlier: Sequence[tuple[EquivalenceClasses, PersonHashes | None]],
    followers: Followers,
    widths: Mapping[str, float],
) -> Past:
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
