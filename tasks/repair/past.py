"""Where everybody was in the earlier releases, in an order that does not follow from the key of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.history.questions import (
    known_attributes,
    lacking,
    questions_of,
    subjects_by,
    with_kept,
)
from tasks.history.signatures import NONE
from tasks.history.sticky import Past
from tasks.history.subjects import Rows, Unfit, periods_ago, rows_of
from tasks.preprocessing.prepare import column_texts
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
    if policy.rows != "one_per_person":
        return None
    releases, stable, may_change = known_attributes(policy, _releases(table, policy, earlier, followers))
    # Where an attribute was added people keep the signatures of before; the repair knows what it tells.
    added = [name for name in lacking(releases, stable) if name in policy.roles.sensitive]
    stable, may_change = [name for name in stable if name not in added], [*may_change, *added]
    if not stable:
        return None
    releases, beside = with_kept(policy, releases)
    return _past(table, releases, stable, policy, (), may_change, beside)


def pasts_of(
    table: PreparedTable,
    policy: ReleasePolicy,
    earlier: Earlier,
    followers: Followers,
    apart: Sequence[tuple[int, int]] | None = None,
) -> list[Past]:
    """Return the same for each question that the gate `worlds` asks: of what is stable, and of what changed.

    That is once more for each attribute that hardly ever changed, or whose numbers changed by one rule, and
    for each kept column. `apart` is how many periods each release lies before the table, least and most.
    Raises Unfit as `past_of` does.
    """
    if policy.rows != "one_per_person":
        return []
    rows = _releases(table, policy, earlier, followers, apart)
    releases, stable, may_change = known_attributes(policy, rows)
    found = [_past(table, releases, stable, policy, (), may_change)] if stable else []
    for one in questions_of(policy, releases, stable, may_change):
        counted, transient = [*stable, *one.stable], one.transient(may_change)
        found.append(_past(table, one.releases, counted, policy, one.changed, transient, one.beside))
    return found


def _releases(
    table: PreparedTable,
    policy: ReleasePolicy,
    earlier: Earlier,
    followers: Followers,
    apart: Sequence[tuple[int, int]] | None = None,
) -> list[Rows]:
    """Return the rows of the earlier releases, and of the table, whose records are in no class yet."""
    found = []
    for (name, classes), people, ago in zip(
        earlier, followers.earlier, periods_ago(apart, len(earlier)), strict=True
    ):
        if name in policy.gates.person.without:
            continue
        if people is None:
            raise Unfit("not everybody can be followed into every earlier release")
        found.append(replace(rows_of(followers.key, people, classes), ago=ago))
    kept = {name: column_texts(table.frame[name], policy.source.missing_label) for name in policy.roles.kept}
    sensitive = {name: table.sensitive_values[name] for name in table.sensitive_names}
    own = Rows(
        followers.hashes,
        np.zeros(table.n_records, dtype=np.int64),
        {**sensitive, **{name: texts for name, (_, texts) in kept.items()}},
        np.column_stack([table.sensitive.astype(np.int64), *(codes for codes, _ in kept.values())]),
        np.full((table.n_records, 2), NONE, dtype=np.int64),
        kept=tuple(policy.roles.kept),
        ago=0,
    )
    return [*found, own]


def _past(
    table: PreparedTable,
    releases: Sequence[Rows],
    stable: Sequence[str],
    policy: ReleasePolicy,
    changed: Sequence[str] = (),
    transient: Sequence[str] = (),
    beside: Sequence[str] = (),
) -> Past:
    subjects = subjects_by(policy, releases, stable, changed, transient, beside)
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
        subjects.bucket[order],
        place[subjects.rows[-1]],
        subjects.attributes,
        tuple(replace(each, value=each.value[order]) for each in subjects.transient),
    )
