"""The exact attacker of registers: with signatures it reads nobody, without regard for the history some."""

from __future__ import annotations

import pytest

from tests.reference.registers import attacked, main


@pytest.mark.parametrize("history", ["sticky", "blind"])
def test_signatures_alone_keep_the_exact_attacker_out(history: str) -> None:
    found = attacked("made up", 0.01, "mondrian", 300, 3, history=history)
    assert found.people >= 300
    assert found.undecided == 0
    assert (found.pinned > 0) == (history == "blind")


@pytest.mark.nightly
def test_the_command_names_each_register(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--people", "2000", "--periods", "4", "--only", "made up, 1%"])
    said = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in said] == ["made up, 1%, ae-lrhma", "made up, 1%, mondrian"]
    assert all(" 0 of 2060 people (0.0%) have a value for certain, 0 undecided" in line for line in said)
