"""`releasegate report ID`: one report as one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.__main__ import main
from tests.support.pages.lived import read


def report(folder: Path, *words: str) -> int:
    return main(["--store", str(folder / "store"), "report", *words])


@pytest.mark.parametrize(
    ("identifier", "says"),
    [
        ("clinic-2021-r1", ["Release of clinic, 2021", "✓ Published"]),
        ("clinic-2021-c1", ["Release of clinic, 2021", "clinic-2021-r1"]),
        ("clinic-2023-r1", ["Superseded by a later release"]),
        (
            "clinic-2022-r1",
            ["Withdrawn", "Rows and attribute values are not shown", "the release was withdrawn."],
        ),
        (
            "clinic-2024-c1",
            ["Candidate of clinic, 2024", "Blocked by k", "Rows and attribute values are not shown"],
        ),
        ("clinic-2025-c1", ["Candidate of clinic, 2025", "awaits approval by one person"]),
    ],
)
def test_one_report(copied: Path, tmp_path: Path, identifier: str, says: list[str]) -> None:
    out = tmp_path / "one.html"
    assert report(copied, identifier, "--out", str(out)) == 0
    text = read(out).text()
    for one in says:
        assert one in text
    assert out.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir() if one.name not in ("lived",)] == ["one.html"]
    assert report(copied, identifier, "--out", str(out)) == 0  # a report is replaced


def test_an_unknown_id_is_asked_about(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(copied, "clinic-2021-r11") == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "did you mean" in said[0]
    assert "clinic-2021-r1" in said[0]


def test_what_is_no_report_is_not_written_over(copied: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    assert report(copied, "clinic-2021-r1", "--out", str(mine)) == 2
    assert mine.read_text() == "mine"
    assert report(copied, "clinic-2021-r1", "--out", str(copied / "store" / "x.html")) == 2


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("a" * 300, "has too long a name"),
        (".", "exists already, and is no report"),
        ("", "exists already, and is no report"),
    ],
)
def test_a_place_that_takes_no_file_is_told(
    copied: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    out: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert report(copied, "clinic-2021-r1", "--out", out) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert says in said[0]
    assert [one.name for one in tmp_path.iterdir()] == ["lived"]
