"""What cells tell for certain: by hand, and against who knows how cells come about and tries everything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from policy.roles import NumericQuasiIdentifier
from tasks.methods.registry import bound_method
from tasks.recoding.intervals import covering_intervals
from tasks.reporting import table as table_module
from tasks.reporting.certain import classes_of, of_sets
from tasks.reporting.table import table_figures
from tasks.reporting.value_bins import cells_of
from tasks.types import no_progress
from tests.support.small import prepared, small_policy

AGE = {"type": "integer", "bounds": [0, 120]}
CITIES = {"ward": {"type": "categorical"}, "city": {"type": "categorical"}}
AGES = {"ward": {"type": "categorical"}, "age": AGE}


@pytest.fixture(scope="module", autouse=True)
def exact() -> Iterator[None]:
    """Counts are told as they are here, not as multiples of k: the rule is to hold without that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_module, "rounded", lambda counts, _: counts)
        yield


def before(policy: ReleasePolicy, rows: list[Any], labels: list[int], name: str) -> dict[str, int | None]:
    """The counts of one attribute that the document tells, None where it does not."""
    table, method = prepared(policy, rows), bound_method(policy)
    representation = method.represent(table, no_progress)
    made = method.recode(table, representation, np.array(labels), policy, method.seed)
    found = table_figures(table, made, representation, np.array(labels), policy)
    (one,) = [each for each in found["attributes"] if each["name"] == name]
    return {each["label"]: each["before"] for each in one["bins"]}


def of(qis: dict[str, Any], k: int, recoding: str = "sets") -> ReleasePolicy:
    return small_policy(qis, privacy={"k": k}, method={"name": "mondrian", "recoding": recoding})


def wards(classes: list[list[Any]]) -> tuple[list[Any], list[int]]:
    """Rows of classes that differ by their ward and have the given values, and their labels."""
    rows = [(f"w{i:02}", value, "flu") for i, values in enumerate(classes) for value in values]
    return rows, [i for i, values in enumerate(classes) for _ in values]


OLD = [[40, *[60] * 6, 104]] * 30
OLDEST = [*[100] * 10, *[104] * 10]  # with them more are expected there than where nobody is


def test_the_oldest_of_each_class_is_no_count_of_its_own() -> None:
    # 32 people in classes that end at 104: one of each, and two. These two are not told.
    two_more = [[40, *[60] * 5, 102, 104]] * 2
    assert before(of(AGES, 8), *wards([*OLD[2:], *two_more, OLDEST]), "age")["100 to 104"] is None
    eight_more = [[40, *[60] * 5, 102, 104]] * 8
    found = before(of(AGES, 8), *wards([*OLD[8:], *eight_more, OLDEST]), "age")
    assert found["100 to 104"] == 38 + len(OLDEST)


def test_the_youngest_of_each_class_is_none_either() -> None:
    young = [[3, *[60] * 6, 103]] * 28 + [[3, 4, *[60] * 5, 103]] * 2
    assert before(of(AGES, 8), *wards(young), "age")["0 to 9"] is None


ELY = ["Ely"] * 9  # without it, Hull and York were all values, and so a star


def test_each_value_of_a_set_is_somebody_s() -> None:
    two_more = [["Hull"] * 5 + ["York"]] * 20 + [["Hull"] * 4 + ["York"] * 2] * 2
    found = before(of(CITIES, 5), *wards([*two_more, ELY]), "city")
    assert found == {"Hull": None, "York": None, "Ely": 9}
    five_more = [["Hull"] * 5 + ["York"]] * 20 + [["Hull"] * 4 + ["York"] * 2] * 5
    found = before(of(CITIES, 5), *wards([*five_more, ELY]), "city")
    assert found == {"Hull": 120, "York": 30, "Ely": 9}


def test_where_each_value_is_one_person_s_nobody_is_left_to_count() -> None:
    found = before(of(CITIES, 3), *wards([*[["Bath", "Hull", "York"]] * 4, ELY]), "city")
    assert found == {"Ely": 9, "Bath": 4, "Hull": 4, "York": 4}


