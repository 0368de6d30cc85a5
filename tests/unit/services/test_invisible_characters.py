"""Characters that are not shown: a policy removes them, and every command warns of those that are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cli.__main__ import main
from policy.load import parse_policy
from policy.model import ReleasePolicy
from policy.trusted import Trusted
from services.drafting.draft import draft
from services.source import read_source

ZERO_WIDTH = "\u200b"
POLICY = {
    "series": "s",
    "source": {"path": "t.csv"},
    "roles": {
        "key": "pid",
        "quasi_identifiers": {
            "age": {"type": "integer", "bounds": [0, 110]},
            "town": {"type": "categorical"},
        },
        "sensitive": {"disease": {"stability": "stable"}},
    },
    "privacy": {"k": 2, "e": 1},
}
WARNING = (
    "column 'town': 2 rows hold characters that are not shown, such as U+200B, or a letter and its accent "
    "apart: texts that look alike differ. Correct the file, or, in a policy, set source.invisible: removed."
)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    towns = ("Elm", f"El{ZERO_WIDTH}m", "El\u00adm", "Ash")
    rows = [f"p{i},{30 + i % 9},{towns[i] if i < 4 else 'Ash'},{('flu', 'cold')[i % 2]}\n" for i in range(40)]
    text = "pid,age,town\ufeff,disease\n" + "".join(rows)
    (tmp_path / "t.csv").write_text(text.replace("\ufeff", ""), encoding="utf-8")
    (tmp_path / "named.csv").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def towns_of(folder: Path, name: str = "t.csv", **source: str) -> list[str]:
    policy = ReleasePolicy.model_validate({**POLICY, "source": source})
    path = folder / name
    table = read_source(policy, input_path=path, period="2026Q1", base=folder, trusted=Trusted())
    return [str(town) for town in table.frame["town"][:4]]


def test_they_are_kept_with_a_warning_or_removed(folder: Path, capsys: Capture) -> None:
    assert towns_of(folder) == ["Elm", "El\u200bm", "El\u00adm", "Ash"]
    assert capsys.readouterr().err == f"releasegate: warning: t.csv: {WARNING}\n"
    assert towns_of(folder, "named.csv", invisible="removed") == ["Elm", "Elm", "Elm", "Ash"]
    assert capsys.readouterr().err == ""


def test_check_and_assess_warn(folder: Path, capsys: Capture) -> None:
    (folder / "p.yaml").write_text(yaml.safe_dump(POLICY), encoding="utf-8")
    assert main(["check", "p.yaml", "--period", "2026Q1"]) == 0
    assert WARNING in capsys.readouterr().out
    assert main(["assess", "t.csv", "--qi", "age,town"]) == 0
    assert capsys.readouterr().err == f"releasegate: warning: t.csv: {WARNING}\n"
    assert main(["assess", "t.csv", "--qi", "age"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["t.csv", "named.csv"])
def test_a_draft_removes_them_and_says_so(folder: Path, name: str) -> None:
    text = draft(folder / name, trial=False)
    assert "  # In cells of town are characters that are not shown" in text
    policy = parse_policy(text, folder / "p.yaml")
    assert policy.source.invisible == "removed"
    assert set(policy.roles.quasi_identifiers) == {"age", "town"}
    assert ZERO_WIDTH not in text
