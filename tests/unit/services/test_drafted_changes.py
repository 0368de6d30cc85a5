"""What a draft of several periods says of values that change, and of the period of each table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from policy.load import parse_policy
from services.drafting.changes import FEWEST_PEOPLE, Change, changes_of
from services.drafting.draft import draft
from services.drafting.facts import ColumnFacts
from services.drafting.gate_limits import accepted_lines, gate_lines, history_lines, limit_over, stability_of
from services.drafting.guesses import Guess
from services.drafting.limits import method_lines
from services.drafting.second_release import SecondRelease
from services.drafting.series import in_order, period_of
from services.drafting.trial import Trial, Tried


def tables(*periods: Sequence[tuple[str, str | None, str]]) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute('CREATE TABLE cells (person VARCHAR, town VARCHAR, illness VARCHAR, "table" INTEGER)')
    for number, rows in enumerate(periods):
        con.executemany("INSERT INTO cells VALUES (?, ?, ?, ?)", [(*row, number) for row in rows])
    return con


def test_people_of_two_tables_are_counted_where_their_values_changed() -> None:
    first = [(f"p{i}", "Riga", "flu") for i in range(100)]
    # Of 80 who stay, 20 move; of 10 of the others nobody knows where they live.
    second = [(f"p{i}", "Oslo" if i < 20 else None if i < 30 else "Riga", "flu") for i in range(80)]
    con = tables(first, second)
    found = changes_of(con, "person", "table", ["town", "illness"])
    assert found == {"town": Change(people=70, changed=20), "illness": Change(people=80, changed=0)}


def test_the_two_tables_that_differ_most_are_told() -> None:
    def period(n_ill: int) -> list[tuple[str, str | None, str]]:
        return [(f"p{i}", "Riga", "flu" if i < n_ill else "none") for i in range(100)]

    con = tables(period(0), period(10), period(30))
    assert changes_of(con, "person", "table", ["illness"]) == {"illness": Change(100, 30)}


def test_of_few_people_no_share_is_told() -> None:
    few = [(f"p{i}", "Riga", "flu") for i in range(FEWEST_PEOPLE - 1)]
    assert changes_of(tables(few, few), "person", "table", ["town"]) == {}
    assert changes_of(tables(few, few), "person", "table", []) == {}


@pytest.mark.parametrize(
    ("name", "distinct", "changed", "stability"),
    [
        ("illness", 100, 0, "stable"),
        ("illness", 100, 50, "stable"),
        ("illness", 100, 51, "transient"),
        ("income", 100, 0, "transient"),
        ("income", 100, None, "transient"),
        ("income", 8, 7, "stable"),  # bands
        ("income", 8, None, "transient"),
    ],
)
def test_a_value_that_changed_for_most_people_is_transient(
    name: str, distinct: int, changed: int | None, stability: str
) -> None:
    column = ColumnFacts(name, 200, 200, distinct, 2, numeric=True, integer=True, low=0.0, high=9_000.0)
    change = None if changed is None else Change(100, changed)
    assert stability_of(column, change) == stability


def test_the_draft_tells_how_many_values_changed_and_has_attackers_allow_for_them(tmp_path: Path) -> None:
    files = [tmp_path / f"clinic-2025{half}.csv" for half in ("A", "B")]
    for late, file in enumerate(files):
        rows = [
            f"p{i},{('m', 'f')[i % 2]},{20 + i % 60},{('flu', 'gout', 'none')[(i + (late and i < 120)) % 3]}"
            for i in range(600)
        ]
        file.write_text("\n".join(["person_id,sex,age,diagnosis", *rows]) + "\n", encoding="utf-8")
    text = draft(*files, trial=False)
    assert text.count("people in two tables") == 1
    assert "      # Of 600 people in two tables, 20.0% have another value in the later one.\n" in text
    assert "  worlds: {changes: 0.25} # of stable values, measured: 0.200\n" in text
    assert "releasegate run clinic.yaml --period 2025A --input" in text
    known = parse_policy(text, Path("draft")).gates.known
    assert known is not None
    assert (known.max, known.mean) == (10, 1)


@pytest.mark.parametrize(
    ("followed", "changed", "limited"), [(True, 0, True), (True, 90, False), (False, 0, False)]
)
def test_whom_one_known_person_tells_is_limited_by_values_that_stay_of_people_who_are_followed(
    followed: bool, changed: int, limited: bool
) -> None:
    column = ColumnFacts("illness", 200, 200, 4, 2, numeric=False, integer=False, low=None, high=None)
    lines = history_lines(
        [Guess(column, "sensitive", "")], {"illness": Change(100, changed)}, followed=followed
    )
    assert any("known:" in line for line in lines) == limited


@pytest.mark.parametrize(
    ("leaving", "limits"),
    [(0.0, "{max: 10, mean: 1}"), (0.05, "{max: 10, mean: 1}"), (0.2, "{max: 40, mean: 4}")],
)
def test_one_known_person_may_tell_more_where_many_leave(leaving: float, limits: str) -> None:
    column = ColumnFacts("illness", 200, 200, 4, 2, numeric=False, integer=False, low=None, high=None)
    lines = history_lines([Guess(column, "sensitive", "")], {}, followed=True, leaving=leaving)
    assert any(line.startswith(f"  known: {limits}") for line in lines)


@pytest.mark.parametrize(
    "names",
    [
        ["s_jan.csv", "s_feb.csv", "s_apr.csv"],
        ["s_juin.csv", "s_juillet.csv", "s_ao\u00fbt.csv"],
        ["s_nov.csv", "s_dec.csv", "s_jan.csv"],
        ["s Dec 2024.csv", "s Jan 2025.csv", "s Apr 2025.csv"],
        ["2024 Oktober.csv", "2024 November.csv", "2025 Februar.csv"],
        ["s_12-2024.csv", "s_01-2025.csv", "s_02-2025.csv"],
        ["w1.csv", "w2.csv", "w10.csv"],
        ["s_2024W9.csv", "s_2024W10.csv", "s_2025W1.csv"],
        ["s-2013B.csv", "s-2013J.csv", "s-2014B.csv"],
        ["s20240131.csv", "s20240229.csv", "s20250131.csv"],
        ["s-2024.csv", "s-2025.csv"],
    ],
)
def test_tables_are_taken_in_the_order_of_their_periods(names: list[str]) -> None:
    for given in (sorted(names), names, names[::-1]):
        assert in_order([Path(name) for name in given]) == [Path(name) for name in names]


@pytest.mark.parametrize(
    "names", [["north.csv", "east.csv"], ["s-2024.csv", "s-2025-01.csv"], ["s_jan.csv", "s_spring.csv"]]
)
def test_tables_without_a_period_in_each_name_stay_as_they_are_given(names: list[str]) -> None:
    assert in_order([Path(name) for name in names]) is None


@pytest.mark.parametrize(
    ("names", "periods"),
    [
        (["s-2013B.csv", "s-2013J.csv"], ["2013B", "2013J"]),
        (["eph-2013Q4.csv", "eph-2014Q1.csv"], ["2013Q4", "2014Q1"]),
        (["w1.csv", "w2.csv", "w10.csv"], ["1", "2", "10"]),
        (["clinic-2026.csv"], ["2026"]),
        (["clinic.csv"], [None]),
        (["a 1.csv", "b 2.csv"], [None, None]),
        (["s Dec 2024.csv", "s Jan 2025.csv"], ["2024-12", "2025-01"]),
        (["s M\u00e4rz 2025.csv"], ["2025-03"]),
        (["s_jan.csv"], ["jan"]),
        (["s_Jan2025.csv"], ["Jan2025"]),
    ],
)
def test_the_period_of_a_table_is_what_its_name_differs_in(
    names: list[str], periods: list[str | None]
) -> None:
    assert [period_of(name, names) for name in names] == periods


def made(**measured: float) -> Trial:
    tried = Tried("mondrian", measured)
    return Trial((tried,), tried, tried, 100, 100)


def test_limits_have_room_for_what_both_releases_measured() -> None:
    lines = list(gate_lines(made(ncp=0.30, err=0.02), SecondRelease({"ncp": 0.41, "suppression": 0.06})))
    assert "  ncp: {max: 0.5} # measured: 0.300, 0.410" in lines
    assert "  err: {max: 0.1} # measured: 0.020" in lines
    assert "  suppression: {max: 0.2} # measured: 0.060" in lines  # 6% for each of two earlier releases
    assert limit_over(0.41) == 0.5
    assert (limit_over(0.41, apart=0.03), limit_over(0.41, apart=0.1)) == (0.5, 0.55)


def test_a_limit_has_room_for_what_parts_of_the_table_measured() -> None:
    parts = tuple(Tried("mondrian", {"ncp": ncp}) for ncp in (0.28, 0.36, 0.33))
    second = SecondRelease({"ncp": 0.31})
    lines = list(gate_lines(replace(made(ncp=0.30), parts=parts), second))
    assert "  ncp: {max: 0.4} # measured: 0.300, 0.310; parts differ by 0.080" in lines


@pytest.mark.parametrize(("followed", "left_out"), [(True, 0.05), (False, 0.2)])
def test_a_limit_has_room_for_what_earlier_releases_cost_that_were_not_tried(
    left_out: float, *, followed: bool
) -> None:
    lines = list(gate_lines(made(ncp=0.30, suppression=0.0), followed=followed))
    assert "  ncp: {max: 0.6} # measured: 0.300" in lines
    assert f"  suppression: {{max: {left_out}}} # measured: 0.000" in lines
    assert "`ncp` has room for twice as\n# much" in "\n".join(lines)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (SecondRelease({"ncp": 0.9}, failing=("worlds", "person")), "#   it fails worlds, person"),
        (SecondRelease({}, problem="no class is left"), "#   no class is left"),
    ],
)
def test_a_second_release_that_is_blocked_sets_no_limit(second: SecondRelease, told: str) -> None:
    lines = list(gate_lines(made(ncp=0.30), second))
    assert told in lines
    assert "  ncp: {max: 0.6} # measured: 0.300" in lines


def test_what_a_gate_cannot_tell_of_a_second_release_is_told() -> None:
    detail = "worlds: pay tells what pay was in an earlier release, which links rows of the two: leave it out"
    second = SecondRelease({}, failing=("worlds",), unknown=(detail,))
    lines = list(gate_lines(made(ncp=0.30), second))
    assert " ".join(line.removeprefix("#   ") for line in lines if line.startswith("#   ")).endswith(detail)
    assert max(map(len, lines)) <= 100


def test_a_method_that_is_not_published_beside_the_release_before_is_told_where_another_is() -> None:
    fails, passes = SecondRelease({}, failing=("size",)), SecondRelease({"ncp": 0.4})
    told = "# Beside a release of the table before it, ae-lrhma is not published: it fails size."
    assert told in list(method_lines(made(ncp=0.30), beside={"ae-lrhma": fails, "mondrian": passes}))
    assert told not in list(method_lines(made(ncp=0.30), beside={"ae-lrhma": fails, "mondrian": fails}))


@pytest.mark.parametrize(
    ("key", "repeats", "stay", "accepted"),
    [
        (True, False, True, []),
        (False, False, False, ["  worlds: {unfollowed: accept}"]),
        (False, False, True, None),
        (True, True, True, ["  worlds: {unfollowed: accept}", "  person: {compare: false}"]),
    ],
)
def test_what_has_to_be_accepted_for_a_second_release(
    accepted: list[str] | None, *, key: bool, repeats: bool, stay: bool
) -> None:
    column = ColumnFacts("p", 9, 9, 9, 1, numeric=False, integer=False, low=0.0, high=0.0, repeats=repeats)
    assert accepted_lines([Guess(column, "key" if key else "dropped", "")], stay=stay) == accepted
    lines = list(gate_lines(made(ncp=0.30), SecondRelease({"ncp": 0.3}), accepted or []))
    assert {f"# {line}" for line in accepted or []} <= set(lines)


@pytest.mark.parametrize(("low", "named"), [(1, True), (0, False)])
def test_a_column_that_may_hold_survey_weights_is_told(tmp_path: Path, low: int, *, named: bool) -> None:
    table = tmp_path / "survey.csv"
    rows = [f"{20 + i % 40},{('flu', 'gout', 'none')[i % 3]},{low + i % 100}" for i in range(400)]
    table.write_text("\n".join(["age,diagnosis,weight", *rows]) + "\n", encoding="utf-8")
    text = draft(table, trial=False)
    said = "    - weight # not recognised: 100 distinct values"
    assert (f"{said}; survey weights are named in `roles.weight` instead\n" in text) == named
    assert said in text
