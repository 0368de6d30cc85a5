"""What the benchmark counts of a release's columns, on a table of a few rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.groupable import columns_of, free
from policy.categorical import NominalQuasiIdentifier
from tests.support.small import ILLNESS, small_policy

COLUMNS = {
    "age": {"type": "integer", "bounds": [0, 99]},
    "size": {"type": "ordinal", "values": ["small", "middle", "large"]},
    "city": {"type": "categorical", "hierarchy": {"north": ["Riga", "Oslo"], "south": ["Bari", "Nice"]}},
}
ROWS = [
    *("1,small,Riga,flu", "2,middle,Oslo,hiv"),
    *("50,large,Bari,flu", "50,large,Bari,hiv"),
    *("98,small,Nice,flu", "99,large,Bari,hiv"),
]


def test_labels_exact_rows_and_medians(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["age,size,city,illness", *ROWS]) + "\n", encoding="utf-8")
    method = {"name": "mondrian", "recoding": "hierarchy", "history": "blind"}
    policy = small_policy(COLUMNS, ILLNESS, method=method, gates={"ncp": {"max": 1.0}})
    found, ncp = columns_of(policy, file)
    # Classes: 1..2 small..middle north; 50 large Bari; 98..99 * south.
    assert {name: (one.by.labels, one.by.median) for name, one in found.items()} == {
        "age": (3, 1.0),
        "size": (3, 2.0),
        "city": (3, 2.0),
    }
    assert all(one.by.exact == pytest.approx(1 / 3) for one in found.values())
    assert ncp == pytest.approx(sum(one.ncp for one in found.values()) / 3)


def test_free_sets_have_no_order_and_no_hierarchy() -> None:
    policy = small_policy(COLUMNS, ILLNESS, method={"name": "mondrian", "recoding": "hierarchy"})
    plain = free(policy)
    assert plain.method.recoding == "sets"
    assert all(type(qi) is NominalQuasiIdentifier for qi in plain.roles.categorical.values())
    assert plain.roles.categorical["size"].allowed == ("small", "middle", "large")
    assert all(plain.closure(name) == "none" for name in plain.roles.categorical)
