"""The benchmark of cells that are used again runs, on few rows."""

from __future__ import annotations

import pytest
from test_benchmarks_run import cells

from benchmarks import reuse


@pytest.mark.data
@pytest.mark.nightly
def test_every_period_has_a_row_for_each_way() -> None:
    words = ["--tables", "adult", "--methods", "mondrian", "--rows", "2000"]
    (rows,) = (cells(part) for part in reuse.main(words).split("\n\n") if part.startswith("|"))
    assert rows[0] == reuse.HEADER
    assert len(rows) == 1 + len(reuse.RECODINGS) * (1 + len(reuse.WAYS))
    for first, anew, cut, left_out in (rows[1:5], rows[5:9]):
        assert (first[0], first[5], anew[3]) == ("first half", "", "all made anew")
        assert cut[8] == "0.0%"
        assert cut[5:7] == left_out[5:7]  # the same cells stand
        assert left_out[4] == left_out[5]  # and there are no others
        assert float(cut[6].rstrip("%")) >= float(anew[6].rstrip("%"))
