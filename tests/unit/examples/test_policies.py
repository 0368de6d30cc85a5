"""The example policies load, and fit the tables that they are for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from examples.register.generate import generate, write
from policy.load import load_policy, policy_document
from policy.model import ReleasePolicy
from tasks.intake.read import read_table

ROOT = Path(__file__).parents[3]
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
    assert {path.stem for path in POLICIES.glob("*.yaml")} == {"register", "register-blind", *INPUTS}


@pytest.mark.parametrize("path", sorted(POLICIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_policy_loads(path: Path) -> None:
    policy = load_policy(path)
    assert policy.method.name == ("mondrian" if path.stem == "eph" else "ae-lrhma")
    assert policy.seed == 42


def test_the_blind_policy_differs_in_nothing_but_its_blindness() -> None:
    seeing = policy_document(load_policy(POLICIES / "register.yaml"))
    blind = policy_document(load_policy(POLICIES / "register-blind.yaml"))
    assert seeing["method"].pop("history") == "sticky"
    assert blind["method"].pop("history") == "blind"
    assert seeing == blind


@pytest.mark.integration
def test_the_register_fits_its_policy(tmp_path: Path) -> None:
    policy = load_policy(POLICIES / "register.yaml")
    tables = generate()
    for quarter, path in zip(tables, write(tmp_path, tables), strict=True):
        assert policy.source.path is not None
        assert Path(policy.source.path).name.replace("{period}", quarter) == path.name
        _check_fit(policy, path, quarter)


@pytest.mark.data
@pytest.mark.parametrize(("name", "period"), TABLES, ids=str)
@pytest.mark.by_day(2)
def test_the_data_set_fits_its_policy(name: str, period: str) -> None:
    _check_fit(load_policy(POLICIES / f"{name}.yaml"), DATASETS / INPUTS[name], period)


def _check_fit(policy: ReleasePolicy, table: Path, period: str) -> None:
    """Hold columns, key, allowed values, bounds, missing shares and the whole table's privacy model."""
    frame = read_table(policy, input_path=table, period=period, base=POLICIES).frame
    roles = policy.roles
    assert len(frame) >= policy.expectations.rows.min
    if roles.key is not None:
        assert frame[roles.key].is_unique
    for name in frame.columns:
        allowed = policy.expectations.missing_in.get(name, policy.expectations.missing)
        assert frame[name].isna().mean() <= allowed, name
    for name, numeric in roles.numeric.items():
        assert frame[name].dropna().between(*numeric.bounds).all(), name
    for name, categorical in roles.categorical.items():
        assert categorical.allowed is not None, name
        assert set(frame[name].dropna()) <= set(categorical.allowed), name
    for name, attribute in roles.sensitive.items():
        shares = frame[name].value_counts(normalize=True)
        assert set(shares.index) <= set(attribute.values or shares.index), name
        assert shares.max() < policy.privacy.p_max - 0.05, name
        assert len(shares) >= max(policy.privacy.e, policy.privacy.l), name
