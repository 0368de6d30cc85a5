"""`releasegate evidence` and `releasegate verify BUNDLE`, on what a real run published."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cli.__main__ import main
from release_store.audit import keys
from tests.support.at_work import key_of
from tests.support.front_desk import Desk

Capture = pytest.CaptureFixture[str]
NAME = "clinic-2026Q1-r1"
CUT = "is not a complete bundle written by releasegate; copy it again from its source"


@pytest.fixture
def bundle(published: Desk, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """The evidence of the release, under the name that it gets by itself."""
    monkeypatch.chdir(published.folder)
    assert published.say("evidence", NAME) == 0
    assert capsys.readouterr().out == f"wrote {NAME}.evidence.zip\n"
    return published.folder / f"{NAME}.evidence.zip"


def test_a_bundle_of_a_real_release_verifies_without_its_store(
    bundle: Path, published: Desk, tmp_path: Path, capsys: Capture
) -> None:
    key = tmp_path / "kept.pem"
    (published.root / "public-key.pem").rename(key)
    checkpoint = published.root / "releases" / "clinic" / f"{NAME}.checkpoint.json"
    words = ["--public-key", str(key), "--checkpoint", str(checkpoint)]
    assert main(["--store", "nowhere", "verify", str(bundle), *words]) == 0
    note, line = capsys.readouterr().out.splitlines()
    assert note.startswith("note: a bundle cannot show what was left out of it")
    assert line.startswith(f"{NAME}: 5 files and ")
    assert line.endswith("no tampering found")


def test_the_bundle_is_told_to_programs(published: Desk, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "bundle.zip"
    assert published.say("evidence", NAME, "--out", out, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "release": NAME,
        "path": str(out),
        "sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
    }


def test_the_key_that_is_trusted_is_told(bundle: Path, published: Desk, capsys: Capture) -> None:
    assert published.say("verify", bundle) == 0
    assert "note: no public key was given" in capsys.readouterr().out
    assert published.say("verify", bundle, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["findings"], len(found["notes"])) == (True, [], 2)


def test_a_bundle_that_was_cut_ends_with_6(bundle: Path, published: Desk, capsys: Capture) -> None:
    bundle.write_bytes(bundle.read_bytes()[:-30])
    assert published.say("verify", bundle) == 6
    assert capsys.readouterr().out == f"{bundle.name}: {CUT}\n"
    assert published.say("verify", bundle, "--json") == 6
    assert json.loads(capsys.readouterr().out)["findings"][0]["where"] == bundle.name


def test_an_altered_release_gets_no_evidence(published: Desk, tmp_path: Path, capsys: Capture) -> None:
    file = published.root / "releases" / "clinic" / NAME / "data.csv"
    file.write_bytes(file.read_bytes()[:-2])
    assert published.say("evidence", NAME, "--out", tmp_path / "b.zip") == 6
    assert "differs from the published file" in capsys.readouterr().err
    assert not (tmp_path / "b.zip").exists()


def test_evidence_of_what_was_never_published_is_refused(desk: Desk, capsys: Capture) -> None:
    assert desk.say("evidence", "../../nobody") == 2
    assert "there is no release '../../nobody'" in capsys.readouterr().err


def test_a_key_given_in_hexadecimal_is_held_against_the_stores(published: Desk, capsys: Capture) -> None:
    another = keys.public_hex(key_of("mallory").key)
    assert published.say("verify", "--public-key", another) == 6
    assert "public-key.pem: is not the key in" in capsys.readouterr().out
