"""Commands that read, and commands that cannot be carried out as given; none of them starts a server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.__main__ import main
from cli.app import COMMANDS
from flows.runtime import settings
from tasks.methods.registry import methods, parameters_of
from tests.support.front_desk import Desk
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).resolve().parents[3]
Capture = pytest.CaptureFixture[str]
HISTORY_KEYS = {
    "override",
    "release",
    "series",
    "period",
    "number",
    "state",
    "published_at",
    "method",
    "rows",
    "published_rows",
    "ncp",
    "k",
    "gates_passed",
    "gates",
}
RECORD_KEYS = {
    "advice",
    "questions",
    "override",
    "to_sign",
    "release",
    "candidate",
    "series",
    "period",
    "state",
    "made_by",
    "made_at",
    "published_at",
    "policy_digest",
    "input_digest",
    "candidate_digest",
    "history_head",
    "summary",
    "files",
    "folder",
    "purged_at",
    "report",
    "people",
    "gates",
    "afterwards",
    "decisions",
}


def _document(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)


def _complaint(capsys: Capture) -> list[str]:
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


# Reading ---------------------------------------------------------------------------------------------


def test_the_history_as_json(published: Desk, capsys: Capture) -> None:
    assert published.say("history", "--json") == 0
    found = _document(capsys)
    assert list(found) == ["releases", "candidates", "refused_inputs"]
    (release,) = found["releases"]
    assert set(release) == HISTORY_KEYS
    assert (release["release"], release["state"], release["method"]) == (
        "clinic-2026Q1-r1",
        "published",
        "mondrian",
    )
    assert (release["rows"], release["published_rows"], release["k"] >= 5) == (400, 400, True)
    assert (release["gates"], release["gates_passed"]) == (15, 15)


def test_the_history_for_people(published: Desk, capsys: Capture) -> None:
    assert published.say("history", "clinic") == 0
    shown = capsys.readouterr().out
    assert re.search(
        r"^clinic-2026Q1-r1 +2026Q1 +published .* mondrian +400 +0 .* 15 of 15 pass", shown, re.M
    )
    assert "Candidates not published" not in shown
    assert "Inputs refused" not in shown


@pytest.mark.parametrize("name", ["clinic-2026Q1-r1", "clinic-2026Q1-c1"])
def test_a_release_and_its_candidate_are_shown(published: Desk, capsys: Capture, name: str) -> None:
    assert published.say("show", name, "--json") == 0
    found = _document(capsys)
    assert set(found) == RECORD_KEYS
    assert (found["candidate"], found["state"], found["made_by"]) == ("clinic-2026Q1-c1", "published", "ann")
    assert Path(found["folder"]).is_dir()
    assert {"data.parquet", "data.csv", "datapackage.json"} <= found["files"].keys()
    assert published.say("show", name) == 0
    shown = capsys.readouterr().out
    assert f"input  {found['input_digest']}" in shown
    assert re.search(r"^k +✓ pass", shown, re.M)


def test_a_store_that_nobody_touched_verifies(published: Desk, capsys: Capture) -> None:
    assert published.say("verify") == 0
    assert re.fullmatch(r"1 release and \d+ events: OK, no tampering found\n", capsys.readouterr().out)
    assert published.say("verify", "--json") == 0
    assert _document(capsys) == {"ok": True, "findings": [], "notes": []}


def test_a_flipped_byte_is_found(published: Desk, capsys: Capture) -> None:
    data = published.root / "releases/clinic/clinic-2026Q1-r1/data.parquet"
    content = bytearray(data.read_bytes())
    content[100] ^= 1
    data.write_bytes(content)
    assert published.say("verify") == 6
    told = capsys.readouterr().out
    assert told == "clinic-2026Q1-r1/data.parquet: differs from the published file\n"
    assert published.say("verify", "--json") == 6
    found = _document(capsys)
    assert (found["ok"], [one["where"] for one in found["findings"]]) == (
        False,
        ["clinic-2026Q1-r1/data.parquet"],
    )


def test_the_methods_are_listed_with_what_they_guarantee(capsys: Capture) -> None:
    assert main(["methods"]) == 0
    shown = capsys.readouterr().out
    assert re.findall(r"^(\S+)  ", shown, re.M) == list(methods())
    shown = " ".join(shown.split())
    assert "parts: unit, mondrian, none, sets" in shown
    for method in methods().values():
        assert f"parameters: {', '.join(parameters_of(method).model_fields)}" in shown


def test_one_method_is_shown_with_its_defaults(capsys: Capture) -> None:
    assert main(["methods", "ae-lrhma"]) == 0
    shown = capsys.readouterr().out
    assert "    epochs = 50  (of training (Table 1))\n" in shown
    assert "mondrian  " not in shown
    assert main(["methods", "ae-lrhma", "--json"]) == 0
    (found,) = _document(capsys)["methods"]
    assert set(found) == {"name", "summary", "source", "guarantees", "parts", "parameters"}
    assert set(found["parameters"]["alpha"]) == {"default", "type", "meaning"}
    assert (found["parameters"]["alpha"]["default"], found["parameters"]["alpha"]["type"]) == (0.7, "float")


def test_an_empty_history_tells_what_to_do(desk: Desk, capsys: Capture) -> None:
    assert desk.say("history") == 0
    assert capsys.readouterr().out == "nothing has been released yet; next: releasegate run POLICY\n"
    assert desk.say("history", "--json") == 0
    assert _document(capsys) == {"releases": [], "candidates": [], "refused_inputs": []}
    assert desk.say("verify") == 0


@pytest.mark.enemy("owner of the folder", "gains a role")
@pytest.mark.parametrize("name", ["people.yaml", "trusted.yaml"])
def test_no_store_is_made_where_somebody_put_its_people_or_its_trust(
    tmp_path: Path, name: str, capsys: Capture
) -> None:
    (tmp_path / name).write_text("folders: [/]\n")
    (tmp_path / "old").mkdir()  # what looks like a store does not vouch for it
    (tmp_path / "old" / "history.duckdb").touch()
    assert main(["--store", str(tmp_path / "new"), "init"]) == 2
    assert "is there before the store is" in _complaint(capsys)[0]
    assert not (tmp_path / "new").exists()
    (tmp_path / name).unlink()
    assert main(["--store", str(tmp_path / "new"), "init"]) == 0


def test_a_store_is_made_with_its_key_outside_it(tmp_path: Path, capsys: Capture) -> None:
    assert main(["--store", str(tmp_path / "new"), "init"]) == 0
    assert str(tmp_path / "new.key") in capsys.readouterr().out
    assert (tmp_path / "new.key").stat().st_mode & 0o777 == 0o600
    assert main(["--store", str(tmp_path / "new"), "init"]) == 2
    assert _complaint(capsys)[0].endswith("new: is already a store")


# What cannot be carried out as given -----------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("history",),
        ("show", "clinic-2026Q1-r1"),
        ("verify",),
        ("approve", "c", "--by", "bob", "--reason", "seen"),
        ("withdraw", "r", "--by", "bob", "--reason", "wrong"),
    ],
    ids=lambda words: words[0],
)
def test_a_store_that_is_not_there_is_told(tmp_path: Path, capsys: Capture, words: Sequence[str]) -> None:
    root = tmp_path / "nowhere"
    assert main(["--store", str(root), *words]) == 2
    assert _complaint(capsys) == [
        f"releasegate: {root}: there is no store here",
        "  Run `releasegate init` to make one.",
    ]


@pytest.fixture
def no_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a command gets as far as Prefect."""
    monkeypatch.setitem(sys.modules, "flows.release", None)


