"""The version that is installed, and completion in a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from cli.__main__ import main
from cli.app import COMMANDS
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).resolve().parents[3]
Capture = pytest.CaptureFixture[str]


def completed(words: str) -> list[str]:
    """Return what bash would offer for the last of `words`, by the protocol of its completion."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "_RELEASEGATE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "releasegate"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_TIMEOUT,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_the_version_is_that_of_the_installation(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"releasegate {metadata.version('releasegate')}\n"


def test_files_that_were_not_installed_have_no_version(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert main(["--version"]) == 2
    assert capsys.readouterr().err.startswith("releasegate: releasegate is not installed")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("releasegate re", [name for name in COMMANDS if name.startswith("re")]),
        ("releasegate --ver", ["--version"]),
        ("releasegate run --per", ["--period"]),
    ],
)
def test_bash_is_offered_commands_and_options(words: str, offered: list[str]) -> None:
    assert completed(words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_names_the_program(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    with pytest.raises(SystemExit) as ended:
        main(["--show-completion", shell])
    assert ended.value.code == 0
    assert "_RELEASEGATE_COMPLETE" in capsys.readouterr().out
