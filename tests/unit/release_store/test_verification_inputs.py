"""How inputs met their expectations is verified against the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults.alterations import unguarded


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    monkeypatch.delenv("RELEASEGATE_SIGNING_KEY", raising=False)
    made = ReleaseStore.create(tmp_path / "store")
    for n, passed in enumerate((False, True)):
        made.record_validation(
            series="clinic",
            period=f"202{n}",
            input_digest=f"{n}" * 64,
            n_rows=7,
            n_columns=3,
            passed=passed,
            results=[{"expectation": "expect_no_missing", "column": "age", "passed": passed}],
            actor="ann",
        )
    made.record_unread_input("clinic", "2026", actor="ann")
    return made


def test_what_nobody_touched_has_no_findings(store: ReleaseStore) -> None:
    assert verify(store) == []


def test_one_table_may_be_the_input_of_several_periods_with_other_rows_of_each(store: ReleaseStore) -> None:
    for n_rows in (3, 5):
        store.record_validation(
            series="clinic",
            period=f"203{n_rows}",
            input_digest="0" * 64,
            n_rows=n_rows,
            n_columns=3,
            passed=True,
            results=[],
            actor="ann",
        )
    assert verify(store) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE validation SET passed = true WHERE number = 1",
        "UPDATE validation SET results = '[]' WHERE number = 1",
        "UPDATE validation SET results = replace(results, 'age', 'sex') WHERE number = 2",
        "UPDATE validation SET series = 'ward' WHERE number = 1",
        "UPDATE validation SET period = '1999' WHERE number = 1",
        "UPDATE validation SET actor = 'eve' WHERE number = 1",
        "UPDATE validation SET n_rows = 8 WHERE number = 2",
        "UPDATE validation SET n_columns = 8 WHERE number = 2",
        f"UPDATE validation SET input_digest = '{'1' * 64}' WHERE number = 1",
        "UPDATE validation SET number = 9 WHERE number = 1",
        "DELETE FROM validation WHERE number = 1",
        "DELETE FROM validation",
        "INSERT INTO validation SELECT 3, * EXCLUDE number FROM validation WHERE number = 1",
    ],
)
@pytest.mark.by_day(5)
def test_every_change_of_a_row_is_found(store: ReleaseStore, change: str) -> None:
    with unguarded(store.root) as con:
        con.execute(change)
    assert verify(ReleaseStore.open(store.root)) != []
