"""The example policies load, and fit the tables that they are for."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from examples.register.generate import generate, write
from policy.load import load_policy, policy_document
from policy.model import NumericQuasiIdentifier, ReleasePolicy

ROOT = Path(__file__).parents[2]
POLICIES = ROOT / "examples" / "policies"
DATASETS = Path(os.environ.get("RELEASEGATE_DATASETS", ROOT.parent / "shared" / "datasets"))
INPUTS = {
    "adult": "adult/adult_train.csv",
    "bank": "bank_marketing/bank_full.csv",
    "diabetes": "diabetes130/diabetic_data.csv.gz",
    "eph": "eph/eph_panel_2003q3_2014q2.parquet",
}
PERIODS = {"eph": ["2003Q3", "2012Q3", "2012Q4", "2013Q1", "2014Q2"]}
TABLES = [(name, period) for name in INPUTS for period in PERIODS.get(name, [""])]


def test_every_example_is_tested() -> None:
    assert {path.stem for path in POLICIES.iterdir()} == {"register", "register-blind", *INPUTS}


@pytest.mark.parametrize("path", sorted(POLICIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_policy_loads(path: Path) -> None:
    policy = load_policy(path)
    assert policy.method.name == "ae-lrhma"
    assert policy.seed == 42


def test_the_blind_policy_differs_in_nothing_but_its_blindness() -> None:
    seeing = policy_document(load_policy(POLICIES / "register.yaml"))
    blind = policy_document(load_policy(POLICIES / "register-blind.yaml"))
    assert seeing["method"].pop("history_aware") is True
    assert blind["method"].pop("history_aware") is False
    assert seeing == blind


def test_the_register_fits_its_policy(tmp_path: Path) -> None:
    policy = load_policy(POLICIES / "register.yaml")
    tables = generate()
    for quarter, path in zip(tables, write(tmp_path, tables), strict=True):
        assert policy.source.path is not None
        assert Path(policy.source.path).name.replace("{period}", quarter) == path.name
        _check_fit(policy, path, quarter)


@pytest.mark.data
@pytest.mark.parametrize(("name", "period"), TABLES, ids=str)
def test_the_data_set_fits_its_policy(name: str, period: str) -> None:
    _check_fit(load_policy(POLICIES / f"{name}.yaml"), DATASETS / INPUTS[name], period)


def _check_fit(policy: ReleasePolicy, table: Path, period: str) -> None:
    """Hold columns, keys, allowed values, bounds, missing shares and the whole table's privacy model."""
    with duckdb.connect() as con:
        _read(con, policy, table, period)
        columns = [row[0] for row in con.execute("describe source").fetchall()]
        assert sorted(columns) == sorted(policy.roles.columns())
        n = _one(con, "select count(*) from source")
        assert n >= policy.expectations.rows.min
        if policy.roles.key is not None:
            assert _one(con, f'select count(distinct "{policy.roles.key}") from source') == n
        for name in columns:
            allowed = policy.expectations.missing_in.get(name, policy.expectations.missing)
            assert _one(con, f'select count(*) from source where "{name}" is null') <= allowed * n, name
        for name, qi in policy.roles.quasi_identifiers.items():
            if isinstance(qi, NumericQuasiIdentifier):
                low, high = qi.bounds
                held = f'coalesce(try_cast("{name}" as bigint) between {low} and {high}, false)'
                assert (
                    _one(con, f'select count(*) from source where "{name}" is not null and not {held}') == 0
                )
            else:
                assert qi.allowed is not None, name
                assert _values(con, name) <= set(qi.allowed), name
        for name, attribute in policy.roles.sensitive.items():
            if attribute.values is not None:
                assert _values(con, name) <= set(attribute.values)
            most = _one(con, f'select max(c) from (select count(*) c from source group by "{name}")')
            assert most / n < policy.privacy.p_max - 0.05, name
            assert len(_values(con, name)) >= max(policy.privacy.e, policy.privacy.l), name


def _read(con: duckdb.DuckDBPyConnection, policy: ReleasePolicy, table: Path, period: str) -> None:
    source = policy.source
    con.execute("set enable_progress_bar = false")
    if table.suffix == ".parquet":
        con.execute(f"create view input as from '{table}'")
    else:
        con.execute(
            f"create view input as from read_csv('{table}', all_varchar = true, header = true, "
            f"delim = '{source.delimiter}', nullstr = {list(source.missing)})"
        )
    query = (source.query or "select * from input").replace("{period}", period)
    con.execute(f"create table source as select columns(*)::varchar from ({query})")


def _one(con: duckdb.DuckDBPyConnection, query: str) -> int:
    row = con.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def _values(con: duckdb.DuckDBPyConnection, name: str) -> set[str]:
    rows = con.execute(f'select distinct "{name}" from source where "{name}" is not null').fetchall()
    return {row[0] for row in rows}
