"""People read and decide in a real browser: they log in with keys, ask, answer, approve and withdraw."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from release_store.records import CandidateState, ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import key_file, member, write_people
from tests.support.front_desk import Desk
from tests.support.pages.chromium import VIEWS, Chromium
from tests.support.pages.served import Reviewer, served
from tests.support.plain_prefect import plain_prefect

FIRST, SECOND = "clinic-2026Q1-r1", "clinic-2026Q2-c1"
TYPED = "Is k = 5 enough?\nSee <b>table</b> 2 \u201cof\u201d the plan."


@pytest.fixture(scope="module")
def waiting_folder(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store has a release and a candidate that waits for one approval, made by ann."""
    folder = tmp_path_factory.mktemp("served") / "folder"
    shutil.copytree(fresh_store, folder)
    desk = Desk(folder)
    people = [member("ann", ["operator"]), member("bob", ["approver"]), member("dan", ["auditor"])]
    write_people(desk.root, *people)
    with plain_prefect():
        assert desk.run(desk.policy(), desk.table()) == 0
        assert desk.run(desk.policy(approval={"approvers": 1}), desk.table(seed=2), period="2026Q2") == 5
    return folder


@pytest.fixture
def folder(waiting_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("RELEASEGATE_SIGNING_KEY", raising=False)
    monkeypatch.setenv("RELEASEGATE_LOG", str(tmp_path / "log.jsonl"))
    shutil.copytree(waiting_folder, tmp_path / "folder", symlinks=True)
    return tmp_path / "folder"


@pytest.fixture
def address(folder: Path, chromium: Chromium) -> Iterator[str]:
    with served(folder / "store") as found:
        chromium.window(1280)
        yield found
        chromium.driver.delete_all_cookies()
        chromium.driver.get("about:blank")
        chromium.window(1280)


def test_a_candidate_is_read_asked_about_answered_approved_and_withdrawn(
    folder: Path, address: str, chromium: Chromium
) -> None:
    store = ReleaseStore.open(folder / "store")
    ann, bob = (Reviewer(chromium, address, folder, name) for name in ("ann", "bob"))
    page = f"/candidates/{SECOND}"
    bob.log_in()
    bob.open(page)
    bob.sign(".signed", "ask", TYPED)
    (question,) = bob.until_stored(lambda: store.questions(SECOND))
    bob.told(f"{SECOND} is returned with question {question.number}.")
    assert (question.by, question.text) == ("bob", TYPED)
    assert "cannot be approved before 1 open question is answered" in bob.text("main")
    assert chromium.run("return document.querySelector('button[value=approve]')") is None
    bob.log_out()
    ann.log_in()
    assert "Returned with 1 question" in ann.text("ul.cards")
    ann.open(page)
    ann.sign(f"#question-{question.number} form", "answer", "The owner agreed to it.")
    ann.told(f"Question {question.number} is answered.")
    assert chromium.run("return document.querySelector('form.signed')") is None  # an operator decides nothing
    ann.log_out()
    bob.log_in()
    bob.open(page)
    bob.sign("form.signed", "approve", "looked at the report")
    bob.told("clinic-2026Q2-r1 is published.")
    assert store.candidate(SECOND).state is CandidateState.PUBLISHED
    assert (folder / "store/releases/clinic/clinic-2026Q2-r1/manifest.json").is_file()
    bob.open(f"/releases/{FIRST}")
    bob.sign("form.signed", "withdraw", "a column was wrong")
    bob.told(f"{FIRST} is withdrawn")
    assert store.release(FIRST).state is ReleaseState.WITHDRAWN
    assert verify(store) == []


def test_the_pages_fit_and_can_be_used_by_everybody(
    folder: Path, address: str, chromium: Chromium, tmp_path: Path
) -> None:
    bob = Reviewer(chromium, address, folder, "bob")
    found: dict[str, list[str]] = {}

    def look(path: str) -> None:
        for width, dark in VIEWS:
            chromium.window(width, dark=dark)
            bob.open(path)
            wide = chromium.run("return document.documentElement.scrollWidth > innerWidth")
            problems = [*chromium.violations(), *(["scrolls sideways"] if wide else [])]
            if problems:
                found[f"{path} at {width}"] = problems

    look("/login")
    bob.log_in()
    bob.open(f"/candidates/{SECOND}")
    bob.sign(".signed", "ask", TYPED)
    bob.told("is returned")
    for path in ("/", f"/candidates/{SECOND}", f"/releases/{FIRST}"):
        look(path)
    assert chromium.said() == []
    bob.open("/nothing")
    assert bob.heading() == "Not done"
    look("/nothing")
    assert found == {}


def test_the_report_is_drawn_in_an_origin_of_its_own(folder: Path, address: str, chromium: Chromium) -> None:
    dan = Reviewer(chromium, address, folder, "dan")
    dan.log_in()
    dan.open(f"/candidates/{SECOND}")
    assert "Your roles allow you to read" in dan.text("main")
    chromium.said()
    for path in (f"/candidates/{SECOND}/report", f"/releases/{FIRST}/report"):
        dan.open(path)
        assert chromium.run("return self.origin") == "null"
        assert (
            chromium.run("try { return document.cookie } catch (error) { return error.name }")
            == "SecurityError"
        )
        assert chromium.draw_all() > 0
        assert chromium.said() == []


def test_a_wrong_key_is_told_on_the_page_and_nothing_is_sent(
    folder: Path, address: str, chromium: Chromium
) -> None:
    bob = Reviewer(chromium, address, folder, "bob")
    bob.open("/login")
    for content, told in (
        (b"no key", "This file holds no private key in PEM form without a password."),
        (
            b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "This file holds no Ed25519 key.",
        ),
        (b"A" * 20_000, "This file is too large to be a key."),
    ):
        bob.key = folder / "wrong.pem"
        bob.key.write_bytes(content)
        bob.sign("form.signed", "login")
        chromium.until(told, lambda told=told: bob.text(".wrong") == told)  # type: ignore[misc]
    bob.key = key_file(folder, "mallory")
    bob.sign("form.signed", "login")
    chromium.until("the refusal", lambda: "This key is nobody's" in bob.text("main"))
    lines = (folder.parent / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["error"] for line in lines] == ["UnknownKey"]


def test_the_private_key_is_neither_sent_nor_kept(folder: Path, address: str, chromium: Chromium) -> None:
    bob = Reviewer(chromium, address, folder, "bob")
    bob.log_in()
    bob.open(f"/candidates/{SECOND}")
    chromium.driver.get_log("performance")
    bob.sign(".signed", "ask", "why?")
    bob.told("is returned")
    sent = [
        json.loads(line["message"])["message"]["params"]["request"].get("postData", "")
        for line in chromium.driver.get_log("performance")
        if json.loads(line["message"])["message"]["method"] == "Network.requestWillBeSent"
    ]
    (form,) = [text for text in sent if text]
    assert {part.partition("=")[0] for part in form.split("&")} == {"form_token", "act", "signed"}
    armoured = "".join(bob.key.read_text().splitlines()[1:-1])
    assert armoured not in form
    kept = "return [localStorage.length, sessionStorage.length]"
    assert chromium.run(kept) == [0, 0]
    databases = "indexedDB.databases().then((found) => arguments[0](found.length))"
    assert chromium.driver.execute_async_script(databases) == 0  # type: ignore[no-untyped-call]
