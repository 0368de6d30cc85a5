"""How a page is put together: everything escaped, nothing asked for, only our scripts run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.pages import embedded, escape_text, inline_head, number, share
from reports.report import SCRIPTS, page, release_report
from reports.report_model import report_model, sample
from reports.theme import ORDERED, PALETTES
from tests.support.pages.sheets import HOSTILE, facts, figures, gate, kept

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


class Page(HTMLParser):
    """The elements of a page, the texts of its scripts, and what is seen."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.seen: list[str] = []
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside.append(tag)
            if tag == "script":
                self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style") and self._inside:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside == ["script"]:
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif not self._inside:
            self.seen.append(data)


def _report(hostile: str = "age") -> Page:
    said_of = facts(
        gate("k", value=8.0, threshold=8.0, relation=">=", detail=hostile, witness={"class": hostile}),
        made_by=hostile,
        period=hostile,
        decisions=[
            {"decision": "approve", "by": hostile, "at": "2026-01-02T03:04:05+00:00", "reason": hostile}
        ],
    )
    of = kept(figures=figures(hostile), columns=(hostile,), rows=((hostile,), (None,)))
    return Page(release_report(said_of, of).decode())


@given(JSON)
def test_embedded_json_comes_back_and_ends_no_script(value: object) -> None:
    text = str(embedded(value))
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.enemy("data supplier", "runs code")
def test_no_text_becomes_markup(hostile: str) -> None:
    plain, attacked = _report(), _report(hostile)
    assert [tag for tag, _ in attacked.tags] == [tag for tag, _ in plain.tags]
    handlers = [name for _, attributes in attacked.tags for name in attributes if name.startswith("on")]
    assert not handlers
    assert len(attacked.scripts) == len(plain.scripts)


def test_control_signs_and_turns_of_direction_are_written_as_numbers() -> None:
    assert str(escape_text("a\u202eb\u0007c")) == "<bdi>a\\u202eb\\x07c</bdi>"
    assert str(escape_text("<b>")) == "<bdi>&lt;b&gt;</bdi>"
    assert str(escape_text("שלום")) == "<bdi>שלום</bdi>"


@pytest.mark.enemy("policy author", "runs code")
def test_only_the_scripts_that_the_policy_names_run() -> None:
    page_ = _report()
    policy = next(
        attributes["content"] or ""
        for tag, attributes in page_.tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    running = [code for attributes, code in page_.scripts if attributes.get("type") != "application/json"]
    digests = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in running]
    assert re.findall(r"'sha256-([^']+)'", policy) == digests
    assert len(running) == len(SCRIPTS)
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


def test_nothing_is_asked_for() -> None:
    for tag, attributes in _report().tags:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            address = attributes.get(name) or ""
            assert not address or address.startswith(("#", "data:")), (tag, name, address)


def test_the_same_facts_give_the_same_bytes() -> None:
    sheet = report_model(facts(gate("k")), kept(figures=figures()), release="clinic-2024-r1")
    assert page(sheet) == page(sheet)
    assert inline_head(*SCRIPTS) == inline_head(*SCRIPTS)


def test_a_page_without_scripts_says_what_counts() -> None:
    seen = " ".join(_report().seen)
    for words in ("Published", "1 of 1 gates pass", "What is protected", "at least 8"):
        assert words in seen
    assert ("It has no stored figures: it was made before releasegate stored any.") in " ".join(
        Page(release_report(facts(gate("k")), kept()).decode()).seen
    )


def test_every_picture_has_words_and_a_table_of_its_numbers() -> None:
    page_ = _report()
    pictures = [attributes for tag, attributes in page_.tags if attributes.get("data-picture")]
    data = {attributes["id"]: json.loads(code) for attributes, code in page_.scripts if "id" in attributes}
    assert len(pictures) == 7
    for one in pictures:
        assert one["role"] == "img"
        assert one["aria-label"]
        assert data[one["data-picture"]]["rows"]
    captions = [text for text in page_.seen if text.startswith("The numbers of")]
    assert len(captions) == len(pictures)


def test_numbers_as_people_read_them() -> None:
    assert [number(None), number(1234567.0), number(0.123456), number(2)] == ["-", "1,234,567", "0.1235", "2"]
    assert [share(None), share(0.5), share(0.12345)] == ["-", "50%", "12.3%"]


def test_ten_rows_are_spread_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT range AS n, NULL AS nothing FROM range(95)) TO '{file}' (FORMAT parquet)")
    columns, rows = sample(file)
    assert columns == ("n", "nothing")
    assert [row[0] for row in rows] == [str(i * 95 // 10) for i in range(10)]
    assert {row[1] for row in rows} == {None}


def test_fewer_rows_than_ten_are_all_shown(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT range AS n FROM range(3)) TO '{file}' (FORMAT parquet)")
    assert sample(file)[1] == (("0",), ("1",), ("2",))


@pytest.mark.parametrize("kind", PALETTES)
def test_words_can_be_read_on_their_paper(kind: str) -> None:
    """WCAG 2.2, 1.4.3: a contrast of 4.5 to 1 at least."""
    of = PALETTES[kind]
    pairs = [(ink, paper) for ink in ("ink", "quiet", "accent", "limit") for paper in ("paper", "panel")]
    pairs += [(mood, paper) for mood in ("good", "bad", "open") for paper in ("paper", f"{mood}-paper")]
    for ink, paper in pairs:
        bright, dark = sorted((_luminance(of[ink]), _luminance(of[paper])), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, paper)


@pytest.mark.parametrize("kind", PALETTES)
def test_what_is_stacked_is_told_apart_in_grey(kind: str) -> None:
    found = [_luminance(colour) + 0.05 for colour in ORDERED[kind]]
    assert sorted(found, reverse=kind == "dark") == found
    for one, next_ in pairwise(found):
        assert max(one, next_) / min(one, next_) >= 1.5


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
