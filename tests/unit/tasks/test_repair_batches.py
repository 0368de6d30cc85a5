"""The repair makes the same groups however many it looks at at once; trees compare several sets at once."""

from __future__ import annotations

import numpy as np
import pytest
from test_persons import AGE, ILLNESS

from release_store.person_key import fingerprint_of, person_hash
from release_store.records import PersonHashes
from tasks.geometry.box_tree import BoxTree, pack_boxes
from tasks.geometry.space import Boxes
from tasks.recoding.generalize import generalized
from tasks.repair import merge
from tasks.repair.followers import Followers
from tasks.repair.merge import repair
from tasks.types import Partition
from tests.support.small import counts_of, prepared, small_policy

KEY = b"k" * 32
POLICY = small_policy(AGE, ILLNESS, roles={"key": "person"})


@pytest.mark.integration
def test_people_are_followed_alike_however_many_groups_are_looked_at_at_once() -> None:
    merged = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        illness = random.choice(["flu", "hiv", "cough"], 90)
        rows = [(f"p{i}", float(random.integers(20)), str(illness[i])) for i in range(90)]
        before, now = rows[:60], rows[20:]
        classes = generalized(prepared(POLICY, before), np.arange(60) // 4, POLICY)
        hashes = [person_hash(KEY, row[0]) for row in rows]
        people = PersonHashes(
            fingerprint_of(KEY, "person"), tuple(hashes[:60]), tuple((np.arange(60) // 4).tolist())
        )
        groups = Partition(random.permutation(np.arange(70) // 4))
        found = []
        for ahead, beside in ((256, 32), (1, 1), (8, 3)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(merge, "AHEAD", ahead)
                patch.setattr(merge, "BESIDE", beside)
                found.append(
                    repair(
                        prepared(POLICY, now),
                        groups,
                        POLICY,
                        [("r1", classes)],
                        max_group_size=9,
                        followers=Followers(hashes[20:], [people]),
                    )
                )
        assert found[0].labels.tolist() == found[1].labels.tolist() == found[2].labels.tolist()
        merged += counts_of(found[0]).merged
    assert merged > 12


def test_sets_that_stand_in_one_word_are_kept_apart() -> None:
    widths, random = (2, 5, 63, 64, 1, 30, 27, 4), np.random.default_rng(1)

    def boxes(n: int) -> Boxes:
        member = tuple(random.random((n, width)) < 0.5 + 0.4 / width for width in widths)
        nothing = np.zeros((n, 0))
        return Boxes(nothing, nothing, member, np.zeros((n, len(widths)), bool), (), np.zeros((n, 0), bool))

    one, other = boxes(40), boxes(300)
    overlap = np.all(
        [(mine[:, None] & theirs).any(axis=2) for mine, theirs in zip(one.member, other.member, strict=True)],
        axis=0,
    )
    found = [
        pair
        for line, place in BoxTree(pack_boxes(other)).pairs(pack_boxes(one))
        for pair in zip(line.tolist(), place.tolist(), strict=True)
    ]
    assert 0 < len(found) < overlap.size
    assert found == [(int(i), int(j)) for i, j in zip(*np.nonzero(overlap), strict=True)]
