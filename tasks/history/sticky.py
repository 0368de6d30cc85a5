"""Classes in which people keep their signatures, so that exact reasoning over all releases pins nobody.

Where classes are cut anew each period every cut is one more equation, and exact reasoning soon pins people.
Here everybody is given a signature once (`signatures`, `seating`), and every class of every release holds as
many people in one position of a signature as in another (`placing`). Signatures are of a few people near one
another, who stay together as far as that costs little. A newcomer of the same values takes the place of who
left, or somebody who would wait otherwise, or their counterpart waits.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from policy.text import number_of
from tasks.history.attribute import Attribute, least_values
from tasks.history.cohorts import ABSENT
from tasks.history.placing import Cut, placed
from tasks.history.revision import join_nearest, revision
from tasks.history.search import Limits
from tasks.history.seating import Joins, seated
from tasks.history.signatures import NONE, balanced, joined
from tasks.history.transient import Transient
from tasks.history.vacancies import Tuples
from tasks.history.variety import Records, merge_groups, swap_people
from tasks.history.worlds import distinct_values, short_of
from tasks.types import BoolArray, FloatArray, IntArray, Notes, PreparedTable, Progress

ROUNDS = 12
FEW = 0.02  # of the records; a revision with more who are left out, or join, has its classes cut anew
LIMITS = Limits(pairs=100_000)


@dataclass(frozen=True)
class Past:
    """Earlier releases as subjects see them, and who the records of the table are.

    `classes` (n, r): the class of each of n subjects in each of r earlier releases, or `ABSENT`; `value`
    (n,): the tuple of stable values of each, described by `attributes`; `seat` (n, 2) and `bucket` (n,): the
    signature and position of each, and the number it was given by, or -1, as of `Subjects`; `subject` (m,) of
    each record; `transient` attributes by release, the table last.
    """

    classes: IntArray
    value: IntArray
    seat: IntArray
    bucket: IntArray
    subject: IntArray
    attributes: tuple[Attribute, ...]
    transient: tuple[Transient, ...] = ()

    @property
    def known(self) -> BoolArray:
        """Tell which records are of subjects of an earlier release, (m,)."""
        return np.asarray((self.classes[self.subject] != ABSENT).any(axis=1))

    def seated(self, given: IntArray) -> IntArray:
        """Return the seat of each subject, (n, 2), after records were `given` others (m, 2), or -1."""
        seat = self.seat.copy()
        rows = given[:, 0] >= 0
        subject, bucket = self.subject[rows], given[rows, 0]
        n = 1 + max(int(self.bucket.max(initial=NONE)), int(bucket.max(initial=NONE)))
        signature = np.arange(n)
        held = self.seat[:, 0] >= 0
        signature[self.bucket[held]] = self.seat[held, 0]
        moved = held[subject]
        pairs = signature[bucket[moved]], self.seat[subject[moved], 0]
        seat[subject] = np.column_stack([signature[bucket], given[rows, 1]])
        of = seat[:, 0] >= 0
        seat[of, 0] = joined(*pairs, n)[seat[of, 0]]
        return seat


@dataclass(frozen=True)
class Sticky:
    """Labels (m,) and seats (m, 2) of the records, -1 for those who wait, and notes: counts of people."""

    labels: IntArray
    seats: IntArray
    notes: Notes


def sticky(
    past: Past,
    table: PreparedTable,
    points: FloatArray,
    enough: int,
    least_size: int,
    cut: Cut,
    enforce: Callable[[IntArray], IntArray],
    progress: Progress,
    revised: int | None = None,
    together: int = 2,
) -> Sticky:
    """Return groups in which exact reasoning leaves everybody `enough` values, where that can be had.

    `points` (m, d) are where records lie, `cut` groups one person of each bucket of under `least_size`
    people, `enforce` merges groups that break the model. Nothing that merges whole groups, or leaves whole
    groups out, takes possible values from anybody. `revised` is the earlier release, by number, that is
    released again: people stay in its classes. `together` is how many new buckets make a unit at least.
    """
    value, known = past.value[past.subject], past.known
    before = past.seat.copy()
    before[~balanced(past.classes, past.value, past.seat)] = NONE
    before[~_whole(past, before, enough)] = NONE
    signatures = _signatures(past.value, before)
    own = before[past.subject]
    held = before[:, 0] >= 0
    of = dict(zip(past.bucket[held].tolist(), before[held, 0].tolist(), strict=True))
    signatures = {bucket: signatures[one] for bucket, one in of.items()}
    joins = Joins(of, Counter(before[held, 0].tolist()))
    own[:, 0] = np.where(own[:, 0] >= 0, past.bucket[past.subject], NONE)
    progress(0.0, "signatures")
    own, signatures = _of_cohorts(past, own, signatures, enough, points, together)
    # Who was in an earlier release without a signature is given none that others in it did not have.
    may = ~known | (own[:, 0] >= 0)
    seat = np.full_like(own, NONE)
    # What the policy no longer has tells people apart, and newcomers have none of it to exchange.
    asked = tuple(each for each in past.attributes if each.published is None)
    found = (
        None
        if revised is None
        else _revised(past, own, known, signatures, revised, asked, enough, points, together)
    )
    if found is None:
        seat[may] = seated(value[may], own[may], signatures, asked, enough, points[may], joins, together)
        pools = _pools(value, seat, own)
        last = past.classes[past.subject, -1] if past.classes.shape[1] else np.full(len(value), ABSENT)
        labels, seat = placed(table, seat, pools, last, points, least_size, cut, progress)
    else:
        labels, seat = found
    for change in (swap_people, merge_groups):
        for each in past.transient:
            row_value = each.value[past.subject, -1]
            labels = change(Records(seat, value, row_value, each.attribute, enough, points), labels)
        labels = enforce(labels)
    labels, n_short = _hide(past, labels, seat, enough, enforce, progress)
    out = labels < 0
    notes = {
        "signatures": len(np.unique(seat[~out, 0])),
        "stay": int((known & ~out).sum()),
        "left_out": int((known & out).sum()),
        "wait": int((~known & out).sum()),
        "short": n_short,
    }
    numbered = np.full(len(labels), -1, dtype=np.int64)
    numbered[~out] = np.unique(labels[~out], return_inverse=True)[1]
    return Sticky(numbered, np.where(out[:, None], NONE, seat), notes)


def _revised(
    past: Past,
    own: IntArray,
    known: BoolArray,
    signatures: dict[int, Tuples],
    release: int,
    attributes: tuple[Attribute, ...],
    enough: int,
    points: FloatArray,
    together: int,
) -> tuple[IntArray, IntArray] | None:
    """Return labels and seats of a table that replaces an earlier release; None where much changed.

    That is where more than a few of the records are left out, or join the classes of before.
    """
    n_positions = np.zeros(max(signatures, default=NONE) + 1, dtype=np.int64)
    for number, tuples in signatures.items():
        n_positions[number] = len(tuples)
    before, value = past.classes[past.subject, release], past.value[past.subject]
    labels = revision(before, own, n_positions)
    stay = labels >= 0
    seat = np.where((stay | (before == ABSENT))[:, None], own, NONE)
    seat[~known] = seated(
        value[~known],
        own[~known],
        signatures,
        attributes,
        enough,
        points[~known],
        Joins(),
        together,
    )
    join_nearest(labels, seat, points)
    seat[labels < 0] = NONE
    n_changed = int((known & (labels < 0)).sum()) + int((~stay & (labels >= 0)).sum())
    return None if n_changed > FEW * len(labels) else (labels, seat)


def _whole(past: Past, seat: IntArray, enough: int) -> BoolArray:
    """Tell whose signature has somebody of each position, and enough values."""
    held = seat[:, 0] >= 0
    asked = tuple(each for each in past.attributes if each.published is None)
    seats, first = np.unique(seat[held], axis=0, return_index=True)
    tuples = past.value[held][first]
    starts = np.flatnonzero(np.diff(seats[:, 0], prepend=NONE))
    whole = [
        int(seats[start, 0])
        for start, end in itertools.pairwise([*starts.tolist(), len(seats)])
        if np.array_equal(seats[start:end, 1], np.arange(end - start))
        and (distinct_values(tuples[start:end], asked) >= least_values(asked, enough)).all()
    ]
    return held & np.isin(seat[:, 0], whole)


def _signatures(value: IntArray, seat: IntArray) -> dict[int, Tuples]:
    """Return the tuples of the positions of each signature that somebody has."""
    rows = np.flatnonzero(seat[:, 0] >= 0)
    seats, first = np.unique(seat[rows], axis=0, return_index=True)
    tuples = value[rows][first]
    start = np.flatnonzero(np.diff(seats[:, 0], prepend=NONE))
    parts = np.split(tuples, start[1:])
    return {int(seats[at, 0]): tuple(part.tolist()) for at, part in zip(start, parts, strict=False)}


def _of_cohorts(
    past: Past, own: IntArray, signatures: dict[int, Tuples], enough: int, points: FloatArray, together: int
) -> tuple[IntArray, dict[int, Tuples]]:
    """Give signatures to people of earlier releases who have none, among those of the same classes in all."""
    rows = np.flatnonzero(past.known & (own[:, 0] < 0))
    if not len(rows):
        return own, signatures
    own, signatures = own.copy(), dict(signatures)
    value = past.value[past.subject]
    cohort = np.unique(past.classes[past.subject[rows]], axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(cohort, kind="stable")
    for mates in np.split(rows[order], np.flatnonzero(np.diff(cohort[order])) + 1):
        seats = seated(
            value[mates],
            own[mates],
            signatures,
            past.attributes,
            enough,
            points[mates],
            Joins(),
            together,
        )
        own[mates] = seats
        signatures |= _signatures(value[mates], seats)
    return own, signatures


def _pools(value: IntArray, seat: IntArray, own: IntArray) -> IntArray:
    """Number those who may take one another's seats: newcomers of the same tuple, others of the same seat."""
    kept = (own[:, 0] >= 0)[:, None]
    marks = np.column_stack([np.where(kept, seat, NONE), np.where(kept[:, 0], NONE, value)])
    return np.unique(marks, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _hide(
    past: Past,
    labels: IntArray,
    seat: IntArray,
    enough: int,
    enforce: Callable[[IntArray], IntArray],
    progress: Progress,
) -> tuple[IntArray, int]:
    """Leave out who can be told from others, or hides who left; return labels, and how many are still short.

    Where all have had signatures from the first release on there is nobody. Where a series began without,
    who left it since is hidden by another of the same classes who is left out too, with a bucket.
    """
    record = np.full(len(past.value), -1, dtype=np.int64)
    record[past.subject] = np.arange(len(past.subject))
    before = -1
    for _ in range(ROUNDS):
        now = np.full(len(past.value), ABSENT, dtype=np.int64)
        now[past.subject] = labels
        classes = np.column_stack([past.classes, now])
        there = (classes != ABSENT).any(axis=1)
        short = np.zeros(len(there), dtype=bool)
        short[there] = short_of(
            classes[there], past.value[there], past.attributes, enough, LIMITS, past.seated(seat)[there]
        )
        n_short = int(short.sum())
        progress(1.0, f"{number_of(n_short, 'person is', 'people are')} not hidden among others")
        if not n_short or n_short == before:
            return labels, n_short
        before = n_short
        here = short & (now != ABSENT)
        leave = np.union1d(record[here], _mates(past, record, now, np.flatnonzero(short & ~here)))
        if not len(leave):
            return labels, n_short
        labels = enforce(_without(labels, seat, leave))
    return labels, before


def _mates(past: Past, record: IntArray, now: IntArray, gone: IntArray) -> IntArray:
    """Return for each subject who is gone the record of another of the same classes and other values."""
    cohort = np.unique(past.classes, axis=0, return_inverse=True)[1].reshape(-1)
    chosen: list[int] = []
    for subject in gone.tolist():
        mates = np.flatnonzero((cohort == cohort[subject]) & (now != ABSENT))
        for each in past.attributes:
            mates = mates[each.apart(past.value[mates], int(past.value[subject]))]
        free = [mate for mate in record[mates].tolist() if mate not in chosen]
        chosen += free[:1]
    return np.array(chosen, dtype=np.int64)


def _without(labels: IntArray, seat: IntArray, leave: IntArray) -> IntArray:
    """Return labels without the records to `leave`, and without one of each other position beside them."""
    labels = labels.copy()
    for row in leave[labels[leave] >= 0].tolist():
        group, (signature, position) = labels[row], seat[row].tolist()
        labels[row] = -1
        if signature < 0:
            continue
        mates = np.flatnonzero((labels == group) & (seat[:, 0] == signature) & (seat[:, 1] != position))
        labels[mates[np.unique(seat[mates, 1], return_index=True)[1]]] = -1
    return labels