@pytest.mark.usefixtures("no_flow")
class TestRunIsRefusedBeforePrefectStarts:
    def test_without_a_store(self, desk: Desk, tmp_path: Path, capsys: Capture) -> None:
        desk.root = tmp_path / "nowhere"
        assert desk.run(desk.policy(), desk.table()) == 2
        assert _complaint(capsys)[0] == f"releasegate: {desk.root}: there is no store here"

    def test_without_a_policy(self, desk: Desk, capsys: Capture) -> None:
        path = desk.folder / "none.yaml"
        assert desk.run(path, desk.table()) == 2
        assert _complaint(capsys) == [
            f"releasegate: {path}: no such file",
            "  Give the path of a policy.",
        ]

    def test_with_an_unknown_field(self, desk: Desk, capsys: Capture) -> None:
        path = desk.policy(privcy={"k": 3})
        assert desk.run(path, desk.table()) == 2
        told = _complaint(capsys)
        assert told[0] == f"releasegate: {path}: privcy: unknown field (did you mean 'privacy'?)"
        assert len(told) == 2

    def test_with_an_unknown_method(self, desk: Desk, capsys: Capture) -> None:
        path = desk.policy(method={"name": "mondrain"})
        assert desk.run(path, desk.table()) == 2
        assert _complaint(capsys) == [
            f"releasegate: {path}: method.name: unknown method 'mondrain' (did you mean 'mondrian'?)",
            f"  Known methods: {', '.join(methods())}.",
        ]

    def test_with_an_unknown_parameter(self, desk: Desk, capsys: Capture) -> None:
        path = desk.policy(method={"name": "ae-lrhma", "parameters": {"epoch": 3}})
        assert desk.run(path, desk.table()) == 2
        told = _complaint(capsys)
        assert told[0].endswith(
            "method.parameters.epoch: unknown parameter of ae-lrhma (did you mean 'epochs'?)"
        )
        assert len(told) == 2


