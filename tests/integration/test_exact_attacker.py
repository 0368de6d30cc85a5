"""The exact attacker of `tests/reference/exact.py` reads whole stores as the flow makes them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.reference.exact import main, verdicts
from tests.support import plain_run
from tests.support.at_work import withdraw
from tests.support.front_desk import POLICY, Desk, people


def test_a_first_release_pins_nobody_and_a_second_is_judged_with_it(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert desk.run(desk.policy(), desk.table()) == 0
    later = desk.folder / "later.csv"
    people().iloc[20:].to_csv(later, index=False)
    code = desk.run(desk.policy(), later, "2026Q2")
    capsys.readouterr()
    main([str(desk.root), "--series", "clinic"])
    first, *more = capsys.readouterr().out.splitlines()
    assert first.startswith("clinic-2026Q1-r1: 0 of 400 people (0.0%) have a value for certain, 0 undecided")
    assert len(more) == (code == 0)


def released(desk: Desk, history: str) -> list[tuple[int, int]]:
    """Release 200 people three times, 8 of whom leave each time, and return whom the attacker pins or not."""
    gates = {"ncp": {"max": 1}, "suppression": {"max": 0.1}}
    gates |= {"person": {"compare": history == "sticky", "cells": "unfollowed"}}
    method = {"name": "mondrian", "history": history}
    # What the policy says of a population that is not followed lets blind releases out.
    population = "overlapping" if history == "sticky" else "independent"
    policy = desk.policy(method=method, gates=gates, population=population)
    table, rng = people(1).iloc[:200], np.random.default_rng(0)
    for number, period in enumerate(("2026Q1", "2026Q2", "2026Q3")):
        if number:
            new = [f"new{number}x{i}" for i in range(8)]
            joined = people(10 + number).iloc[:8].assign(person=new, name=new, street=new)
            table = pd.concat([table.iloc[rng.permutation(len(table))[:-8]], joined])
        table.to_csv(desk.folder / f"{period}.csv", index=False)
        assert plain_run.run(desk.store, policy, desk.folder / f"{period}.csv", period).endswith("r1")
    return [(one.pinned, one.undecided) for one in verdicts(desk.root, "clinic", 60.0)]


def test_a_withdrawn_release_is_judged_and_a_series_without_people_is_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert desk.run(desk.policy(), desk.table()) == 0
    withdraw(desk.store, "clinic-2026Q1-r1", by="eve", reason="an error")
    roles = {name: each for name, each in POLICY["roles"].items() if name not in ("key", "kept")}
    roles["identifiers"] = ["name", "person"]
    keyless = desk.policy("ward.yaml", series="ward", roles={**roles, "dropped": ["street", "ward"]})
    assert desk.run(keyless, desk.table()) == 0
    capsys.readouterr()
    main([str(desk.root)])
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("clinic-2026Q1-r1: 0 of 400 people")
    assert second == "ward is not judged: ward-2026Q1-r1 keeps no people"


def test_with_signatures_the_exact_attacker_pins_nobody(desk: Desk) -> None:
    """The wards, which are kept and never change, link rows to the attacker too."""
    assert released(desk, "sticky") == [(0, 0)] * 3


def test_without_regard_for_the_history_the_exact_attacker_pins_somebody(desk: Desk) -> None:
    first, *later = released(desk, "blind")
    assert first == (0, 0)
    assert max(pinned for pinned, _ in later) > 0
