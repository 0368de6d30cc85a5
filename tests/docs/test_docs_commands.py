"""Every command in the pages is run, in the order of the pages, with the exit codes that they say."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import docs_pages
import pytest

from examples.register import generate
from flows.__main__ import main

RUN = ("console", "sh", "python")
ELSEWHERE = re.compile(r"elsewhere: (\S+) because .+")
REPLACE = re.compile(r"replace in (\S+): (.+) => (.+)")
ROWS = 3000


def _blocks() -> list[docs_pages.Block]:
    return [b for page in docs_pages.PAGES for b in docs_pages.blocks(page) if b.language in RUN]


def test_a_block_that_is_not_run_here_names_what_runs_it() -> None:
    elsewhere = [block for block in _blocks() if block.comment.startswith("elsewhere")]
    assert elsewhere
    for block in elsewhere:
        named = ELSEWHERE.fullmatch(block.comment)
        assert named, block.where
        file, _, function = named[1].partition("::")
        text = (docs_pages.ROOT / file).read_text(encoding="utf-8")
        assert not function or f"def {function}(" in text, block.where


def test_most_blocks_are_run_here() -> None:
    assert sum(not block.comment.startswith("elsewhere") for block in _blocks()) >= 6
    assert sum(block.comment.startswith("replace in") for block in _blocks()) == 1


def test_what_ci_is_said_to_run_it_runs() -> None:
    script = (docs_pages.ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test" in script


@pytest.mark.slow
@pytest.mark.prefect
def test_every_command_of_the_pages_can_be_run(
    prefect_server: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RELEASEGATE_STORE", "RELEASEGATE_SIGNING_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RELEASEGATE_ACTOR", "the maker")
    monkeypatch.chdir(tmp_path)
    # What `make demo` leaves behind, smaller.
    generate.write(Path("demo/data"), generate.generate(n=ROWS))
    n_run = 0
    for block in _blocks():
        if block.comment.startswith("elsewhere"):
            continue
        if block.comment:
            _replace(block)
        if block.language == "python":
            exec(compile(block.text, block.where, "exec"), {})  # noqa: S102 -- our own page
            n_run += 1
            continue
        for command, wanted in _commands(block):
            code, told = _carried_out(command)
            assert code == wanted, f"{block.where}: {command}\n{told}"
            n_run += 1
    assert n_run > 10
    assert Path("store/releases/register/register-2026Q1-r1/manifest.json").is_file()


def _replace(block: docs_pages.Block) -> None:
    found = REPLACE.fullmatch(block.comment)
    assert found, block.where
    path = Path(found[1])
    before = path.read_text(encoding="utf-8")
    assert before.count(found[2]) == 1, block.where
    path.write_text(before.replace(found[2], found[3]), encoding="utf-8")


def _commands(block: docs_pages.Block) -> Iterator[tuple[str, int]]:
    """Yield each command with the exit code that `echo $?` shows after it, else 0."""
    lines = block.text.replace("\\\n", " ").splitlines()
    if block.language == "console":
        lines = [line.removeprefix("$ ") if line.startswith("$ ") else f"#{line}" for line in lines]
    for here, line in enumerate(lines):
        if line.startswith("#") or line in ("", "echo $?"):
            continue
        shown = here + 2 < len(lines) and lines[here + 1] == "echo $?"
        yield line, int(lines[here + 2].removeprefix("#")) if shown else 0


def _carried_out(line: str) -> tuple[int, str]:
    """Run one command; return its exit code and what it printed on either stream."""
    words = shlex.split(line, comments=True)
    target = None
    if ">" in words:
        target = Path(words[words.index(">") + 1])
        words = words[: words.index(">")]
    assert words[0] == "releasegate", f"the tests cannot run {words[0]}"
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words[1:])
    if target is not None:
        target.write_text(out.getvalue(), encoding="utf-8")
    return code, out.getvalue() + err.getvalue()
