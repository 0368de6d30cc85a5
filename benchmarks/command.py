"""What the first release of a large table costs: `releasegate init` and `releasegate run`, whole.

    python -m benchmarks.command [--rows N ...] [--methods NAME ...] [--tables NAME ...]
                                 [--memory-limit SIZE] [--without-csv] [--write]

Samples of the household survey (EPH), a row a person, with eight quasi-identifiers; its rows, repeated as
often as it takes, as they are (`repeated`) or with an income by which most of them differ (`income`); and
Adult. Each command is a process of its own, imports included. Beside it, DuckDB alone reads the same file,
groups it by its quasi-identifiers, and writes it sorted: the least that a release could cost; of more than
200,000,000 rows that is left out. With `--memory-limit` the store has a `trusted.yaml` with this limit, and
with a folder to spill. With `--without-csv` Parquet alone is published, and DuckDB alone writes Parquet.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import yaml

from benchmarks import report
from benchmarks.child import apart, run_child
from policy.trusted import TRUSTED_FILE

PANEL = Path("eph") / "eph_panel_2003q3_2014q2.parquet"
POLICIES = report.ROOT / "examples" / "policies"
ROWS = (100_000, 300_000, 1_000_000)
METHODS = ("mondrian", "ae-lrhma")
TABLES = ("eph", "repeated", "income", "adult")
MOST_INCOME = 1_000_000
MOST_SORTED = 200_000_000  # rows that DuckDB alone is asked to sort
SEED = 42
PERIOD = "2020"
ADULT = Path("adult") / "adult_train.csv"
# What a child runs: it reads the table, groups it, and writes each row with the size of its group, sorted.
PLAIN = """
import sys, duckdb
file, target, *columns = sys.argv[1:]
names = ", ".join(f'"{name}"' for name in columns)
sizes = f"SELECT {names}, count(*) OVER (PARTITION BY {names}) AS n FROM '{file}' ORDER BY {names}"
duckdb.execute(f"COPY ({sizes}) TO '{target}'")
"""
HEADER = (
    "table", "rows", "method", "CPU seconds", "wall seconds", "peak memory, MB", "CPU seconds, DuckDB alone",
    "ratio", "classes", "NCP", "report, MB",
)  # fmt: skip
COLUMNS = "agglomeration, age, sex, relationship, marital, education, birthplace, activity, health_cover"
# Beside the five of examples/policies/eph.yaml.
MORE_QUASI_IDENTIFIERS: dict[str, Any] = {
    "relationship": {
        "type": "categorical",
        "hierarchy": {
            "couple": ["head", "spouse"],
            "younger": ["child", "child-in-law", "grandchild"],
            "older": ["parent", "parent-in-law"],
            "others": ["sibling", "other kin", "non-kin"],
        },
    },
    "birthplace": {
        "type": "categorical",
        "hierarchy": {
            "the country": ["this city", "elsewhere in province", "other province"],
            "abroad": ["bordering country", "other country"],
            "not told": ["unknown"],
        },
    },
    "activity": {
        "type": "categorical",
        "hierarchy": {
            "active": ["employed", "unemployed"],
            "not active": ["inactive", "under 10"],
            "not told": ["no interview"],
        },
    },
}


@dataclass(frozen=True)
class Measured:
    """A whole release: what its commands cost, what DuckDB alone costs, and what came out; sizes in bytes."""

    table: str
    rows: int
    method: str
    wall: float
    cpu: float
    peak: int
    duckdb_cpu: float | None
    classes: int
    ncp: float
    report: int


def survey_policy(method: str) -> dict[str, Any]:
    """Return the survey's example policy for one table of eight quasi-identifiers, as YAML holds it."""
    found: dict[str, Any] = yaml.safe_load((POLICIES / "eph.yaml").read_text(encoding="utf-8"))
    found["source"] = {}
    found["roles"]["quasi_identifiers"] |= MORE_QUASI_IDENTIFIERS
    found["expectations"] = {"missing": 0, "unique_key": True}
    found["method"]["name"] = method
    found["gates"] = {}
    return found


def repeated_policy(method: str) -> dict[str, Any]:
    """Return the survey's policy without a key."""
    found = survey_policy(method)
    del found["roles"]["key"]
    found["expectations"] = {"missing": 0}
    return found


def income_policy(method: str) -> dict[str, Any]:
    """Return the survey's policy with an income as a ninth quasi-identifier, and without a key."""
    found = repeated_policy(method)
    found["roles"]["quasi_identifiers"]["income"] = {"type": "numeric", "bounds": [0, MOST_INCOME]}
    return found


