"""Stores whose releases have figures, bundles of evidence, and the page that verifies them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from release_store.audit import keys
from release_store.audit.keys import KEY_VARIABLE
from release_store.evidence.bundle import write_evidence
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from tests.e2e.browser import lacking
from tests.faults import alterations
from tests.support.made_once import made_once, make_demo
from tests.support.pages import sheets, verify_page
from tests.support.pages.chromium import Chromium
from tests.support.pages.chromium import opened as chromium_opened
from tests.support.pages.lived import built_from, make_lived
from tests.support.store import hand_made
from tests.support.store.bundle_alterations import make_three_releases
from tests.support.store.bundles import Members, taken_apart

REQUIRED = "RELEASEGATE_E2E_BROWSER"  # "required" where its absence is a failure


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """A browser for all tests of a process; where there is none the tests are skipped, or fail."""
    if lacking():
        word = f"no {' and no '.join(lacking())} here: apt-get install chromium chromium-driver"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(f"{REQUIRED} is required, and there is {word}")
        pytest.skip(word)
    with chromium_opened() as found:
        yield found


@pytest.fixture(scope="session")
def clinic_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic") / "folder"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(KEY_VARIABLE, raising=False)
        store = ReleaseStore.create(folder / "store")
        for period in ("2024", "2025"):
            found = hand_made.stage(store, period=period).candidate_id
            passes = [hand_made.K_PASSES]
            store.record_gates(
                found, passes, to=CandidateState.APPROVED, actor="ann", figures=sheets.figures()
            )
            hand_made.publish_one(store, found)
        record = hand_made.stage(store, period="2026")
        store.record_gates(record.candidate_id, [hand_made.K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    return folder


@pytest.fixture
def clinic(clinic_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    """Two releases of the series `clinic`, with figures, and a candidate that was held back."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    shutil.copytree(clinic_folder, tmp_path / "clinic")
    return ReleaseStore.open(tmp_path / "clinic" / "store")


@pytest.fixture(scope="session")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with a bit of everything, which tests copy or only read."""
    folder = tmp_path_factory.mktemp("lived") / "lived"
    shutil.copytree(made_once(tmp_path_factory, "made-lived", make_lived), folder, symlinks=True)
    return folder


@pytest.fixture(scope="session")
def lived_site(lived: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of that store, which tests only read."""
    out = tmp_path_factory.mktemp("lived_site") / "site"
    assert built_from(lived, out).findings == ()
    return out


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's store and its site with the evidence, which tests only read."""
    return made_once(tmp_path_factory, "demo", make_demo)


@pytest.fixture
def copied(lived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    shutil.copytree(lived, tmp_path / "lived", symlinks=True, ignore=shutil.ignore_patterns("site"))
    return tmp_path / "lived"


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return verify_page.written(tmp_path_factory.mktemp("verify_page"))


@pytest.fixture
def opened(chromium: Chromium, page: Path) -> webdriver.Chrome:
    chromium.window(1280)
    return verify_page.opened(chromium.driver, page)


@pytest.fixture(scope="session")
def three_releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("three_releases") / "folder"
    made = made_once(tmp_path_factory, "made-three-releases", make_three_releases)
    shutil.copytree(made, folder, symlinks=True)
    return folder


@pytest.fixture(scope="session")
def key(three_releases: Path) -> str:
    return keys.public_hex(keys.load_key(three_releases / "store"))


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of releases that were overridden, withdrawn and superseded, and their bundles."""
    return made_once(tmp_path_factory, "history", _make_history)


def _make_history(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(KEY_VARIABLE, raising=False)
        alterations.make(folder)
        store = ReleaseStore.open(folder / "store")
        for release in store.releases():
            write_evidence(store, release.release_id, folder / f"{release.release_id}.zip")


@pytest.fixture
def bundle(three_releases: Path) -> Path:
    return three_releases / "bundle.zip"


@pytest.fixture
def members(bundle: Path) -> Members:
    return taken_apart(bundle)
