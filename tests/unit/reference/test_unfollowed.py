"""What a table without a key tells when it is released again without somebody: why `worlds` holds it back."""

from __future__ import annotations

import pytest

from tests.reference.unfollowed import asked, main

# docs/gates.md: of four people each, whose illness is read.
DOCUMENTED = {
    "ae-low-umr": 2, "ae-lrhma": 4, "ae-narrow": 1, "ae-overlapping": 0, "apmca": 0, "curriculum": 1,
    "full-domain": 0, "ke-mdav": 3, "lhd": 4, "m-isomdav": 4, "m-llemdav": 2, "m-mdav": 2, "mdav": 3,
    "mondrian": 0, "vq": 0,
}  # fmt: skip


def test_every_other_gate_passes_what_tells_somebodys_value() -> None:
    n_read, n_asked = asked("lhd", 40, 1)
    assert 0 < n_read <= n_asked


@pytest.mark.nightly
def test_the_documented_counts_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    said = capsys.readouterr().out.splitlines()
    assert said == [f"{name}: the illness of {n} of 4 people is read" for name, n in DOCUMENTED.items()]