def adult_policy(method: str) -> dict[str, Any]:
    """Return Adult's example policy with another method, and no limits of risk and loss."""
    found: dict[str, Any] = yaml.safe_load((POLICIES / "adult.yaml").read_text(encoding="utf-8"))
    found["method"] = {"name": method}
    found["gates"] = {}
    return found


def write_sample(panel: Path, rows: int, file: Path) -> None:
    """Write a random sample of the panel's rows, in the panel's order; each row gets a key of its own."""
    with duckdb.connect() as con:
        con.execute("SET enable_progress_bar=false; SET memory_limit='4GB'")
        [(n,)] = con.execute("SELECT count(*) FROM read_parquet(?)", [str(panel)]).fetchall()
        con.register(
            "chosen", pd.DataFrame({"place": np.sort(np.random.default_rng(SEED).permutation(n)[:rows])})
        )
        con.execute(
            f"COPY (SELECT person_id || ' ' || place AS person_id, {COLUMNS} "
            f"FROM read_parquet('{panel}', file_row_number=true) JOIN chosen ON file_row_number = place "
            f"ORDER BY place) TO '{file}' (FORMAT parquet)"
        )


def write_repeated(panel: Path, rows: int, file: Path, more: str = "") -> None:
    """Write the panel's rows again and again until there are so many, with `more` columns in SQL."""
    with duckdb.connect() as con:
        con.execute("SET enable_progress_bar=false; SET memory_limit='4GB'")
        [(n,)] = con.execute("SELECT count(*) FROM read_parquet(?)", [str(panel)]).fetchall()
        times, rest = divmod(rows, n)
        names = f"{COLUMNS}, file_row_number"
        con.execute(
            f"CREATE TABLE panel AS SELECT {names} FROM read_parquet('{panel}', file_row_number=true)"
        )
        passes = [f"SELECT *, {again}::BIGINT AS again FROM panel" for again in range(times + 1)]
        whole = f"{' UNION ALL '.join(passes)} WHERE file_row_number < {rest}"
        order = "ORDER BY again, file_row_number" if more else ""
        if not more:  # the passes follow one another more or less, and equal rows have no order
            con.execute("SET preserve_insertion_order=false")
        con.execute(f"COPY (SELECT {COLUMNS}{more} FROM ({whole}) {order}) TO '{file}' (FORMAT parquet)")


def write_incomes(panel: Path, rows: int, file: Path) -> None:
    """Write the panel's rows again and again until there are so many, each with an income drawn for it."""
    write_repeated(panel, rows, file, f", (hash(file_row_number, again) % {MOST_INCOME})::INTEGER AS income")


def limit_memory(folder: Path, memory_limit: str) -> None:
    """Set the limit for the store in `folder`, and give it a folder to spill."""
    spill = folder.resolve() / "spill"
    spill.mkdir(mode=0o700)
    trusted = folder / TRUSTED_FILE
    trusted.write_text(yaml.safe_dump({"memory_limit": memory_limit, "spill": str(spill)}), encoding="utf-8")
    trusted.chmod(0o600)


def measure(
    table: str,
    method: str,
    file: Path,
    folder: Path,
    memory_limit: str | None = None,
    *,
    with_csv: bool = True,
) -> Measured:
    """Release one file into a new store in `folder`, and return what it cost.

    Without a CSV only Parquet is published, and DuckDB alone writes it too. Raises RuntimeError if a command
    fails, or the release is not published.
    """
    document = POLICY_OF[table](method)
    if not with_csv:
        document.setdefault("publication", {})["formats"] = ["parquet"]
    policy = folder / "policy.yaml"
    policy.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "cli", "--store", str(folder / "store")]
    made, _ = run_child([*command, "init"])
    if memory_limit is not None:
        limit_memory(folder, memory_limit)
    released, printed = run_child(
        [*command, "run", str(policy), "--input", str(file), "--period", PERIOD, "--json"]
    )
    outcome = json.loads(printed)
    columns = [*document["roles"]["quasi_identifiers"], *document["roles"]["sensitive"]]
    rows, plain_cpu = int(outcome["rows"]), None
    plain_file = folder / ("plain.csv" if with_csv else "plain.parquet")
    if rows <= MOST_SORTED:
        plain, _ = run_child([sys.executable, "-c", PLAIN, str(file), str(plain_file), *columns])
        plain_cpu = plain.cpu
    named = [table, *([] if memory_limit is None else [memory_limit]), *([] if with_csv else ["Parquet"])]
    return Measured(
        ", ".join(named),
        rows,
        method,
        made.wall + released.wall,
        made.cpu + released.cpu,
        max(made.peak, released.peak),
        plain_cpu,
        outcome["classes"],
        outcome["ncp"],
        Path(outcome["report"]).stat().st_size,
    )


