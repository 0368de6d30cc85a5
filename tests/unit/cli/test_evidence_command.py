"""`releasegate evidence` and `releasegate verify BUNDLE`, on what a real run published."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cli.__main__ import main
from release_store.audit import keys
from tests.support.at_work import key_of, withdraw
from tests.support.front_desk import Desk
from tests.support.store.bundles import put_together, taken_apart

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


def test_the_script_comes_from_the_program_and_judges_a_bundle(
    bundle: Path, published: Desk, capsys: Capture
) -> None:
    assert published.say("evidence", "--script") == 0
    assert capsys.readouterr().out == "wrote verify_evidence.py\n"
    path = published.folder / "verify_evidence.py"
    with zipfile.ZipFile(bundle) as archive:
        assert path.read_bytes() == archive.read("verify_evidence.py")
    done = subprocess.run([sys.executable, "-I", path, bundle], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert published.say("evidence", "--script") == 0  # it is there already
    path.write_text("mine")
    assert published.say("evidence", "--script") == 2
    assert "exists already and is not this script" in capsys.readouterr().err
    assert path.read_text() == "mine"


@pytest.mark.parametrize("words", [(), (NAME, "--script")])
def test_a_bundle_or_the_script_is_asked_for(
    published: Desk, capsys: Capture, words: tuple[str, ...]
) -> None:
    assert published.say("evidence", *words) == 2
    assert "give either a release or --script" in capsys.readouterr().err


@pytest.mark.enemy("reader", "runs code")
def test_a_bundle_with_another_script_is_told_first_and_ends_with_6(
    bundle: Path, published: Desk, capsys: Capture
) -> None:
    members = taken_apart(bundle)
    members["verify_evidence.py"] = b"print('no tampering found')\n"
    put_together(bundle, members)
    assert published.say("verify", bundle) == 6
    first, *notes = capsys.readouterr().out.splitlines()
    assert first == (
        "verify_evidence.py: is no script that releasegate wrote, as far as this version knows: "
        "do not run it; take that of `releasegate evidence --script`"
    )
    assert not [line for line in notes if "no tampering found" in line]


def test_the_rows_of_a_withdrawn_release_are_asked_for_and_warned_of(
    published: Desk, tmp_path: Path, capsys: Capture
) -> None:
    withdraw(published.store, NAME, by="eve", reason="a wrong column")
    assert published.say("evidence", NAME, "--out", tmp_path / "b.zip") == 0
    assert capsys.readouterr().err == ""
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert not [name for name in archive.namelist() if "data." in name or "report" in name]
    assert published.say("verify", tmp_path / "b.zip") == 0
    said = capsys.readouterr().out
    assert "note: not in the bundle, so not looked at: data.csv, data.parquet, report.html" in said
    assert published.say("evidence", NAME, "--out", tmp_path / "c.zip", "--with-rows") == 0
    held = f"{NAME} was withdrawn, and {tmp_path / 'c.zip'} holds its rows"
    assert capsys.readouterr().err == f"warning: {held}: do not publish them or pass them on\n"
    assert published.say("verify", tmp_path / "c.zip") == 0
