"""The benchmark of full-domain generalization runs, on few rows."""

from __future__ import annotations

import pytest
from test_benchmarks_run import cells

from benchmarks import full_domain


@pytest.mark.data
@pytest.mark.nightly
def test_every_run_has_a_row() -> None:
    text = full_domain.main(["--tables", "adult", "--rows", "300"])
    (rows,) = (cells(part) for part in text.split("\n\n") if part.startswith("|"))
    assert rows[0] == full_domain.HEADER
    assert len(rows) == 1 + len(full_domain.RUNS) * len(full_domain.STRENGTHS)
    assert [row[0] for row in rows[1:6]] == [name for name, _, _ in full_domain.RUNS]
    for row in rows[1:]:
        assert 0 <= float(row[6]) <= 1
