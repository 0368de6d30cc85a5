"""Times are read as those of UTC, whatever the zone of the machine: the same cells from every format."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import openpyxl
import pytest
from test_intake import HEADER, read

from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).resolve().parents[3]
SEEN = "2020-04-19 23:30:00"  # another day in Auckland
READ = """
import json, sys
from pathlib import Path
import pandas as pd
sys.path.insert(0, "tests/unit/tasks")
from test_intake import policy, read
from tasks.intake.read import read_table
from tasks.intake.table_object import TableObject
folder = Path(sys.argv[1])
frame = pd.DataFrame({name: ["x"] for name in "id,name,city,disease,note,street".split(",")}).assign(
    age=30, city=pd.to_datetime([sys.argv[2]], utc=True))
given = read_table(policy(), input_path=TableObject(frame), period="1", base=folder).frame
found = {"frame": given["city"].tolist()}
for path in sorted(folder.iterdir()):
    found[path.name] = read(path).frame["city"].tolist()
day = "select * replace (strftime(date_trunc('day', city), '%d %H:%M') as city) from input"
found["query"] = read(folder / "t.parquet", query=day).frame["city"].tolist()
print(json.dumps(found))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names = HEADER.strip().split(",")
    cells = dict.fromkeys(names, "'x'") | {"age": "30", "city": f"TIMESTAMPTZ '{SEEN}+00'"}
    columns = ", ".join(f"{cell} AS {name}" for name, cell in cells.items())
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT {columns}) TO '{tmp_path / 't.parquet'}'")
    book = openpyxl.Workbook()
    book.active.append(names)
    book.active.append([{"age": 30, "city": SEEN}.get(name, "x") for name in names])
    book.save(tmp_path / "t.xlsx")
    return tmp_path


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"])
def test_a_time_at_midnight_is_its_date(tmp_path: Path, kind: str) -> None:
    times = ["2020-04-20 00:00:00", "2020-04-20 00:00:01", "1969-12-31 00:00:00", None]
    names = HEADER.strip().split(",")
    cells = dict.fromkeys(names, "'x'") | {"age": "30", "city": f"unnest(?::{kind}[])"}
    columns = ", ".join(f"{cell} AS {name}" for name, cell in cells.items())
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT {columns}) TO '{tmp_path / 't.parquet'}'", [times])
    found = read(tmp_path / "t.parquet").frame["city"]
    assert found.dropna().tolist() == ["2020-04-20", "2020-04-20 00:00:01", "1969-12-31"]
    assert found.isna().tolist() == [False, False, False, True]


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland", "America/St_Johns"])
@pytest.mark.by_day(1)
def test_no_cell_depends_on_the_zone_of_the_machine(folder: Path, zone: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ, folder, SEEN],
        cwd=ROOT, env={**os.environ, "TZ": zone}, capture_output=True, text=True, timeout=HANG_TIMEOUT,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "frame": [f"{SEEN}+00"],
        "t.parquet": [f"{SEEN}+00"],
        "t.xlsx": [SEEN],
        "query": ["19 00:00"],
    }
