"""The limits of a draft: the table can satisfy each, and none is looser than the table needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from policy.load import parse_policy
from policy.model import ReleasePolicy
from services.drafting.bounds import rounded_down
from services.drafting.draft import draft
from services.drafting.limits import room_for
from services.drafting.trial import try_policy

ROWS = 400


def drafted(folder: Path, *tables: dict[str, object]) -> tuple[str, ReleasePolicy]:
    """Return the draft of tables with an age and a sex beside these columns, and its policy."""
    files = []
    for number, table in enumerate(tables):
        n_rows = len(np.atleast_1d(next(iter(table.values()))))  # type: ignore[call-overload]
        described = {"age": np.arange(n_rows) * 7 % 60 + 18, "sex": np.arange(n_rows) // 3 % 2}
        files.append(folder / f"table-202{number}.csv")
        pd.DataFrame(described | table).to_csv(files[-1], index=False)
    text = draft(*files, trial=False)
    return text, parse_policy(text, folder / "table.yaml")


def diseases(*counts: int) -> np.ndarray:
    """Return so many rows of each of several diseases, in a mixed order."""
    values = np.repeat([f"d{n}" for n in range(len(counts))], counts)
    return np.random.default_rng(3).permutation(values)


@pytest.mark.parametrize(
    ("share", "p_max"),
    [(0.09, 0.56), (0.3, 0.69), (0.5, 0.8), (0.6, 0.84), (0.91, 0.969), (0.96, 0.987), (0.9991, 0.9997)],
)
def test_p_max_leaves_a_half_to_a_third_of_the_share_of_the_other_values(share: float, p_max: float) -> None:
    assert room_for(share) == p_max
    assert 1 / 3 - 0.05 < (1 - p_max) / (1 - share) <= 1 / 2


@pytest.mark.parametrize(("value", "rounded"), [(0.3, 1), (1, 1), (4.99, 2), (5, 5), (99, 50), (1000, 1000)])
def test_a_range_is_rounded_down(value: float, rounded: float) -> None:
    assert rounded_down(value) == rounded


@pytest.mark.parametrize(("leaving", "limit"), [(0.01, 0.05), (0.2, 0.1), (0.4, 0.15)])
def test_more_rows_may_be_left_out_where_many_people_leave(
    tmp_path: Path, leaving: float, limit: float
) -> None:
    first = np.arange(ROWS) + 1_000
    later = first + round(leaving * ROWS)
    tables = ({"person_id": ids, "disease": [f"d{one % 5}" for one in ids]} for ids in (first, later))
    _, policy = drafted(tmp_path, *tables)
    assert policy.roles.key == "person_id"
    assert policy.gates.suppression is not None
    assert policy.gates.suppression.max == limit


def test_an_attribute_that_is_rarely_present_does_not_loosen_the_limits_of_another(tmp_path: Path) -> None:
    text, policy = drafted(
        tmp_path,
        {
            "hiv": diseases(384, 16),
            "diagnosis": diseases(120, 100, 100, 80),
            "illness": diseases(120, 140, 140),
        },
    )
    found = {name: policy.privacy.of(name) for name in policy.roles.sensitive}
    assert {name: (one.e, one.p_max) for name, one in found.items()} == {
        "hiv": (2, 0.987),
        "diagnosis": (3, 0.69),
        "illness": (3, 0.72),
    }
    assert "#   hiv: its commonest value is in 96.0% of the rows; it has 2 values, so e is 2" in text


def test_a_third_value_that_few_rows_have_is_not_asked_of_every_class(tmp_path: Path) -> None:
    text, policy = drafted(tmp_path, {"diagnosis": diseases(200, 190, 10)})
    assert policy.privacy.e == 2
    assert "; all but two values are in 2.5% of the rows, so e is 2" in text
    _, policy = drafted(tmp_path, {"diagnosis": diseases(200, 170, 30)})
    assert policy.privacy.e == 3


def test_a_missing_value_counts_as_a_value(tmp_path: Path) -> None:
    _, policy = drafted(tmp_path, {"diagnosis": [*diseases(80, 80), *[""] * 240]})
    assert policy.privacy.p_max == 0.84


def test_limits_are_those_that_every_table_has_room_for(tmp_path: Path) -> None:
    _, policy = drafted(tmp_path, {"diagnosis": diseases(150, 150, 100)}, {"diagnosis": diseases(360, 40)})
    assert (policy.privacy.e, policy.privacy.p_max) == (2, 0.965)


def test_a_number_ranges_over_a_tenth_of_the_middle_of_all(tmp_path: Path) -> None:
    incomes = np.random.default_rng(1).integers(200, 900, ROWS) * 50
    text, policy = drafted(tmp_path, {"income": incomes})
    assert policy.roles.sensitive["income"].type == "numeric"
    span = np.quantile(incomes, 0.9) - np.quantile(incomes, 0.1)
    assert span / 25 < policy.privacy.e <= span / 10
    assert "; e is about a tenth of the range of most numbers, 2000" in text


def test_numbers_whose_range_is_under_1_are_categories(tmp_path: Path) -> None:
    _, policy = drafted(tmp_path, {"cost": np.arange(ROWS) % 40 / 100})
    assert (policy.roles.sensitive["cost"].type, policy.privacy.e) == ("categorical", 3)


def test_shares_of_people_count_where_they_have_several_rows(tmp_path: Path) -> None:
    visits = np.repeat(np.arange(ROWS // 4), 4)
    ill = np.where((np.arange(ROWS) % 4 == 0) & (visits % 10 > 0), "flu", diseases(200, 200))
    text, policy = drafted(tmp_path, {"patient": visits, "diagnosis": ill})
    assert (policy.roles.key, policy.rows) == ("patient", "several")
    assert policy.privacy.p_max == room_for(0.9)
    assert "its commonest value is in 90.0% of the rows or people" in text


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ([{"patient": np.arange(ROWS) // 4, "illness": np.arange(ROWS) % 4}], "everybody, in some row, has"),
        ([{"illness": diseases(200, 200)}, {"illness": diseases(400)}], "every row of a table has"),
    ],
)
def test_what_everybody_has_is_not_published_under_a_limit_that_limits_nothing(
    tmp_path: Path, tables: list[dict[str, object]], told: str
) -> None:
    tables = [{**one, "diagnosis": [f"d{n // 4 % 3}" for n in range(ROWS)]} for one in tables]
    text, policy = drafted(tmp_path, *tables)
    assert list(policy.roles.sensitive) == ["diagnosis"]
    assert f"- illness # its name says 'illness', but {told} its commonest value" in text
    assert policy.privacy.p_max < 1


@pytest.mark.parametrize(
    "sensitive",
    [
        {"hiv": diseases(384, 16), "diagnosis": diseases(120, 100, 100, 80)},
        {"income": np.random.default_rng(1).integers(4, 44, ROWS) * 500},
        {"diagnosis": diseases(200, 190, 10)},
    ],
)
@pytest.mark.by_day(1)
def test_what_is_drafted_can_be_satisfied(tmp_path: Path, sensitive: dict[str, object]) -> None:
    _, policy = drafted(tmp_path, sensitive)
    found = try_policy(policy, tmp_path / "table-2020.csv").best
    assert (found.problem, found.failing) == ("", ())


def test_a_draft_says_why_nothing_was_measured(tmp_path: Path) -> None:
    text, _ = drafted(tmp_path, {"diagnosis": diseases(200, 200)})
    reason = "nothing was measured, because the draft was made with --no-trial."
    assert f"# These limits are usual ones: {reason}" in text


def test_what_dropped_columns_would_need_is_said_and_proposes_nothing(tmp_path: Path) -> None:
    many = np.random.default_rng(2).integers(0, 60, ROWS).astype(str)
    many[:7] = "999"
    text, policy = drafted(tmp_path, {"diagnosis": diseases(200, 200), "reading": many})
    assert policy.roles.dropped == ("reading",)
    lines = text.splitlines()
    place = lines.index(
        "  # If you publish one of these columns, which are left out below, add its values here, too:"
    )
    assert (
        lines[place + 1] == '  #   reading: {"": ["999"]}, as 7 rows have a number that often says "unknown"'
    )
    assert "  # values:" not in lines


def test_bands_of_dropped_columns_are_not_told(tmp_path: Path) -> None:
    bands = np.array(["0-10", "10-20", "20-30", "20-Oct"])[np.arange(ROWS) % 4]
    columns = {f"flag{n}": np.arange(ROWS) % 3 for n in range(9)} | {
        "diagnosis": diseases(200, 200),
        "band": bands,
    }
    text, policy = drafted(tmp_path, columns)
    assert "band" in policy.roles.dropped
    assert "  #   band: a spreadsheet may have made dates of bands" in text.splitlines()
    assert "20-Oct" not in text
