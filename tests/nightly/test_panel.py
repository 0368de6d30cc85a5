"""Eight quarters of a real panel survey through the whole pipeline: nobody pinned, no growing cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.panel import QUARTERS, Panel, results

pytestmark = pytest.mark.data


def test_eight_quarters_are_published_and_nobody_is_pinned(tmp_path: Path) -> None:
    panel = Panel(tmp_path)
    for period in QUARTERS:
        panel.make(period)
    aware, blind = panel.aware.quarters, panel.blind.quarters
    assert len(panel.published()) == len(aware) == len(blind) == 8
    for ours, without in zip(aware, blind, strict=True):
        assert ours.passes, ours
        assert ours.failing == 0, ours
        assert ours.suppressed <= 0.02, ours
        assert ours.ncp <= 2 * without.ncp, (ours, without)
        assert ours.ncp <= 2 * aware[0].ncp, (ours, aware[0])
        assert ours.pinned == 0, ours
    # What is held back: from the second quarter on, thousands would be pinned.
    for number, without in enumerate(blind[1:]):
        assert not without.passes, without
        assert without.pinned > 1000, (number, without)
        assert without.pinned_unmoved > 500, (number, without)
    assert results(aware, blind, "a test").count("\n| 201") == 8
