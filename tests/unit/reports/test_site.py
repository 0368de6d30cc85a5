"""The site of a store: what each page says, that nothing in it does harm, and where every link leads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from cli.__main__ import main
from policy.errors import UsageError
from release_store.audit.keys import KEY_VARIABLE
from release_store.db.changes import UNREAD
from release_store.db.connection import connect
from release_store.snapshot import read_snapshot
from release_store.store import ReleaseStore
from reports.difference_sides import fields_of, rows_of
from reports.site.comparison import side
from reports.site.folder import MARKER
from reports.site.periods import periods_of
from reports.site.timeline import Entry
from services.difference import difference_document
from tests.support.pages.lived import HOSTILE, built_from, data, files, read
from tests.support.pages.pairs import PAIRS, every_pair


@pytest.fixture(scope="module")
def site(lived_site: Path) -> Path:
    return lived_site


def test_the_overview_says_what_waits_first(site: Path) -> None:
    text = read(site / "index.html").text()
    assert "1 candidate awaits approval clinic-2025-c1" in text
    assert text.index("clinic-2025-c1") < text.index("The series")
    for said in ("clinic-2023-r2", "other-2025-r1", "clinic-2022-r1", "clinic-2024-c1", "third/2026"):
        assert said in text
    assert "Verified when these pages were made" in text
    assert "k fail (1, must be at least 2)" in text


def test_the_overview_says_by_whom_and_why_a_release_was_withdrawn_and_every_input_that_was_refused(
    site: Path, lived: Path
) -> None:
    text = read(site / "index.html").text()
    events = ReleaseStore.open(lived / "store").events()
    at = next(one.at for one in events if one.action == "release.withdrawn")
    assert f"clinic-2022-r1clinic{at[:16].replace('T', ' ')}by eve: {HOSTILE[0]}" in text
    refused = text[text.index("Inputs refused or missing what") :]
    assert re.search(f"clinic/2026clinic.{{16}}input refused: {UNREAD}", refused)  # it is in the log alone
    assert re.search(r"third/2026third.{16}input refused: .* expect_no_missing", refused)
    assert re.search(r"clinic clinic-2023-r22023.{16}published 4 \(3 public\)111 ", text)


def test_periods_stand_in_their_order() -> None:
    entries = [
        Entry(n, "", "", "input refused", "bad", "", "", period, "", "")
        for n, period in enumerate(("2026W10", "2026W2", "2025Q4", "2026", "2026-01-02", "all"))
    ]
    told = [one.name for one in periods_of([], {}, entries, {})]
    assert told == ["all", "2025Q4", "2026", "2026-01-02", "2026W2", "2026W10"]


def test_a_series_tells_everything_newest_first(site: Path) -> None:
    page = read(site / "series/clinic/index.html")
    text = page.text()
    story = text[text.index("All events Newest") :]
    told = [
        "input refused",
        "awaits approval",
        "blocked by gates",
        "withdrawn",
        "published",
        "superseded",
    ]
    places = [story.index(word) for word in told]
    assert places == sorted(places)
    assert "candidate made" in story
    assert "by clinic-2023-r2" in story
    assert "revises clinic-2023-r1" in story
    strip = text[text.index("The periods") : text.index("Trends")]
    assert "⊘ 2022withdrawn" in strip
    assert "✗ 2024blocked" in strip
    assert "! 2026input refused" in strip


def test_a_release_has_its_report_decisions_events_and_neighbours(site: Path) -> None:
    page = read(site / "series/clinic/clinic-2022-r1.html")
    text = page.text()
    assert "before: clinic-2021-r1" in text
    assert "after: clinic-2023-r1" in text
    assert "✗ Withdrawn By eve" in text
    assert "the release was withdrawn" in text  # in place of the rows
    assert "release.published" in text
    assert "The signed state of the log when it was withdrawn" in text
    leads = [attributes.get("href") for tag, attributes in page.elements if tag == "a"]
    assert "../../diff.html#a=clinic-2021-r1&b=clinic-2022-r1" in leads


def test_a_superseded_release_names_its_successor(site: Path) -> None:
    assert "Superseded by clinic-2023-r2" in read(site / "series/clinic/clinic-2023-r1.html").text()


def test_a_blocked_candidate_shows_no_rows(site: Path) -> None:
    text = read(site / "series/clinic/clinic-2024-c1.html").text()
    assert "was never published and is not awaiting approval" in text
    assert "Blocked by k" in text


def test_every_link_leads_to_a_file(site: Path) -> None:
    n_links = 0
    for path in site.rglob("*.html"):
        for _, attributes in read(path).elements:
            for name in ("href", "src"):
                target = urldefrag(attributes.get(name) or "").url
                if not target or target.startswith("data:"):
                    continue
                assert "//" not in target
                assert (path.parent / unquote(target)).is_file(), (path, target)
                n_links += 1
    assert n_links > 100


def test_pages_hold_to_their_policy_against_requests(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = read(path)
        policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv"))
        assert policy is not None
        assert "default-src 'none'" in policy
        for tag, attributes in page.elements:
            assert not [name for name in attributes if name.startswith("on") or name == "style"], path
            if tag == "script":
                assert "src" in attributes or attributes.get("type") == "application/json"


@pytest.mark.enemy("approver", "runs code")
def test_what_people_typed_is_text_alone(site: Path) -> None:
    for path in site.rglob("*.html"):
        for tag, attributes in read(path).elements:
            assert attributes.get("src") != "x", path
            assert tag not in ("img", "iframe"), path
        text = path.read_text(encoding="utf-8")
        assert "<script>alert" not in text, path
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x07\x1b]", text), path
    for path in site.rglob("*.js"):
        if path.parent.name == "data":
            assert "<" not in path.read_text(encoding="utf-8"), path
    assert "\\u202egnihtemos" in read(site / "index.html").text() + read(site / "log.html").text()


def test_the_log_is_there_whole(site: Path, lived: Path) -> None:
    events = ReleaseStore.open(lived / "store").events()
    fields = data(site, "log-0")
    assert [row[0] for row in fields] == [event.number for event in events]
    assert [row[7] for row in fields] == [event.hash for event in events]
    assert [json.loads(text) for text in data(site, "payloads-0")] == [event.payload for event in events]
    first = [tag for tag, attributes in read(site / "log.html").elements if "data-number" in attributes]
    assert len(first) == min(len(events), 200)


def test_the_sides_are_those_of_releasegate_diff(lived: Path) -> None:
    _sides_are_those_of_diff(lived, PAIRS[1:6:2])


@pytest.mark.nightly
def test_the_sides_of_every_pair_are_those_of_releasegate_diff(lived: Path) -> None:
    _sides_are_those_of_diff(lived, every_pair(lived, 5))


def _sides_are_those_of_diff(lived: Path, pairs: Iterable[tuple[str, str]]) -> None:
    store = ReleaseStore.open(lived / "store")
    with connect(store.root) as con:
        whole = read_snapshot(con)
    released = {one.candidate_id: one for one in whole.releases}
    sides = {}
    for record in whole.candidates:
        release = released.get(record.candidate_id)
        found = side(whole, record, release)
        found["policy"] = fields_of(whole.policies[record.policy_digest])
        sides[release.release_id if release else record.candidate_id] = found
    for a, b in pairs:
        told = difference_document(store, a, b)
        rows = rows_of(sides[a], sides[b])
        assert rows
        assert rows == {name: told[name] for name in rows}, (a, b)


def test_the_same_store_makes_the_same_site(site: Path, lived: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    built_from(lived, again)
    assert files(again) == files(site)


def test_a_site_takes_the_place_of_one_and_of_nothing_else(lived: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    built_from(lived, out)
    (out / "old.html").write_text("gone")
    built_from(lived, out)
    assert not (out / "old.html").exists()
    (out / MARKER).unlink()
    with pytest.raises(UsageError, match="exists and was not written by"):
        built_from(lived, out)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out"]
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "mine.txt").write_text("mine")
    with pytest.raises(UsageError):
        built_from(lived, foreign)
    assert (foreign / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("place", ["store", "store/inside", "."])
@pytest.mark.enemy("auditor", "writes a file")
def test_a_site_is_not_put_into_the_store(lived: Path, place: str) -> None:
    with pytest.raises(UsageError, match="store"):
        built_from(lived, lived / place)


def test_a_site_of_one_series(lived: Path, tmp_path: Path) -> None:
    built_from(lived, tmp_path / "one", series="other")
    assert [one.name for one in (tmp_path / "one/series").iterdir()] == ["other"]
    with pytest.raises(UsageError, match="unknown series"):
        built_from(lived, tmp_path / "none", series="othr")
    assert not (tmp_path / "none").exists()


def test_a_site_of_one_series_tells_nothing_of_others(copied: Path, tmp_path: Path) -> None:
    """Neither in its log, nor in what `verify` found."""
    file = copied / "store" / "releases" / "other" / "other-2025-r1" / "data.csv"
    file.write_text("altered", encoding="utf-8")
    built = built_from(copied, tmp_path / "site", series="clinic")
    more = "1 more problem in other series: run `releasegate verify`"
    assert [one.what for one in built.findings] == [more]
    told = "".join(
        path.read_text(encoding="utf-8") for path in (tmp_path / "site").rglob("*") if path.is_file()
    )
    assert "clinic-2023-r2" in told
    for name in ("other-2025", "odd-2025", "third/2026", HOSTILE[5]):
        assert name not in told


def test_what_was_altered_is_told_on_its_page_and_ends_with_6(
    copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = copied / "store/releases/clinic/clinic-2021-r1/data.csv"
    file.write_text("other rows")
    words = ["--store", str(copied / "store"), "report", "--out", str(tmp_path / "out")]
    assert main(words) == 6
    assert "clinic-2021-r1/data.csv: differs from the published file" in capsys.readouterr().out
    page = read(tmp_path / "out/series/clinic/clinic-2021-r1.html").text()
    assert "✗ Verification found problems" in page
    assert "differs from the published file" in page
    assert "✗ Verification found problems" in read(tmp_path / "out/index.html").text()


def test_the_command_says_what_it_wrote(
    copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--store", str(copied / "store"), "report"]) == 0
    assert re.fullmatch(r"wrote \d+ pages to report/ in \d+\.\d s\n", capsys.readouterr().out)
    assert main(["--store", str(copied / "store"), "report", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["pages"] == len(list((tmp_path / "report").rglob("*.html")))
    assert told["findings"] == []


def test_evidence_stands_beside_its_page(copied: Path, tmp_path: Path) -> None:
    built = built_from(copied, tmp_path / "out", series="other", evidence=True)
    assert built.findings == ()
    assert (tmp_path / "out/series/other/other-2025-r1.evidence.zip").is_file()
    page = read(tmp_path / "out/series/other/other-2025-r1.html")
    assert "other-2025-r1.evidence.zip" in [a.get("href") for _, a in page.elements]


def test_an_empty_store_has_a_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    ReleaseStore.create(tmp_path / "made/store")
    built = built_from(tmp_path / "made", tmp_path / "out")
    assert built.pages == 4
    assert "The store holds no series yet" in read(tmp_path / "out/index.html").text()
