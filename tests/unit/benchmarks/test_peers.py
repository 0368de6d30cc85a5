"""The comparison with pycanon: what it makes of an answer, without asking for one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from benchmarks import peers


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> peers.Table:
    return peers.published("synthetic", tmp_path_factory.mktemp("peers"))


def answer_of(table: peers.Table) -> dict[str, dict[str, Any]]:
    """What pycanon would answer if it read every measure as the comparison says that it does."""
    return {
        name: {title: (one.as_theirs or one.ours)(table, name) for title, one in peers.MEASURES.items()}
        for name in table.policy.roles.sensitive
    }


def test_a_difference_is_told_as_equal_explained_or_not(table: peers.Table) -> None:
    words = {(row.attribute, row.measure): row.word for row in peers.compared(table, answer_of(table))}
    read_otherwise = {"entropy l", "c of recursive (c,l)"}
    for (_, measure), word in words.items():
        assert word == ("another reading" if measure in read_otherwise else "equal")
    assert len(words) == 2 * len(peers.MEASURES)
    wrong = answer_of(table)
    wrong["visits"]["t"] += 0.001
    wrong["diagnosis"]["c of recursive (c,l)"] = None
    found = [row for row in peers.compared(table, wrong) if row.word == "UNEXPLAINED"]
    assert [(row.attribute, row.measure) for row in found] == [
        ("diagnosis", "c of recursive (c,l)"),
        ("visits", "t"),
    ]
    assert math.isnan(found[0].theirs)
    assert "| UNEXPLAINED |" in peers.told(table, found)


def test_an_unexplained_difference_is_an_error(
    table: peers.Table, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "environment", lambda folder: folder)
    monkeypatch.setattr(peers, "ask", lambda _python, tables: [answer_of(one) for one in tables])
    text = peers.main(["--tables", "synthetic"])
    assert text in capsys.readouterr().out
    assert "## synthetic" in text
    wrong = answer_of(table)
    wrong["visits"]["k"] = 4
    monkeypatch.setattr(peers, "ask", lambda _python, _tables: [wrong])
    with pytest.raises(RuntimeError, match=r"nothing explains the difference of k$"):
        peers.main(["--tables", "synthetic"])


def test_the_other_reading_of_c_takes_the_rarest_first() -> None:
    # 1, 2, 4 of 7: 1 / (2 + 4), the next whole number 1. Twice 2: 2 / 2, the next one 2.
    assert peers.c_as_pycanon(np.array([[4, 1, 2]]), 2) == 1
    assert peers.c_as_pycanon(np.array([[4, 1, 2], [0, 2, 2]]), 2) == 2


def test_pycanon_is_asked_for_the_columns_of_the_file(table: peers.Table) -> None:
    question: dict[str, Any] = json.loads(json.dumps(table.question()))
    frame = pd.read_csv(question["file"])
    assert question["quasi_identifiers"] == ["age_min", "age_max", "income_min", "income_max", "region"]
    assert [*question["quasi_identifiers"], *question["sensitive"]] == list(frame.columns)
    assert len(frame.groupby(question["quasi_identifiers"])) == table.classes.n_classes
    assert peers.MEASURES["distinct l"].ours(table, "visits") == int(
        frame.groupby(question["quasi_identifiers"])["visits"].nunique().min()
    )


def test_the_made_up_table_is_the_same_each_time(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    first, again = peers.synthetic(tmp_path), peers.synthetic(tmp_path / "again")
    assert first.read_bytes() == again.read_bytes()
    with duckdb.connect() as con:
        (rows,) = con.execute(f"SELECT count(*) FROM '{first}'").fetchone() or (0,)
    assert rows == peers.SYNTHETIC_ROWS


def test_a_command_that_fails_tells_its_last_words() -> None:
    with pytest.raises(RuntimeError, match="no such peer"):
        peers._run([peers.sys.executable, "-c", "import sys; sys.exit('no such peer')"], "")