def test_a_star_is_all_values_and_others_together_are_one_each() -> None:
    names = [f"v{i:02}" for i in range(24)]
    rows, labels = wards([[*names, *names[:20]], [*names, *names[:20]], ["v23"] * 9])
    policy = of(CITIES, 5)
    table, method = prepared(policy, rows), bound_method(policy)
    representation = method.represent(table, no_progress)
    frame = method.recode(table, representation, np.array(labels), policy, 0).frame
    assert set(frame["city"]) == {"*", "v23"}
    cells = cells_of(frame["city"])
    assert cells.names == ("v23",)
    classes = classes_of(frame, policy)
    assert classes.rows.tolist() == [44, 44, 9]
    member = np.array([[True, True], [True, False]])  # the star, v23; bins v23 and others
    order = frame.index.to_numpy()
    codes = table.codes[method.recode(table, representation, np.array(labels), policy, 0).records[order], 1]
    place = np.array([1] * 23 + [0])
    plain, firm = of_sets(cells, member, classes, codes.astype(np.int64), place, np.zeros(2), closed=False)
    assert plain.certain.tolist() == [9, 0]
    assert firm.certain.tolist() == [9 + 2, 2 * 23]


def test_classes_with_equal_cells_here_and_others_elsewhere_are_many() -> None:
    rows, labels = wards([*[["Hull"] * 5 + ["York"]] * 7, ELY])
    assert before(of(CITIES, 5), rows, labels, "city") == {"Hull": None, "York": None, "Ely": 9}
    # In one ward they are one class of 42, in which 6 of York are free.
    one_ward = [("w", *row[1:]) for row in rows]
    assert before(of(CITIES, 5), one_ward, labels, "city") == {"Hull": 35, "York": 7, "Ely": 9}


def test_one_missing_number_does_not_lift_the_rule() -> None:
    two_more = wards([*OLD[2:], *[[40, *[60] * 5, 102, 104]] * 2, [*[60] * 8, None]])
    assert before(of(AGES, 8), *two_more, "age")["100 to 104"] is None
    # 100 of 20, and 5 of 20 to 25: 103 would say that three of these are under 25.
    inside = [[20] * 100, [20, 20, 20, 25, 25], [40] * 60, [100] * 120, [*[60] * 8, None]]
    found = before(of(AGES, 5), *wards(inside), "age")
    assert found["20 to 24"] is None
    assert found["40 to 44"] is None  # who may be the one whose age is missing is expected to be as few
    assert found["100 to 104"] == 120


def test_many_missing_numbers_leave_the_others_told() -> None:
    classes = [[20] * 40 + [None] * 10, [50] * 40 + [None] * 10]
    found = before(of(AGES, 5), *wards(classes), "age")
    assert {label: n for label, n in found.items() if n} == {"20 to 21": 40, "50 to 51": 40}


def test_nobody_s_number_known_is_nobody_s_end() -> None:
    classes = [[None] * 6] * 10 + [[*[60] * 6, 119]] * 6
    found = before(of(AGES, 5), *wards(classes), "age")
    # The cells of the first are the bounds, which nobody attains; six of 119 are all at an end.
    assert found["110 to 119"] is None


CITY_LEVELS = {"North": ["Hull", "York"], "South": ["Bath", "Ely"]}


@pytest.mark.parametrize("recoding", ["hierarchy", "adaptive"])
def test_a_node_of_two_has_somebody_of_both(recoding: str) -> None:
    qis = {**CITIES, "city": {"type": "categorical", "hierarchy": CITY_LEVELS}}
    two_more = [["Hull"] * 5 + ["York"]] * 20 + [["Hull"] * 4 + ["York"] * 2] * 2
    found = before(of(qis, 5, recoding), *wards([*two_more, ELY]), "city")
    assert (found["Hull"], found["York"]) == (None, None)
    five_more = [["Hull"] * 5 + ["York"]] * 20 + [["Hull"] * 4 + ["York"] * 2] * 5
    found = before(of(qis, 5, recoding), *wards([*five_more, ["Ely"] * 12]), "city")
    assert found["York"] == 30


