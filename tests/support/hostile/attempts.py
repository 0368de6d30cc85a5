"""Carry out what hostile writers wrote, in this process, and say what they gained.

`python -m tests.support.hostile.attempts` prints one line of JSON: how often each exit code came, and what
was gained by seed.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from cli.__main__ import main
from policy.errors import Blocked
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.hostile.watch import Acts, Watch
from tests.support.hostile.writers import BESIDE, NAME, OUTSIDE, TOKEN, Case, write_case
from tests.support.plain_prefect import plain_prefect

HANG = 300.0  # seconds after which a case is taken for one that never ends
WHOLE = 6  # one case of so many goes on beyond the intake
STOP = "enough of this case"
SHOW = False
MARKUP = "<script>alert(1)"  # of a policy's texts
UNFORESEEN = ("unexpected error", "failed (", "bug in releasegate")
CANARIES = (NAME, OUTSIDE, TOKEN, BESIDE)
LONGEST_WORD = 1000  # characters of a line


def attempt(case: Case, store: Path, acts: Acts, *, whole: bool) -> tuple[int, list[str]]:
    """Carry out one case; return its exit code, and what it gained that nobody may gain."""
    watch = Watch(case.root)
    acts.taken()
    said = io.StringIO()
    here = Path.cwd()
    faulthandler.dump_traceback_later(HANG, exit=True)
    try:
        os.chdir(case.desk)
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), _as_far(whole):
            code = main(["--store", str(store), *case.words])
    finally:
        os.chdir(here)
        faulthandler.cancel_dump_traceback_later()
    opened, written = watch.close()
    words = said.getvalue()
    if SHOW:
        print(f"{case.words} ended with {code}:\n{words}", file=sys.stderr)
    gained = [f"opened {path.relative_to(case.root)}" for path in sorted(opened) if not _may_open(case, path)]
    gained += [f"wrote {path.relative_to(case.root)}" for path in sorted(written)]
    gained += acts.taken()
    gained += [
        f"told {canary}" for canary in (NAME, OUTSIDE, TOKEN, BESIDE) if _tells(case, code, canary, words)
    ]
    gained += _words(code, words)
    return code, gained


@contextlib.contextmanager
def _as_far(whole: bool) -> Iterator[None]:
    """Let a run end behind its intake, unless the whole is asked for."""
    if whole:
        yield
        return
    with mock.patch("services.release.validate_source", side_effect=Blocked(STOP)):
        yield


def _may_open(case: Case, path: Path) -> bool:
    given = None if case.given is None else _leads_to(case.desk / case.given)
    return path == given or path in _in_the_folder(case)


def _in_the_folder(case: Case) -> set[Path]:
    """Return the files below the policy's folder that it declares, by their own names or by links."""
    found: set[Path] = set()
    for name in case.declared:
        found |= {case.desk / name, _leads_to(case.desk / name)}
    return {path for path in found if path.is_relative_to(case.desk)}


def _leads_to(path: Path) -> Path:
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # of a name that no file has, of a loop
        return path.resolve()
    return path


def _tells(case: Case, code: int, canary: str, words: str) -> bool:
    # A draft lists the values of columns of few values; a policy may name the file beside it.
    drafted = case.words[0] == "draft" and code == 0
    return canary in words and not (drafted and canary == BESIDE)


def _words(code: int, words: str) -> list[str]:
    """Say what is wrong with the words of an error: a traceback, too many lines, one that tells nothing."""
    if "Traceback" in words:
        return ["a traceback"]
    if any(sign in words for sign in UNFORESEEN):
        return [f"an error that was not foreseen: {words[-300:]}"]
    told = words.partition("releasegate: ")[2].rstrip("\n").split("\n")
    ends_otherwise = code == 0 or STOP in words
    if ends_otherwise or (code in (4, 5) and not told[0]):  # gates and approvals have tables of their own
        return []
    if not told[0] or len(told) > 2 or max(map(len, told)) > LONGEST_WORD:
        return [f"an error of {len(told)} lines: {words[:300]!r}"]
    return [] if all(map(str.isprintable, told)) else [f"an error with signs that no terminal shows: {told}"]


def published(store: Path, case: Case) -> list[str]:
    """Return the canaries that stand in anything of the store that the public reads."""
    found = []
    beside = {BESIDE} if case.desk / "beside.csv" in _in_the_folder(case) else set()
    allowed = {BESIDE, OUTSIDE} if case.given else beside  # of a table that the command names
    for path in (store / "releases").rglob("*"):
        if path.is_file() and path.suffix != ".zip":
            data = path.read_bytes()
            if path.suffix == ".html" and MARKUP.encode() in data:
                found.append(f"published {MARKUP} as markup in {path.name}")
            found += [
                f"published {canary} in {path.name}"
                for canary in CANARIES
                if canary.encode() in data and canary not in allowed
            ]
    return found


def attempts(first: int, count: int) -> dict[str, Any]:
    """Carry out `count` cases from the seed `first` on, each in a folder and with a store of its own."""
    codes: Counter[int] = Counter()
    gained: dict[int, list[str]] = {}
    n_published = 0
    with tempfile.TemporaryDirectory() as folder, plain_prefect():
        acts = Acts(Path(folder))
        (Path(folder) / "temporary").mkdir()
        tempfile.tempdir = str(Path(folder) / "temporary")  # where Great Expectations makes a folder
        template = Path(folder) / "template" / "store"
        ReleaseStore.create(template)
        own = {"PREFECT_HOME": str(Path(folder) / "prefect"), "XDG_CACHE_HOME": str(Path(folder) / "cache")}
        os.environ.update(RELEASEGATE_TOKEN=TOKEN, **own)
        for seed in range(first, first + count):
            place = Path(folder) / f"case-{seed}"
            os.environ["HOME"] = str(place / "case" / "home")
            shutil.copytree(template.parent, place / "kept")
            store = place / "kept" / "store"
            key = sorted((place / "kept").glob("*.key"))
            before = {path: path.read_bytes() for path in key}
            case = write_case(place / "case", seed)
            code, found = attempt(case, store, acts, whole=seed % WHOLE == 0)
            if {path: path.read_bytes() for path in key} != before:
                found.append("wrote a key")
            if seed % WHOLE == 0:
                found += [f"verify: {one}" for one in verify(ReleaseStore.open(store))]
                found += published(store, case) if code == 0 else []
                n_published += code == 0 and case.words[0] == "run"
            codes[code] += 1
            if found:
                gained[seed] = found
            shutil.rmtree(place)
    return {"codes": dict(sorted(codes.items())), "published": n_published, "gained": gained}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--show", action="store_true", help="write what each case said")
    chosen = parser.parse_args()
    SHOW = chosen.show
    print(json.dumps(attempts(chosen.first, chosen.count)))
