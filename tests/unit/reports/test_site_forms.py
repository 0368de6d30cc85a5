"""What the site makes of old stores, and of what was kept in a form that it cannot show."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.__main__ import main
from release_store.audit import keys
from release_store.audit.keys import KEY_VARIABLE
from release_store.publishing.public_files import candidate_folder
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from reports.site import overview as overview_module
from tests.faults.alterations import unguarded
from tests.fixtures.make_store import HERE, TEST_KEY, unpack
from tests.support.pages import sheets
from tests.support.pages.lived import built_from, data, read
from tests.support.store.hand_made import K_FAILS, K_PASSES, publish_one, stage

OLD = sorted(HERE.glob("store_schema_*.zip"))


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    (tmp_path / "made").mkdir()
    return ReleaseStore.create(tmp_path / "made" / "store")


def released(
    store: ReleaseStore, period: str, *, figures: Any = None, gate: Any = K_PASSES, **of: Any
) -> None:
    record = stage(store, period=period, **of)
    store.record_gates(record.candidate_id, [gate], to=CandidateState.APPROVED, actor="ann", figures=figures)
    publish_one(store, record.candidate_id)


@pytest.mark.parametrize("old", OLD, ids=[path.stem for path in OLD])
def test_old_stores_have_a_site(old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpack(old, tmp_path)
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / TEST_KEY))
    built = built_from(tmp_path, tmp_path / "out")
    assert built.findings == ()
    assert built.gaps == ()
    store = ReleaseStore.open(tmp_path / "store")
    assert len(list((tmp_path / "out/series").glob("*/*.html"))) == len(store.candidates()) + 1
    text = read(tmp_path / "out/series/clinic/clinic-2024-r1.html").text()
    assert "It has no stored figures: it was made before releasegate stored any." in text
    assert "Published" in text


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan], ids=str)
@pytest.mark.by_day(1)
def test_a_value_that_is_no_number_is_told_and_the_rest_is_shown(
    made: ReleaseStore, tmp_path: Path, value: float
) -> None:
    released(made, "2023", figures=sheets.figures())
    released(made, "2024", figures=sheets.figures(), gate=replace(K_PASSES, value=value))
    released(made, "2025", figures=sheets.figures())
    built = built_from(tmp_path / "made", tmp_path / "out")
    assert built.findings == ()
    assert [one.where for one in built.gaps] == ["clinic-2024-r1"]
    page = read(tmp_path / "out/series/clinic/clinic-2024-r1.html").text()
    assert "The value of the gate k is" in page
    assert "The gates" in page  # the report is there
    series = read(tmp_path / "out/series/clinic/index.html").text()
    assert "1 release was not measured." in series
    sides = data(tmp_path / "out", "sides-clinic")["sides"]  # type: ignore[call-overload]
    assert set(sides) == {"clinic-2023-r1", "clinic-2024-r1", "clinic-2025-r1"}


TEXTS = {"attribute": "a", "basis": "alone", "least": 2, "counts": [["x", 1]]}
ODD_FIGURES = {
    "of another format": {"format": "releasegate/figures/2", "classes": "many"},
    "of no format": {"anything": [1, 2]},
    "not of the form that it says": {"format": "releasegate/figures/1", "narrowing": "none", "classes": 3},
    "with texts for counts": {**sheets.figures(), "narrowing": [TEXTS]},
}


@pytest.mark.parametrize("figures", ODD_FIGURES.values(), ids=ODD_FIGURES)
@pytest.mark.by_day(1)
def test_figures_that_cannot_be_drawn_are_told_and_the_rest_is_shown(
    made: ReleaseStore, tmp_path: Path, figures: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    released(made, "2024", figures=sheets.figures())
    released(made, "2025", figures=figures)
    assert main(["--store", str(made.root), "report", "--out", str(tmp_path / "out")]) == 0
    assert "clinic-2025-r1: Its figures have a format" in capsys.readouterr().out
    page = read(tmp_path / "out/series/clinic/clinic-2025-r1.html").text()
    assert "Some of it cannot be shown" in page
    assert "Published" in page
    other = read(tmp_path / "out/series/clinic/clinic-2024-r1.html").text()
    assert "Some of it cannot be shown" not in other
    assert "Headroom" in read(tmp_path / "out/series/clinic/index.html").text()


ODD_SUMMARIES = ({}, {"n_published": 7}, {"parameters": [1]}, {"n_source": "many", "n_published": 7})


@pytest.mark.parametrize("summary", ODD_SUMMARIES, ids=str)
@pytest.mark.by_day(1)
def test_a_summary_of_any_form_stops_nothing(
    made: ReleaseStore, tmp_path: Path, summary: dict[str, Any]
) -> None:
    released(made, "2024")
    record = stage(made, period="2025", summary=summary)
    made.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    built = built_from(tmp_path / "made", tmp_path / "out")
    assert built.findings == ()
    assert "Published" in read(tmp_path / "out/series/clinic/clinic-2024-r1.html").text()
    page = read(tmp_path / "out/series/clinic/clinic-2025-c1.html").text()
    whole = "n_source" not in summary and "parameters" not in summary
    assert (built.gaps == ()) == whole
    assert ("Blocked by k" in page) == whole
    assert ("No report can be made from the stored data" in page) != whole
    compared = data(tmp_path / "out", "sides-clinic")["sides"]  # type: ignore[call-overload]
    assert ("clinic-2025-c1" in compared) == whole


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("candidate", "made_at = 'yesterday'"),
        ("candidate", "summary = 'no JSON'"),
        ("candidate", "summary = '[]'"),
        ("gate_result", "witness = '{'"),
    ],
)
def test_rows_that_no_store_writes_end_with_6_in_two_lines(
    copied: Path, tmp_path: Path, table: str, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with unguarded(copied / "store") as con:
        con.execute(f"UPDATE {table} SET {change} WHERE candidate_id = 'clinic-2024-c1'")
    words = ["--store", str(copied / "store"), "report", "--out", str(tmp_path / "out")]
    code = main(words)
    said = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" ...")]
    assert code == 6
    assert len(said) == 2, said
    assert "unexpected error" not in said[0]
    assert not (tmp_path / "out").exists()


def test_long_tables_of_the_overview_are_cut_and_say_so(
    copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview_module, "SHOWN", 3)
    built_from(copied, tmp_path / "out")
    page = read(tmp_path / "out/index.html")
    assert "The newest 3 of 7; the pages of the series have all." in page.text()
    listed = page.text()[page.text().index("Blocked by gates") :]
    assert listed.count("odd-2025-c") == 3
    assert "odd-2025-c6" in listed
    assert "clinic-2024-c1" not in listed


def test_a_period_tells_what_was_held_back_before_its_release(made: ReleaseStore, tmp_path: Path) -> None:
    for _ in range(2):
        held = stage(made, period="2024")
        made.record_gates(held.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    released(made, "2024")
    released(made, "2025")
    later = stage(made, period="2025")
    made.record_gates(later.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    built_from(tmp_path / "made", tmp_path / "out")
    text = read(tmp_path / "out/series/clinic/index.html").text()
    strip = text[text.index("The periods") : text.index("Trends")]
    assert "✓ 2024published✗ 2 blocked before" in strip
    assert strip.count("before") == 1  # what was tried after a release is no part of how it came out


@pytest.mark.parametrize("way", ["altered", "removed"])
def test_what_waits_and_is_not_what_was_judged_is_told_everywhere(
    copied: Path, tmp_path: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ReleaseStore.open(copied / "store")
    data_file = candidate_folder(store.root, "clinic-2025-c1") / "data.csv"
    data_file.chmod(0o600)
    data_file.unlink() if way == "removed" else data_file.write_text("age\n1\n")
    words = ["--store", str(store.root), "report"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 6
    what = "is missing" if way == "removed" else "differs from the assessed file"
    said = f"clinic-2025-c1/data.csv: {what}"
    assert said in capsys.readouterr().out
    overview = read(tmp_path / "out/index.html").text()
    assert said in overview
    assert "Verified when these pages were made" not in overview
    page = read(tmp_path / "out/series/clinic/clinic-2025-c1.html").text()
    assert said in page
    assert "Rows are not shown because there is no data.parquet among its files." in page
    assert main([*words, "clinic-2025-c1", "--out", str(tmp_path / "one.html")]) == 6
    assert f"data.csv {what}" in capsys.readouterr().out
