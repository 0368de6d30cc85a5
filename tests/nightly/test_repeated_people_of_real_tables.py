"""Tables in which each row is another person's, as far as anybody knows, are not said to repeat people."""

from __future__ import annotations

import random

import duckdb
import pytest

from tasks.intake.repeated_people import repeated_people
from tests.nightly.test_real_releases import ADULT, BANK, DATASETS, EPH
from tests.support.small import small_policy

DIABETES = DATASETS / "diabetes130" / "diabetic_data.csv.gz"
CHOICES = 60  # of columns, of each table
SURVEY = "agglomeration, age, sex, relationship, marital, education, birthplace, health_cover, activity"
PATIENTS = "DISTINCT ON (patient_nbr) * EXCLUDE (encounter_id, patient_nbr)"
QUERIES = {
    "adult": f"FROM '{ADULT}'",
    "bank": f"FROM '{BANK}'",
    "diabetes": f"SELECT {PATIENTS} FROM read_csv('{DIABETES}', all_varchar = true)",
    "survey": f"SELECT {SURVEY} FROM '{EPH}' WHERE period = '2010Q1'",
}
NUMBERS = {
    *("age", "education-num", "hours-per-week", "capital-gain"),
    *("balance", "duration", "day", "campaign"),
    *("time_in_hospital", "num_medications", "num_lab_procedures"),
}

pytestmark = pytest.mark.data


@pytest.mark.parametrize("table", QUERIES)
def test_nothing_is_said_of_rows_of_different_people(table: str) -> None:
    draw = random.Random(7)  # noqa: S311 -- choices of columns
    with duckdb.connect() as con:
        con.execute(
            f"CREATE TABLE t AS SELECT COLUMNS(*)::VARCHAR FROM ({QUERIES[table]}) USING SAMPLE 30000 ROWS"
        )
        con.execute("SET threads = 1")
        names = [name for (name, *_) in con.sql("DESCRIBE t").fetchall()]
        for _ in range(CHOICES):
            known = draw.sample(names, draw.randint(2, 6))
            integer, text = {"type": "integer", "bounds": [0, 10**9]}, {"type": "categorical"}
            kinds = {name: integer if name in NUMBERS else text for name in known}
            others = draw.sample([name for name in names if name not in known], 3)
            policy = small_policy(kinds, {}, roles={"dropped": others})
            con.execute(
                "CREATE OR REPLACE VIEW part AS FROM t LIMIT " + draw.choice(["300", "2000", "30000"])
            )
            assert [*map(str, repeated_people(con, "part", names, policy))] == [], known
