"""What was withdrawn, or never published, is spread by no page, no picture and no bundle of the desk."""

from __future__ import annotations

import stat
from pathlib import Path

import duckdb
import pytest

from cli.__main__ import main
from release_store.audit.keys import KEY_VARIABLE
from release_store.records import CandidateState, GateResult
from release_store.store import ReleaseStore
from tests.support.at_work import restore, withdraw, write_people
from tests.support.pages.lived import read
from tests.support.pages.sheets import figures
from tests.support.store import hand_made

CELL, VALUE = "a cell of a row", "a value of an attribute"
WITHDRAWN, PUBLISHED, BLOCKED = "clinic-2021-r1", "clinic-2022-r1", "clinic-2023-c1"


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a restored release, one that was withdrawn, and a candidate that was held back."""
    folder = tmp_path_factory.mktemp("withheld")
    file = folder / "rows.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT '{CELL}' AS disease) TO '{file}' (FORMAT parquet)")
    rows = {"data.parquet": file.read_bytes()}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(KEY_VARIABLE, raising=False)
        store = ReleaseStore.create(folder / "store")
        write_people(store.root)

        def judged(period: str, gate: GateResult, to: CandidateState) -> str:
            made = hand_made.stage(store, period=period, more=rows).candidate_id
            store.record_gates(made, [gate], to=to, actor="ann", figures=figures(VALUE))
            return made

        for period in ("2021", "2022"):
            hand_made.publish_one(store, judged(period, hand_made.K_PASSES, CandidateState.APPROVED))
        withdraw(store, WITHDRAWN, by="eve", reason="an error")
        withdraw(store, PUBLISHED, by="eve", reason="a mistake")
        restore(store, PUBLISHED, by="bob", reason="it was right")
        judged("2023", hand_made.K_FAILS, CandidateState.BLOCKED)
    return folder


def _run(lived: Path, *words: str) -> int:
    return main(["--store", str(lived / "store"), *words])


@pytest.mark.parametrize(("name", "there"), [(PUBLISHED, True), (WITHDRAWN, False), (BLOCKED, False)])
def test_a_report_alone_says_how_it_stands_now(lived: Path, tmp_path: Path, name: str, there: bool) -> None:
    out = tmp_path / "one.html"
    assert _run(lived, "report", name, "--out", str(out)) == 0
    text = out.read_text(encoding="utf-8")
    assert (CELL in text, f'"label":"{VALUE}"' in text) == (there, there)
    word = {PUBLISHED: "Published", WITHDRAWN: "Withdrawn", BLOCKED: "Blocked by k"}[name]
    assert f"{name}: {word}" in text
    assert ("would be public" in text) == (name == BLOCKED)
    assert ("were public" in text) == (name == WITHDRAWN)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


@pytest.mark.parametrize(("name", "there"), [(PUBLISHED, True), (WITHDRAWN, False), (BLOCKED, False)])
def test_pictures_show_no_values_of_it(lived: Path, tmp_path: Path, name: str, there: bool) -> None:
    assert _run(lived, "pictures", name, "--out", str(tmp_path / "pictures")) == 0
    names = {one.name for one in (tmp_path / "pictures").iterdir()}
    assert ("values-0.svg" in names, "latent-before.svg" in names) == (there, there)
    assert "gates.svg" in names


def test_the_site_lays_out_no_evidence_of_what_was_withdrawn_and_both_words_of_what_was_restored(
    lived: Path, tmp_path: Path
) -> None:
    assert _run(lived, "report", "--out", str(tmp_path / "site"), "--evidence") == 0
    bundles = {one.name for one in tmp_path.rglob("*.zip")}
    assert bundles == {f"{PUBLISHED}.evidence.zip"}
    for name in (WITHDRAWN, BLOCKED):
        text = next(tmp_path.rglob(f"{name}.html")).read_text(encoding="utf-8")
        assert CELL not in text
        assert f'"label":"{VALUE}"' not in text
        assert "Rows and attribute values are not shown" in text
    restored = read(next(tmp_path.rglob(f"{PUBLISHED}.html"))).text()
    for said in ("✗ Withdrawn By eve", ": a mistake", "✓ Restored By bob", ": it was right"):
        assert said in restored
    assert "The signed state of the log when it was withdrawn" in restored
    assert "The signed state of the log when it was restored" in restored


def test_a_report_takes_the_place_of_a_report_only(
    lived: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "one.html"
    for text in ("<!doctype html>\nsomebody's own page", ""):
        out.write_text(text, encoding="utf-8")
        assert _run(lived, "report", PUBLISHED, "--out", str(out)) == 2
        assert out.read_text(encoding="utf-8") == text
        assert "is no report" in capsys.readouterr().err
    out.unlink()
    (tmp_path / ".one.html.new").write_text("somebody's own", encoding="utf-8")
    for _ in range(2):
        assert _run(lived, "report", PUBLISHED, "--out", str(out)) == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == [".one.html.new", "one.html"]


def test_no_picture_is_put_into_the_store(
    lived: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = tmp_path / "link"
    link.symlink_to(lived / "store")
    for out in (lived / "store", lived / "store" / "releases" / "new", link / "new"):
        before = sorted(lived.rglob("*"))
        assert _run(lived, "pictures", PUBLISHED, "--out", str(out)) == 2
        assert "is inside the store" in capsys.readouterr().err
        assert sorted(lived.rglob("*")) == before