def test_an_unknown_method_brings_the_nearest(capsys: Capture) -> None:
    assert main(["methods", "ae-lrmha"]) == 2
    assert _complaint(capsys) == [
        "releasegate: unknown method 'ae-lrmha' (did you mean 'ae-lrhma'?)",
        f"  Known methods: {', '.join(methods())}.",
    ]


def test_an_unknown_series_or_release_brings_the_nearest(published: Desk, capsys: Capture) -> None:
    assert published.say("history", "clinics") == 2
    assert _complaint(capsys) == [
        "releasegate: unknown series 'clinics' (did you mean 'clinic'?)",
        "  Known series: clinic.",
    ]
    assert published.say("show", "clinic-2026Q1-r2") == 2
    assert _complaint(capsys) == [
        "releasegate: no release or candidate 'clinic-2026Q1-r2' (did you mean 'clinic-2026Q1-r1'?)",
        "  Run `releasegate history` to list them.",
    ]


@pytest.mark.parametrize(
    ("words", "finding"),
    [
        ([], "Missing command."),
        (["histroy"], "No such command 'histroy'. Did you mean 'history'?"),
        (["run"], "Missing argument 'POLICY'."),
        (["approve", "c", "--by", "bob"], "Missing option '--reason'."),
        (["history", "--jsn"], "No such option: --jsn (Possible options: --json)"),
        (
            ["sign", "nod", "c", "--by", "bob", "--reason", "r"],
            "Invalid value for 'ACT': 'nod' is not one of",
        ),
    ],
)
def test_a_command_that_is_none_exits_with_2(words: list[str], finding: str, capsys: Capture) -> None:
    assert main(words) == 2
    said, hint = _complaint(capsys)
    assert said.startswith(f"releasegate: {finding}")
    assert hint.startswith("  See `releasegate ")


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_every_command_has_help(command: str | None, capsys: Capture) -> None:
    assert main(["--help"] if command is None else [command, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.strip().startswith(f"Usage: releasegate {command or ''}".rstrip())
    if command is not None:
        assert COMMANDS[command].does.rstrip(".").split(";")[0] in " ".join(out.split())


def test_every_command_writes_json_but_three(capsys: Capture) -> None:
    without = []
    for name in COMMANDS:
        main([name, "--help"])
        without += [name] * ("--json" not in capsys.readouterr().out)
    assert sorted(without) == ["draft", "init", "serve"]


@pytest.mark.parametrize(
    "words",
    [
        ("history",),
        ("history", "clinic"),
        ("show", "clinic-2026Q1-r1"),
        ("diff", "clinic-2026Q1-r1", "clinic-2026Q1-c1"),
        ("audit", "clinic"),
        ("evidence", "clinic-2026Q1-r1", "--out", "e.zip"),
        ("verify",),
        ("methods",),
        ("methods", "mondrian"),
    ],
    ids=" ".join,
)
def test_a_reading_command_writes_one_document_and_nothing_else(
    published: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(published.folder)
    assert published.say(*words, "--json") == 0
    assert isinstance(_document(capsys), dict)


def test_help_lists_every_command_and_exit_code(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert set(re.findall(r"(?<!\S)(\d)(?= [a-z])", shown.partition("Exit codes:")[2])) == set("0123456")
    assert all(re.search(rf"(?<!\S){name} ", shown) for name in COMMANDS)


def test_what_nobody_foresaw_is_told_without_its_message(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: Any) -> Any:
        raise ValueError("CANARY of a person's row")

    monkeypatch.setattr("cli.commands.history.history_document", broken)
    assert desk.say("history", "--json") == 1
    assert _complaint(capsys) == ["releasegate: unexpected error (ValueError)"]


def test_an_interrupted_command_ends_without_a_traceback(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("cli.commands.history.history_document", interrupted)
    assert desk.say("history", "--json") == 130
    assert len(_complaint(capsys)) == 1


# As its own process ----------------------------------------------------------------------------------


def _process(*words: object, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cli", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, **options)


@pytest.mark.parametrize(
    ("words", "code"), [(["methods"], 0), (["methods", "--json"], 0), (["--help"], 0), (["show", "none"], 2)]
)
def test_who_reads_no_further_is_told_nothing_and_changes_no_exit_code(
    desk: Desk, words: list[str], code: int
) -> None:
    read, write = os.pipe()
    os.close(read)
    with _process("--store", desk.root, *words, stdout=write) as process:
        os.close(write)
        told = process.communicate(timeout=HANG_TIMEOUT)[1]
    assert process.returncode == code
    assert bool(told) is (code != 0)


@pytest.mark.nightly
@pytest.mark.parametrize("words", [("--help",), ("methods",), ("history",)], ids=lambda words: words[0])
def test_reading_commands_answer_at_once(desk: Desk, words: tuple[str, ...]) -> None:
    """The target is half a second of processor time; three times that are allowed for a slow machine."""
    before = os.times()
    with _process("--store", desk.root, *words, stdout=subprocess.DEVNULL) as process:
        assert process.communicate(timeout=HANG_TIMEOUT)[1] == b""
    after = os.times()
    assert process.returncode == 0
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{words[0]}: {spent:.2f} s")
    assert spent < 1.5


@pytest.mark.parametrize("word", ["--help", "methods", "history"])
def test_a_reading_command_imports_nothing_that_costs_seconds(desk: Desk, word: str) -> None:
    script = (
        "import sys; from cli.__main__ import main\n"
        f"main(['--store', {str(desk.root)!r}, {word!r}])\n"
        "print(sorted({'prefect', 'torch', 'great_expectations'} & sys.modules.keys()))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=HANG_TIMEOUT)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "[]"


# Settings --------------------------------------------------------------------------------------------


def test_settings_that_keep_data_out_are_not_for_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*settings.REQUIRED, *settings.DEFAULTS):
        monkeypatch.setenv(name, "chosen")
    settings.apply_prefect_settings()
    assert {os.environ[name] for name in settings.DEFAULTS} == {"chosen"}
    assert {name: os.environ[name] for name in settings.REQUIRED} == settings.REQUIRED


def test_settings_that_are_left_open_are_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*settings.REQUIRED, *settings.DEFAULTS):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    settings.apply_prefect_settings()
    assert {name: os.environ[name] for name in settings.DEFAULTS} == settings.DEFAULTS


def test_a_store_that_is_named_after_the_command_is_told_where_it_stands(capsys: Capture) -> None:
    assert main(["history", "--store", "elsewhere"]) == 2
    assert "--store goes before the command: releasegate --store DIR COMMAND ..." in capsys.readouterr().err