POLICY_OF = {
    "eph": survey_policy,
    "repeated": repeated_policy,
    "income": income_policy,
    "adult": adult_policy,
}
SOURCE_OF = {"eph": write_sample, "repeated": write_repeated, "income": write_incomes}


def cells(one: Measured) -> list[str]:
    """Return a row of the results."""
    return [
        one.table,
        f"{one.rows:,}",
        one.method,
        f"{one.cpu:.1f}",
        f"{one.wall:.1f}",
        f"{one.peak / 1e6:,.0f}",
        "" if one.duckdb_cpu is None else f"{one.duckdb_cpu:.2f}",
        "" if one.duckdb_cpu is None else f"{one.cpu / one.duckdb_cpu:.0f}",
        f"{one.classes:,}",
        f"{one.ncp:.4f}",
        f"{one.report / 1e6:.2f}",
    ]


WORDS = """# The first release of a large table

What `releasegate init` and `releasegate run` cost together, each command a process of its own, imports
included. The tables are random samples of the household survey (EPH, Source: INDEC), each row another
person's, with the eight quasi-identifiers agglomeration, age, sex, relationship, marital, education,
birthplace and activity; *repeated*: the survey's rows, repeated and without a key; *income*: the same with a
made-up income from 0 to 999,999 as a ninth, by which most of them differ; and Adult. Otherwise the policies
are `examples/policies/eph.yaml` and `examples/policies/adult.yaml` without limits of risk and loss; every
release is published. A size after the table's name is the `memory_limit` of `trusted.yaml`, with a folder to
spill; *Parquet*: nothing but Parquet is published.

*DuckDB alone* reads the same file, counts how many rows are equal in the quasi-identifiers and the sensitive
attribute, and writes all rows with these counts as CSV, sorted: the least that a release could cost. *Ratio*
is that of the CPU seconds. The CPU seconds of a busy machine are up to twice those of an idle one. The
peaks are too high that were measured before those of *repeated* with 1,000,000 and 10,000,000 rows: they are
at least what the benchmark took to write the table. The survey's 1,000,000 rows take 1,271 MB.

A report's scripts come from the account's cache, but for the first report of an account, which bundles them.
Five runs each in alternation on a busy machine: with the cache, Adult took a median of 6.7 CPU seconds with
Mondrian (6.4 to 7.6) and 12.1 with AE-LRHMA (11.9 to 13.2); without it, 8.4 (8.2 to 9.2) and 13.4 (12.7 to
13.9). Python compiled our own modules anew in each of these runs (PYTHONDONTWRITEBYTECODE). Older rows of
*now* were measured without the cache."""


def kept(rows: Sequence[Sequence[str]], version: str) -> list[list[str]]:
    """Add rows to `results/command.csv` under the version that they were measured with, and return all."""
    return report.kept_rows("command.csv", ["version", *HEADER], [[version, *row] for row in rows], 4)


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure the releases, and return the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.command", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS), help="rows of the samples")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--memory-limit", help="memory_limit of the store, which can spill")
    parser.add_argument("--without-csv", action="store_true", help="publish Parquet alone")
    parser.add_argument("--version", default="now", help="what the page calls the measured version")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/command.md")
    chosen = parser.parse_args(arguments)
    found = []
    with tempfile.TemporaryDirectory() as name:
        files = [("adult", report.datasets() / ADULT)] if "adult" in chosen.tables else []
        for table, write in SOURCE_OF.items():
            for rows in chosen.rows if table in chosen.tables else []:
                files.append((table, Path(name) / f"{table}-{rows}.parquet"))
                apart(write, report.datasets() / PANEL, rows, files[-1][1])
        for table, file in files:
            for method in chosen.methods:
                with tempfile.TemporaryDirectory(dir=name) as folder:
                    one = measure(
                        table,
                        method,
                        file,
                        Path(folder),
                        chosen.memory_limit,
                        with_csv=not chosen.without_csv,
                    )
                    found.append(cells(one))
                print(*found[-1], sep="  ", file=sys.stderr, flush=True)
                if chosen.write:
                    kept(found[-1:], chosen.version)
    if chosen.write:
        shown = report.table(["version", *HEADER, report.DAY], kept([], chosen.version))
    else:
        shown = report.table(HEADER, found)
    page = "\n\n".join([WORDS, report.measured_with("python -m benchmarks.command --write"), shown])
    print(page)
    if chosen.write:
        report.write("command.md", page)
    return page


if __name__ == "__main__":
    main()
