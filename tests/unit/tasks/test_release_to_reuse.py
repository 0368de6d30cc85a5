"""Which release a policy uses the cells of, by id, period or `last`, and which it cannot."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from policy.errors import PolicyError
from policy.model import Reuse
from release_store.records import Release, ReleaseState
from release_store.summary import Summary
from tasks.history.reuse import check_same_columns, release_to_reuse
from tests.support.small import AGE_AND_CITY, small_policy

PUBLISHED, SUPERSEDED, WITHDRAWN = ReleaseState.PUBLISHED, ReleaseState.SUPERSEDED, ReleaseState.WITHDRAWN
CITIES = {"north": ["Aix", "Brno"], "south": ["Cork"]}


def release(name: str, state: ReleaseState = PUBLISHED) -> Release:
    series, period, _ = name.split("-")
    return Release(name, series, period, 1, "c1", state, datetime.now(UTC), {}, Summary())


SERIES = [
    release("a-1-r1", SUPERSEDED),
    release("b-2-r1"),
    release("a-1-r2"),
    release("a-2-r1"),
    release("a-3-r1", WITHDRAWN),
]


@pytest.mark.parametrize(
    ("named", "period", "found"),
    [
        ("last", "4", "a-2-r1"),
        ("last", "2", "a-1-r2"),
        ("a-1-r2", "4", "a-1-r2"),
        ("1", "4", "a-1-r2"),
        ("2", "2", "a-2-r1"),
    ],
)
def test_a_release_is_named_by_id_period_or_as_the_last_of_another_period(
    named: str, period: str, found: str
) -> None:
    chosen = release_to_reuse(SERIES, "a", Reuse(release=named), period)
    assert chosen is not None
    assert chosen.release_id == found


def test_before_the_first_release_there_is_nothing_to_use() -> None:
    assert release_to_reuse(SERIES, "c", Reuse(), "1") is None
    assert release_to_reuse(SERIES, "b", Reuse(), "2") is None  # a revision of the only period


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("a-1-r1", "a-1-r1 was superseded"),
        ("a-3-r1", "a-3-r1 was withdrawn"),
        ("3", "a-3-r1 was withdrawn"),
        ("b-2-r1", "b-2-r1 is of the series b, not of a"),
        ("a-2-r7", "the series a has no release 'a-2-r7' (did you mean 'a-2-r1'?)"),
        ("9", "the series a has no release '9'"),
    ],
)
def test_what_is_not_public_in_the_series_is_refused(named: str, said: str) -> None:
    with pytest.raises(PolicyError) as told:
        release_to_reuse(SERIES, "a", Reuse(release=named), "4")
    assert (told.value.where, told.value.message) == ("method.reuse.release", said)


def test_a_release_is_proposed_for_restoration_only_if_it_can_be_restored() -> None:
    withdrawn, revision = release("a-1-r1", WITHDRAWN), release("a-1-r2")
    for releases, is_proposed in ([withdrawn], True), ([withdrawn, revision], False):
        with pytest.raises(PolicyError) as told:
            release_to_reuse(releases, "a", Reuse(release="a-1-r1"), "4")
        assert ("releasegate restore a-1-r1" in str(told.value.hint)) == is_proposed


def test_the_last_of_a_series_whose_releases_are_all_withdrawn_is_refused() -> None:
    with pytest.raises(PolicyError, match="no release of another period than 2 is published any more"):
        release_to_reuse([release("a-1-r1", WITHDRAWN)], "a", Reuse(), "2")


@pytest.mark.parametrize(
    ("column", "change", "where"),
    [
        ("age", {"type": "numeric"}, "age.type"),
        ("age", {"bounds": [0, 99]}, "age.bounds"),
        ("age", {"widths": [10]}, "age.widths"),
        ("city", {"hierarchy": CITIES}, "city.hierarchy"),
    ],
)
def test_cells_of_other_columns_are_refused(column: str, change: dict[str, Any], where: str) -> None:
    then, now = small_policy(), small_policy({**AGE_AND_CITY, column: {**AGE_AND_CITY[column], **change}})
    with pytest.raises(PolicyError, match="it was another when a-1-r1 was made") as told:
        check_same_columns(then, now, "a-1-r1")
    assert told.value.where == f"roles.quasi_identifiers.{where}"


@pytest.mark.parametrize(
    ("sections", "where"),
    [
        ({"method": {"recoding": "hierarchy"}}, "method.recoding"),
        ({"method": {"ends": "rounded"}}, "method.ends"),
        ({"source": {"missing_label": "none"}}, "source.missing_label"),
    ],
)
def test_cells_that_are_written_otherwise_are_refused(sections: dict[str, Any], where: str) -> None:
    with pytest.raises(PolicyError) as told:
        check_same_columns(small_policy(), small_policy(**sections), "a-1-r1")
    assert told.value.where == where


def test_columns_that_differ_in_weight_and_words_alone_are_the_same() -> None:
    age = {**AGE_AND_CITY["age"], "weight": 2, "description": "in years"}
    check_same_columns(small_policy(), small_policy({**AGE_AND_CITY, "age": age}), "a-1-r1")


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ({"recoding": "full-domain"}, "recoding is full-domain: set method.levels"),
        ({"recoding": "median"}, "reuse is of cells of recoding: sets or hierarchy, and recoding is median"),
        ({"reuse": {"release": ""}}, "method.reuse.release"),
        ({"reuse": {"others": "merged"}}, "method.reuse.others"),
    ],
)
def test_a_policy_that_cannot_use_cells_again_is_refused(method: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError) as told:
        small_policy(method={"name": "mondrian", "history": "blind", "reuse": {}, **method})
    assert said in str(told.value)


def test_signatures_and_cells_that_are_used_again_do_not_go_together() -> None:
    method = {"name": "mondrian", "history": "sticky", "reuse": {}}
    with pytest.raises(PolicyError, match="reuse needs history: repair or blind"):
        small_policy(roles={"key": "person"}, method=method)
    assert small_policy(method=method).method.reuse == Reuse()  # nobody is followed
