"""The Merkle tree against RFC 9162's own definitions, written out as they stand there."""

from __future__ import annotations

import hashlib
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import StoreError
from release_store.audit.merkle import (
    MerkleTree,
    consistency_holds,
    inclusion_holds,
    leaf_hash,
    log_tree,
    node_hash,
)

ENTRIES = [bytes([number]) * number for number in range(1, 34)]
LEAVES = [leaf_hash(entry) for entry in ENTRIES]
TREE = MerkleTree(LEAVES)
sizes = st.integers(1, len(LEAVES))


def split(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def mth(d: list[bytes]) -> bytes:
    """MTH, section 2.1.1."""
    if not d:
        return hashlib.sha256().digest()
    if len(d) == 1:
        return hashlib.sha256(b"\x00" + d[0]).digest()
    k = split(len(d))
    return hashlib.sha256(b"\x01" + mth(d[:k]) + mth(d[k:])).digest()


def path(m: int, d: list[bytes]) -> list[bytes]:
    """PATH, section 2.1.3.1."""
    if len(d) == 1:
        return []
    k = split(len(d))
    if m < k:
        return [*path(m, d[:k]), mth(d[k:])]
    return [*path(m - k, d[k:]), mth(d[:k])]


def subproof(m: int, d: list[bytes], complete: bool) -> list[bytes]:
    """SUBPROOF, section 2.1.4.1."""
    if m == len(d):
        return [] if complete else [mth(d)]
    k = split(len(d))
    if m <= k:
        return [*subproof(m, d[:k], complete), mth(d[k:])]
    return [*subproof(m - k, d[k:], False), mth(d[:k])]


def test_no_events_have_the_hash_of_nothing_and_one_has_its_own() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert MerkleTree([]).root(0).hex() == TREE.root(0).hex() == empty
    assert TREE.root(1) == leaf_hash(ENTRIES[0]) == hashlib.sha256(b"\x00\x01").digest()


def test_the_tree_of_seven_leaves_that_the_rfc_draws() -> None:
    """Section 2.1.5: a..g, h = ab, i = cd, j = ef, k = hi, l = jg, and the earlier trees of 3, 4 and 6."""
    a, b, c, d, e, f, g = LEAVES[:7]
    h, i, j = node_hash(a, b), node_hash(c, d), node_hash(e, f)
    k, last = node_hash(h, i), node_hash(j, g)
    assert TREE.root(7) == node_hash(k, last)
    assert TREE.inclusion_proof(0, 7) == [b, h_of(c, d), last]
    assert TREE.inclusion_proof(3, 7) == [c, h, last]
    assert TREE.inclusion_proof(4, 7) == [f, g, k]
    assert TREE.inclusion_proof(6, 7) == [j, k]
    assert TREE.consistency_proof(3, 7) == [c, d, h, last]
    assert TREE.consistency_proof(4, 7) == [last]
    assert TREE.consistency_proof(6, 7) == [j, g, k]


def h_of(left: bytes, right: bytes) -> bytes:
    return node_hash(left, right)


@given(size=sizes, data=st.data())
def test_roots_and_proofs_are_those_of_the_definitions(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    first = data.draw(st.integers(1, size))
    assert TREE.root(size) == mth(ENTRIES[:size]) == MerkleTree(LEAVES[:size]).root(size)
    assert TREE.inclusion_proof(index, size) == path(index, ENTRIES[:size])
    assert TREE.consistency_proof(first, size) == subproof(first, ENTRIES[:size], True)


@pytest.mark.parametrize("size", range(1, len(LEAVES) + 1))
def test_every_leaf_is_proven_at_its_place_and_at_no_other(size: int) -> None:
    root = TREE.root(size)
    for index in range(size):
        proof = TREE.inclusion_proof(index, size)
        assert inclusion_holds(LEAVES[index], index, size, proof, root)
        for other in range(-1, size + 1):
            assert inclusion_holds(LEAVES[index], other, size, proof, root) == (other == index)
        assert not inclusion_holds(LEAVES[(index + 1) % len(LEAVES)], index, size, proof, root)
        assert not inclusion_holds(LEAVES[index], index, size, proof, TREE.root(size - 1))


@pytest.mark.parametrize("second", range(1, len(LEAVES) + 1))
def test_every_tree_is_proven_to_begin_with_every_earlier_one_and_with_no_other(second: int) -> None:
    for first in range(1, second + 1):
        proof = TREE.consistency_proof(first, second)
        roots = TREE.root(first), TREE.root(second)
        assert consistency_holds(first, roots[0], second, roots[1], proof)
        strange = leaf_hash(b"strange")
        assert not consistency_holds(first, strange, second, roots[1], proof)
        assert not consistency_holds(first, roots[0], second, strange, proof)
        for size in {first - 1, first + 1} - {second}:
            assert not consistency_holds(size, roots[0], second, roots[1], proof)
    assert not consistency_holds(second, roots[1], second - 1, roots[0], [])
    assert not consistency_holds(0, TREE.root(0), second, TREE.root(second), [])


@given(size=st.integers(2, len(LEAVES)), data=st.data())
def test_a_proof_that_was_altered_proves_nothing(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    first = data.draw(st.integers(1, size - 1))

    def altered(proof: list[bytes]) -> list[bytes]:
        at = data.draw(st.integers(0, len(proof) - 1))
        bit = data.draw(st.integers(0, 255))
        flipped = bytearray(proof[at])
        flipped[bit // 8] ^= 1 << bit % 8
        kinds = [
            [*proof[:at], bytes(flipped), *proof[at + 1 :]],
            [*proof[:at], *proof[at + 1 :]],
            [*proof, proof[at]],
            [proof[at], *proof],
        ]
        return data.draw(st.sampled_from(kinds))

    assert not inclusion_holds(
        LEAVES[index], index, size, altered(TREE.inclusion_proof(index, size)), TREE.root(size)
    )
    proof = altered(TREE.consistency_proof(first, size))
    assert not consistency_holds(first, TREE.root(first), size, TREE.root(size), proof)


@given(st.lists(st.binary(max_size=3), min_size=1, max_size=20), st.data())
def test_a_log_that_differs_anywhere_has_another_root(entries: list[bytes], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(entries) - 1))
    other = [*entries[:at], entries[at] + b"x", *entries[at + 1 :]]
    roots = [MerkleTree(map(leaf_hash, one)).root(len(entries)) for one in (entries, other)]
    assert roots[0] != roots[1]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: TREE.root(len(LEAVES) + 1),
        lambda: TREE.root(-1),
        lambda: TREE.inclusion_proof(3, 3),
        lambda: TREE.inclusion_proof(-1, 3),
        lambda: TREE.inclusion_proof(0, len(LEAVES) + 1),
        lambda: TREE.consistency_proof(0, 3),
        lambda: TREE.consistency_proof(4, 3),
        lambda: TREE.consistency_proof(3, len(LEAVES) + 1),
    ],
)
def test_what_lies_beyond_the_leaves_is_refused(ask) -> None:
    with pytest.raises(IndexError, match="33 leaves"):
        ask()


def test_an_event_s_entry_is_the_bytes_of_its_hash() -> None:
    hashes = ["00" * 32, "ab" * 32]
    by_hand = node_hash(leaf_hash(bytes(32)), leaf_hash(b"\xab" * 32))
    assert log_tree(hashes).root(2) == by_hand
    with pytest.raises(StoreError, match="hexadecimal"):
        log_tree(["no hash"])


def roots_of_many(n: int) -> tuple[float, float]:
    """Build a tree, look at every hundredth root, and return the CPU seconds of both."""
    hashes = [hashlib.sha256(number.to_bytes(4)).hexdigest() for number in range(n)]
    start = time.process_time()
    tree = log_tree(hashes)
    built = time.process_time()
    roots = [tree.root(size) for size in range(100, n + 1, 100)]
    proof = tree.consistency_proof(100, n)
    told = time.process_time()
    assert all(one != other for one, other in pairwise(roots))
    assert consistency_holds(100, roots[0], n, roots[-1], proof)
    return built - start, told - built


def test_every_root_of_many_events_is_another_and_goes_on_from_the_first() -> None:
    roots_of_many(20_000)


@pytest.mark.nightly
def test_a_million_events_take_seconds_and_then_every_root_takes_none() -> None:
    built, told = roots_of_many(1_000_000)
    assert built < 10
    assert told < 5
