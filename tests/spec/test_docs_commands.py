"""Every command in the pages is run, in the order of the pages, with the exit codes that they say."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cli.__main__ import main
from examples.register import generate
from tests.spec import docs_pages
from tests.support.plain_prefect import plain_prefect
from tests.support.timeouts import LONG_TIMEOUT

RUN = ("console", "sh", "python")
ELSEWHERE = re.compile(r"elsewhere: (\S+) because .+")
ROWS = 3000


def _blocks() -> list[docs_pages.Block]:
    return [b for page in docs_pages.PAGES for b in docs_pages.blocks(page) if b.language in RUN]


DEAR = re.compile(r"^\$ releasegate evaluate ", re.MULTILINE)  # it starts processes that import everything
HERE = [block for block in _blocks() if not block.comment.startswith("elsewhere")]


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


def test_what_ci_is_said_to_run_it_runs() -> None:
    script = (docs_pages.ROOT / ".ci" / "run").read_text(encoding="utf-8")
    parts = re.findall(r"^part \S+ (make|together) (.+)$", script, re.MULTILINE)
    made = {target for _, targets in parts for target in targets.split()}
    kinds = {"test-integration", "test-prefect", "test-faults", "test-browser", "test-e2e"}
    assert made == {".venv/installed", "lint", "demo", "test", "test-base", *kinds}


@dataclass
class CarriedOut:
    """What came of the pages' commands, by the block in which they stand."""

    folder: Path
    ended: dict[str, list[tuple[str, int, str, int]]] = field(default_factory=dict)

    def block(self, block: docs_pages.Block) -> None:
        """Carry out a block in the current folder."""
        if block.language == "python":
            exec(compile(block.text, block.where, "exec"), {})  # noqa: S102 -- our own page
            self.ended[block.where] = [("", 0, "", 0)]
        else:
            self.ended[block.where] = [
                (command, *_carried_out(command), wanted) for command, wanted in _commands(block)
            ]


@contextlib.contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, plain_prefect():
        for name in ("RELEASEGATE_STORE", "RELEASEGATE_SIGNING_KEY"):
            patch.delenv(name, raising=False)
        patch.setenv("RELEASEGATE_ACTOR", "the maker")
        patch.chdir(folder)
        yield


@pytest.fixture(scope="module")
def carried_out(tmp_path_factory: pytest.TempPathFactory) -> CarriedOut:
    """All blocks in their order, but those of the nightly test, in a folder that `make demo` was run in."""
    told = CarriedOut(tmp_path_factory.mktemp("pages"))
    with _in_folder(told.folder):
        generate.write(Path("demo/data"), generate.generate(n=ROWS))
        for block in HERE:
            if not DEAR.search(block.text):
                told.block(block)
    return told


@pytest.mark.integration
@pytest.mark.parametrize(
    "block", [block for block in HERE if not DEAR.search(block.text)], ids=lambda b: b.where
)
@pytest.mark.by_day(9)
def test_the_commands_of_the_pages_can_be_run(carried_out: CarriedOut, block: docs_pages.Block) -> None:
    _as_the_page_says(carried_out, block)


@pytest.mark.integration
def test_the_pages_lead_to_a_release(carried_out: CarriedOut) -> None:
    assert sum(map(len, carried_out.ended.values())) > 30
    assert (carried_out.folder / "store/releases/register/register-2026Q1-r1/manifest.json").is_file()


@pytest.mark.nightly
@pytest.mark.parametrize("block", [block for block in HERE if DEAR.search(block.text)], ids=lambda b: b.where)
def test_the_dear_commands_of_the_pages_can_be_run(carried_out: CarriedOut, block: docs_pages.Block) -> None:
    with _in_folder(carried_out.folder):
        carried_out.block(block)
    _as_the_page_says(carried_out, block)


def _as_the_page_says(carried_out: CarriedOut, block: docs_pages.Block) -> None:
    ended = carried_out.ended[block.where]
    assert ended
    for command, code, told, wanted in ended:
        assert code == wanted, f"{block.where}: {command}\n{told}"


@pytest.mark.nightly
def test_the_commands_of_the_readme_can_be_run_as_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Prefect, as somebody runs them who reads the page; the others run them in process."""
    monkeypatch.setenv("RELEASEGATE_ACTOR", "the maker")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.setenv("PYTHONPATH", str(docs_pages.ROOT))
    for name in ("RELEASEGATE_STORE", "RELEASEGATE_SIGNING_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    generate.write(Path("demo/data"), generate.generate(n=ROWS))
    n_run = 0
    for block in docs_pages.blocks(docs_pages.ROOT / "README.md"):
        if block.language != "console":
            continue
        for command, wanted in _commands(block):
            shell = f"{shlex.quote(sys.executable)} -m cli {command.removeprefix('releasegate ')}"
            done = subprocess.run(
                ["bash", "-c", shell], capture_output=True, text=True, check=False, timeout=LONG_TIMEOUT
            )
            assert done.returncode == wanted, f"{block.where}: {command}\n{done.stdout}{done.stderr}"
            n_run += 1
    assert n_run >= 9


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
