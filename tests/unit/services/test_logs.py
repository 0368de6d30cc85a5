"""Structured logs: lines of JSON with the listed fields, and nothing else that a record may carry."""

from __future__ import annotations

import json
import logging
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from services.observability.logs import FIELDS, VARIABLE, JsonLines, log_event
from services.stages import artifact_row, figures_of
from tasks.types import Candidate, Partition, SourceTable

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "log.jsonl"
    monkeypatch.setenv(VARIABLE, str(file))
    return file


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_line_has_its_time_level_event_and_fields(log: Path) -> None:
    log_event("stage.ended", stage="intake", seconds=1.23456789, rows=7, series="clinic")
    (line,) = lines(log)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "event": "stage.ended",
        "series": "clinic",
        "stage": "intake",
        "seconds": 1.2346,
        "rows": 7,
    }


def test_the_file_opens_to_its_owner_only_and_is_added_to(log: Path) -> None:
    log_event("run.started")
    log_event("run.ended")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert [line["event"] for line in lines(log)] == ["run.started", "run.ended"]


def test_a_file_that_was_turned_over_is_begun_anew(log: Path) -> None:
    log_event("run.started")
    log.rename(log.with_suffix(".1"))
    log_event("run.ended")
    assert [line["event"] for line in lines(log)] == ["run.ended"]


def test_nothing_is_written_where_no_log_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    log_event("run.started")
    assert capsys.readouterr() == ("", "")


def test_a_minus_is_the_standard_error(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv(VARIABLE, "-")
    log_event("run.started", level="error")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert json.loads(shown.err)["level"] == "error"


def test_a_log_that_cannot_be_written_is_told_once_and_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "no" / "folder" / "log"))
    for _ in range(3):
        log_event("run.started")
    told = f"releasegate: the log of {VARIABLE} cannot be written (FileNotFoundError)\n"
    assert capsys.readouterr().err == told


def test_a_full_disk_is_told_without_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv(VARIABLE, "/dev/full")
    log_event("run.started")
    log_event("run.ended")
    assert capsys.readouterr().err == f"releasegate: the log of {VARIABLE} cannot be written (OSError)\n"


def test_messages_exceptions_and_unlisted_fields_are_never_written() -> None:
    try:
        raise ValueError("cnryraised")
    except ValueError:
        foreign = logging.LogRecord("x", logging.ERROR, "cnrypath", 1, "cnrymessage %s", ("cnryarg",), None)
        carrying = logging.makeLogRecord(
            {
                "msg": "run.ended",
                "levelno": logging.INFO,
                "levelname": "INFO",
                "exc_text": "cnrytrace",
                "fields": {"row": "cnryrow", "rows": "cnryrows", "series": 7, "classes": True, "bytes": 3},
            }
        )
    written = JsonLines().format(foreign) + JsonLines().format(carrying)
    assert "cnry" not in written
    assert json.loads(JsonLines().format(carrying)).keys() == {"time", "level", "event", "bytes"}
    assert json.loads(JsonLines().format(foreign))["event"] == "unknown"


def test_a_field_that_is_not_listed_cannot_be_asked_for() -> None:
    with pytest.raises(KeyError):
        log_event("run.ended", person="cnry")
    assert "person" not in FIELDS


def test_a_stage_is_told_by_what_it_gave(tmp_path: Path) -> None:
    source = SourceTable(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), "0" * 64, "people.csv")
    assert figures_of("intake", 1.5, source).document().items() >= {"rows": 2, "columns": 2}.items()
    partition = Partition(np.array([0, 0, 1, -1]))
    assert figures_of("repair", 1.5, partition).document().items() >= {"rows": 3, "classes": 2}.items()
    (tmp_path / "data.csv").write_bytes(bytes(100))
    staged = Candidate("c", "s", "p", tmp_path, {"data.csv": "", "gone": ""}, "", 9, 8)
    figures = figures_of("staging", 1.5, staged)
    assert figures.document().items() >= {"rows": 8, "bytes": 100, "seconds": 1.5}.items()
    assert figures_of("validation", 1.5, 12).rows is None
    row = artifact_row(figures)
    assert (row["rows"], row["classes"], row["MiB written"]) == ("8", "", "0.00")
    assert float(row["peak MiB"].replace(",", "")) > 10