@pytest.mark.parametrize("recoding", ["hierarchy", "sets"])
def test_an_interval_of_a_hierarchy_has_somebody_in_both_halves(recoding: str) -> None:
    qis = {**AGES, "age": {**AGE, "widths": [10, 20, 40]}}
    halves = [[21, *[25] * 6, 31]] * 28 + [[21, *[25] * 5, 31, 31]] * 2 + [[100] * 20, [0] * 20]
    found = before(of(qis, 8, recoding), *wards(halves), "age")
    assert [found[label] for label in found if label.startswith("30 ")] == [None]


@pytest.mark.parametrize("recoding", ["median", "centroid"])
def test_what_stands_for_a_class_is_somebody_s(recoding: str) -> None:
    # In each class four of six are of Hull, as is published; two of 40 wards have one more of York.
    classes = [["Hull"] * 4 + ["York"] * 2] * 20
    found = before(of(CITIES, 5, recoding), *wards(classes), "city")
    assert found["York" if "York" in found else "other values"] == 40
    few = [["Hull"] + ["York"] * 2] * 2 + [["York"] * 3] * 20
    found = before(of(CITIES, 3, recoding), *wards(few), "city")
    assert found["York"] is None or found["York"] >= 3


# Against whoever tries everything: all tables from which the same cells come.


CLOSED = {"widths": [20, 40]}  # two bins and four
SPLITS = 20  # among classes, of one table's counts: what is told of two may differ


def ways(named: tuple[int, ...], rows: int, bins: range, how: str) -> list[tuple[int, ...]]:
    """All counts of a class that come to the cell of those that it names."""
    every = [way for way in product(range(rows + 1), repeat=len(bins)) if sum(way) == rows]
    if how == "hierarchy":
        return [way for way in every if _closed([b for b, n in enumerate(way) if n]) == _closed(named)]
    ends = how == "ends"
    must = (named[0], named[-1]) if ends else named
    may = set(range(named[0], named[-1] + 1)) if ends else set(named)
    return [
        way
        for way in every
        if all(way[b] for b in must) and all(not n or b in may for b, n in enumerate(way))
    ]


def _closed(bins: Sequence[int]) -> tuple[float, ...]:
    qi = NumericQuasiIdentifier(type="integer", bounds=(0, 120), widths=(20, 40))
    return tuple(covering_intervals(np.array([[10.0 * min(bins), 10.0 * max(bins)]]), qi)[0].tolist())


@st.composite
def releases(draw: st.DrawFn, how: str) -> tuple[int, list[tuple[int, ...]]]:
    """k, and how many people of each bin each class has."""
    k, n_bins = draw(st.integers(2, 3)), draw(st.integers(2, 4 if how == "hierarchy" else 3))
    classes = []
    for _ in range(draw(st.integers(1, 4))):
        named = draw(st.sets(st.integers(0, n_bins - 1), min_size=1).map(sorted))
        rows = draw(st.integers(max(k, len(named)), max(k, len(named)) + 2))
        classes.append(draw(st.sampled_from(ways(tuple(named), rows, range(n_bins), how))))
    return k, classes


