"""A small store with a bit of everything, its site, and what a browser would make of a page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from release_store.audit.keys import KEY_VARIABLE
from release_store.records import CandidateState, GateResult
from release_store.store import ReleaseStore
from reports.site.build import Built, build
from tests.support.at_work import withdraw, write_people
from tests.support.store.hand_made import K_FAILS, approved, awaiting, publish_one, stage

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202egnihtemos\u2066",
    "long " * 60,
    "two\nlines\tand \x07\x1b[31m",
    "שלום, مرحبا",
)


def make_lived(folder: Path) -> None:
    """Make the store in a folder, which has its key beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(KEY_VARIABLE, raising=False)
        _live(ReleaseStore.create(folder / "store"))


def _live(store: ReleaseStore) -> None:
    write_people(store.root)
    for period in ("2021", "2022", "2023"):
        publish_one(store, approved(store, period=period))
    publish_one(store, approved(store, period="2023"))  # takes the place of the first of 2023
    withdraw(store, "clinic-2022-r1", by="eve", reason=HOSTILE[0])
    held = stage(store, period="2024")
    store.record_gates(held.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    awaiting(store, period="2025")
    publish_one(store, approved(store, series="other", period="2025"))
    store.record_unread_input("clinic", "2026", actor="ann")
    store.record_validation(
        series="third",
        period="2026",
        input_digest="0" * 64,
        n_rows=1,
        n_columns=1,
        passed=False,
        results=[{"column": HOSTILE[1], "expectation": "expect_no_missing", "passed": False}],
        actor=HOSTILE[2],
    )
    for reason in HOSTILE:
        record = stage(store, series="odd", period="2025")
        store.record_gates(record.candidate_id, [odd_gate(reason)], to=CandidateState.BLOCKED, actor=reason)


def odd_gate(text: str) -> GateResult:
    return replace(K_FAILS, detail=text, attacker=text, witness={text: text})


def built_from(folder: Path, out: Path, **wanted: object) -> Built:
    return build(ReleaseStore.open(folder / "store"), out, tell=lambda *_: None, **wanted)  # type: ignore[arg-type]


class Page(HTMLParser):
    """What a browser would make of a page: its elements, its words, and where it leads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.within = tag

    def handle_data(self, data: str) -> None:
        if self.within not in ("script", "style"):
            self.words.append(data)

    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def data(site: Path, name: str) -> list[list[object]]:
    text = (site / "data" / f"{name}.js").read_text(encoding="utf-8")
    found: list[list[object]] = json.loads(text.partition("] = ")[2].rstrip().rstrip(";"))
    return found


def files(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}
