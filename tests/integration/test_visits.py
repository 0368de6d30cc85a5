"""A table of visits, several of each person: a run counts its people, and says so where it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from policy.load import load_policy
from release_store.publishing.public_files import release_folder
from release_store.records import Verdict
from tests.support.front_desk import CITIES, DISEASES, POLICY, Desk
from tests.support.plain_prefect import plain_prefect

N_PEOPLE, K = 150, 8
ROLES: dict[str, Any] = {
    "identifiers": ["name"],
    "quasi_identifiers": {
        "age": {"type": "integer", "bounds": [0, 110]},
        "city": {"type": "categorical", "values": list(CITIES)},
    },
    "sensitive": POLICY["roles"]["sensitive"],
}
PRIVACY = {"k": K, "e": 2}


def visits(n_visits: int) -> pd.DataFrame:
    """Return visits of people who do not exist; a person's values are the same in all of hers."""
    draw = np.random.default_rng(3)
    whose = np.repeat(np.arange(N_PEOPLE), n_visits)
    return pd.DataFrame(
        {
            "person": [f"p{i:04d}" for i in whose],
            "name": [f"Kanari {i}" for i in whose],
            "age": draw.integers(20, 90, N_PEOPLE)[whose],
            "city": draw.choice(CITIES, N_PEOPLE)[whose],
            "disease": draw.choice(DISEASES, N_PEOPLE)[whose],
        }
    )


def run(desk: Desk, roles: dict[str, Any], period: str = "2026Q1", n_visits: int = 4, **sections: Any) -> int:
    path = desk.folder / f"visits-{period}.csv"
    visits(n_visits).to_csv(path, index=False)
    with plain_prefect():
        return desk.run(desk.policy(roles=roles, privacy=PRIVACY, **sections), path, period)


def people_in_classes(desk: Desk, period: str) -> list[int]:
    """Return how many people fall into the cells of each class, counted from file and source alone."""
    (release,) = [one for one in desk.store.releases("clinic") if one.period == period]
    folder: Path = release_folder(desk.root, release.series, release.release_id)
    assert load_policy(desk.folder / "clinic.yaml").rows == "several"
    data, source = folder / "data.csv", desk.folder / f"visits-{period}.csv"
    with duckdb.connect() as con:
        found = con.execute(
            f"SELECT count(DISTINCT person) FROM '{data}' c JOIN '{source}' v "
            "ON v.age BETWEEN c.age_min AND c.age_max "
            "AND (c.city = '*' OR list_contains(string_split(c.city, '|'), v.city)) "
            "GROUP BY c.age_min, c.age_max, c.city"
        ).fetchall()
    return [int(row[0]) for row in found]


def test_every_class_has_so_many_people(desk: Desk) -> None:
    for period, n_visits in (("2026Q1", 4), ("2026Q2", 3)):
        gates = {"person": {"compare": False}, "worlds": {"unfollowed": "accept"}}
        assert run(desk, {**ROLES, "key": "person"}, period, n_visits, rows="several", gates=gates) == 0
        found = people_in_classes(desk, period)
        assert min(found) >= K
        assert sum(found) >= N_PEOPLE
        candidate = desk.store.candidates()[-1].candidate_id
        (solved,) = [one for one in desk.store.gates(candidate) if one.gate == "worlds"]
        assert solved.verdict is Verdict.PASS
        assert (solved.witness["people"], solved.witness["pinned"]) == (N_PEOPLE, 0)
    report = next(desk.root.glob("releases/clinic/*/report.html")).read_text()
    assert "Rows were counted, not people" not in report


@pytest.mark.enemy("reader", "learns a value")
def test_a_person_with_more_rows_than_the_others_is_held_back(desk: Desk) -> None:
    """Of ten people of one age one has four visits, and only her disease has so many rows."""
    diseases = [f"disease {i}" for i in range(10)]
    n_visits = [4] + [1] * 9
    table = pd.DataFrame(
        {
            "person": np.repeat([f"p{i:04d}" for i in range(10)], n_visits),
            "age": 40,
            "disease": np.repeat(diseases, n_visits),
        }
    )
    path = desk.folder / "visits.csv"
    roles = {
        "key": "person",
        "quasi_identifiers": {"age": {"type": "integer", "bounds": [0, 110]}},
        "sensitive": {"disease": {"stability": "stable"}},
    }
    policy = {"roles": roles, "privacy": PRIVACY, "rows": "several", "expectations": {"rows": {"min": 1}}}
    for period, rows, code in (("2026Q1", table, 4), ("2026Q2", table.drop_duplicates("person"), 0)):
        rows.to_csv(path, index=False)
        with plain_prefect():
            assert desk.run(desk.policy(**policy), path, period) == code
    first, _ = desk.store.candidates()
    failing = [one for one in desk.store.gates(first.candidate_id) if one.verdict is not Verdict.PASS]
    assert [(one.gate, one.value) for one in failing] == [("worlds", 1.0)]
    assert "publish one row a person" in failing[0].detail
    assert [one.period for one in desk.store.releases("clinic")] == ["2026Q2"]


@pytest.mark.enemy("reader", "learns a value")
def test_a_second_release_of_people_with_several_rows_is_held_back(desk: Desk) -> None:
    """Who is in one release alone has all the rows by which it differs, however many values these have."""
    roles = {**ROLES, "key": "person"}
    assert run(desk, roles, "2026Q1", rows="several") == 0
    assert run(desk, roles, "2026Q2", 3, rows="several") == 4
    *_, blocked = desk.store.candidates()
    verdicts = {one.gate: one for one in desk.store.gates(blocked.candidate_id)}
    assert verdicts["person_difference"].verdict is Verdict.UNKNOWN
    assert "gates.person.compare: false" in verdicts["person_difference"].detail
    assert len(desk.store.releases()) == 1


def test_a_repeated_key_is_refused_where_the_policy_says_one_row_a_person(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(desk, {**ROLES, "key": "person"}) == 3
    said = capsys.readouterr().err
    assert "rows: several" in said
    assert "p0001" not in said


def test_without_a_key_the_report_begins_with_what_was_counted(desk: Desk) -> None:
    assert run(desk, {**ROLES, "dropped": ["person"]}, expectations={"repeats": "accepted"}) == 0
    report = next(desk.root.glob("releases/clinic/*/report.html")).read_text()
    assert report.index("Rows were counted, not people") < report.index("The gates")