def attacked(k: int, classes: list[tuple[int, ...]], how: str) -> None:
    n_bins, ends = len(classes[0]), how != "values"
    values: list[Any] = [10 * b for b in range(n_bins)] if ends else [f"c{b}" for b in range(n_bins)]
    policy, beyond = of(AGES if ends else CITIES, k), [115 if ends else "Ely"] * 2 * k
    if how == "hierarchy":
        policy = of({**AGES, "age": {**AGE, **CLOSED}}, k, how)

    @cache
    def said(world: tuple[tuple[int, ...], ...]) -> dict[str, int | None]:
        people = [[v for v, n in zip(values, counts, strict=True) for _ in range(n)] for counts in world]
        return before(policy, *wards([*people, beyond]), "age" if ends else "city")

    own = said(tuple(classes))
    told = [own.get(label) for label in _labels(own, values, ends=ends)]
    worlds: dict[tuple[int, ...], list[tuple[tuple[int, ...], ...]]] = {(0,) * n_bins: [()]}
    for counts in classes:
        named = tuple(b for b, n in enumerate(counts) if n)
        each = ways(named, sum(counts), range(n_bins), how)
        before_it, worlds = worlds, defaultdict(list)
        for (world, splits), way in product(before_it.items(), each):
            together = worlds[tuple(a + b for a, b in zip(world, way, strict=True))]
            together += [(*split, way) for split in splits[: SPLITS - len(together)]]
    true = [sum(counts) for counts in zip(*classes, strict=True)]
    written = table_module.rounded(np.array(true), k).tolist()
    assert all(n is None or n == t for n, t in zip(told, written, strict=True))
    lowest, highest = ([f(world[b] for world in worlds) for b in range(n_bins)] for f in (min, max))
    for b, n in enumerate(told):
        # What is told beyond what the cells tell is k people or more.
        assert n is None or lowest[b] == highest[b] or true[b] - lowest[b] >= k
    at_limit = any(n is not None and n == highest[b] != lowest[b] for b, n in enumerate(told))
    hidden = [b for b, n in enumerate(told) if n is None]
    for chosen in chain.from_iterable(combinations(hidden, n + 1) for n in range(len(hidden))):
        least, most = (f(sum(world[b] for b in chosen) for world in worlds) for f in (min, max))
        if least == most or at_limit or sum(true[b] for b in chosen) - least >= k:
            continue
        # Some other world, of which the document says the same, has another number of people there.
        assert any(
            sum(world[b] for b in chosen) != sum(true[b] for b in chosen) and said(split) == own
            for world, splits in worlds.items()
            for split in splits
        )


def _labels(own: dict[str, int | None], values: list[Any], *, ends: bool) -> list[str | None]:
    if not ends:
        return [value if value in own else None for value in values]
    found: list[str | None] = []
    for value in values:
        spans = [(label, [int(part) for part in label.split(" to ")]) for label in own]
        found.append(next((label for label, span in spans if span[0] <= value <= span[-1]), None))
    return found


@pytest.mark.integration
@pytest.mark.parametrize("how", ["values", "ends", "hierarchy"])
@given(st.data())
def test_who_knows_how_cells_come_about_finds_no_small_count(how: str, data: st.DataObject) -> None:
    attacked(*data.draw(releases(how)), how)


# How many counts were hidden told one person's, when no more went with it than its sum needed; with a
# hierarchy, splits of one table differ in what is told.
BY_HOW_MANY = (
    ("values", 2, [(1, 3, 0), (0, 1, 1), (0, 1, 1)]),
    ("values", 2, [(1, 3, 0), (1, 1, 1), (1, 1, 1), (0, 1, 1)]),
    ("values", 2, [(0, 2, 2), (1, 1, 1), (0, 0, 4), (1, 0, 1)]),
    ("hierarchy", 2, [(0, 1, 4), (2, 0, 0), (0, 2, 0), (0, 3, 2)]),
    pytest.param(
        "hierarchy",
        2,
        [(3, 0, 3, 0), (3, 0, 0, 2), (1, 0, 0, 2), (0, 0, 1, 3)],
        marks=pytest.mark.integration,
    ),
)


@pytest.mark.parametrize(("how", "k", "classes"), BY_HOW_MANY)
def test_how_many_counts_are_hidden_tells_no_small_one(
    how: str, k: int, classes: list[tuple[int, ...]]
) -> None:
    attacked(k, classes, how)
