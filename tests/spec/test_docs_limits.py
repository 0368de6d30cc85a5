"""What docs/gates.md says is not covered is indeed let through, and the harm is what it says."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np

from policy.load import parse_policy
from release_store.records import EquivalenceClasses, SetCells
from tasks.geometry.space import Points, boxes_of, space_of
from tasks.history.intersection import Comparison, allowed_values, history_of, pairwise, whole_history
from tasks.history.required import Required
from tests.spec import docs_pages

PAGE = docs_pages.ROOT / "docs" / "gates.md"
CLASS = re.compile(r"\{([\d,]+)\}:\s+\{([a-z, ]+)\}")
Classes = list[tuple[list[int], list[str]]]


def _releases() -> list[Classes]:
    """Return the releases of the page's example: its classes two by two."""
    (item,) = (
        text
        for text in PAGE.read_text("utf-8").split("\n- ")
        if text.startswith("**Possible worlds without a key.**")
    )
    found = [
        ([int(p) for p in people.split(",")], values.split(", ")) for people, values in CLASS.findall(item)
    ]
    assert len(found) == 6
    return [found[0:2], found[2:4], found[4:6]]


def _published(release: Classes) -> EquivalenceClasses:
    everybody, values = tuple("01234"), ("a", "c")
    member = np.array([[int(person) in people for person in everybody] for people, _ in release])
    counts = np.array([[own.count(value) for value in values] for _, own in release])
    cells = SetCells(everybody, member, np.zeros(len(release), dtype=bool))
    return EquivalenceClasses(
        counts.sum(axis=1), {}, {"person": cells}, {"illness": values}, {"illness": counts}
    )


def _judged(releases: list[EquivalenceClasses]) -> tuple[Comparison, Comparison]:
    policy = parse_policy(
        "series: s\nroles:\n  quasi_identifiers: {person: {type: categorical}}\n"
        "  sensitive: {illness: {stability: stable}}\n",
        Path("p.yaml"),
    )
    space = space_of(releases)
    people = np.array([[space.domains["person"].index(p)] for p in "01234"], dtype=np.int32)
    points = Points(np.zeros((5, 0)), people, np.arange(5))
    history = history_of([(f"r{i}", one) for i, one in enumerate(releases[:-1])], space, policy)
    assert history is not None
    boxes = boxes_of(releases[-1], space)
    (pairs,) = pairwise(boxes, history, space, {"illness": Required(2)})
    (together,) = whole_history(
        boxes, points, allowed_values(points, history, [0]), space, {"illness": Required(2)}
    )
    return pairs, together


def test_the_releases_of_the_page_pass_and_fit_a_single_world() -> None:
    releases = _releases()
    for last in (2, 3):
        pairs, together = _judged([_published(one) for one in releases[:last]])
        assert (pairs.failed, together.failed) == (0, 0)
        assert pairs.compared > 0
        assert together.compared > 0
    worlds = [
        world
        for world in itertools.product("ac", repeat=5)
        if all(
            sorted(world[p] for p in people) == values for release in releases for people, values in release
        )
    ]
    assert len(worlds) == 1


def test_the_newcomer_of_a_growing_class_is_not_seen() -> None:
    assert "{flu, flu, hiv} beside {flu, flu, hiv, hiv}" in " ".join(PAGE.read_text("utf-8").split())
    before = _published([([0, 1, 2], ["a", "a", "c"])])
    after = _published([([0, 1, 2, 3], ["a", "a", "c", "c"])])
    pairs, together = _judged([before, after])
    assert (pairs.compared, pairs.failed, together.failed) == (1, 0, 0)
