"""Publish, withdraw, restore or purge in copies of a store, killed each time at the next step; then recover.

    python -m tests.support.store.publish_and_die FOLDER publish|withdraw|restore|purge [STEP ...]

FOLDER holds `store` and `store.key`. The approved candidate is published, the newest release withdrawn or
restored, or the rows of all that ended are purged.
With steps, each a word of `STEPS` and which time it is taken, such as `rename.1`, killed at those alone.
Prints one JSON line a step: where it died, what recovery said, and what was found afterwards.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from release_store.audit import log as audit
from release_store.canonical import canonical_json
from release_store.publishing.publication import recover
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import purge, restore, withdraw
from tests.support.store.hand_made import publish_one

STEPS = (
    (os, "fsync"),
    (os, "rename"),
    (os, "replace"),
    (os, "symlink"),
    (audit, "append"),
)


REMOVALS = ((os, "unlink"), (os, "rmdir"))  # steps of a restoration and a purge too


def die_at(step: int | str, note: Path, steps: tuple[tuple[ModuleType, str], ...] = STEPS) -> None:
    """Kill this process with SIGKILL when it is about to take its `step`-th step, or the one of that name."""
    taken = Counter[str]()

    def counted(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            taken[name] += 1
            if step in (taken.total(), f"{name}.{taken[name]}"):
                note.write_text(name)
                os.kill(os.getpid(), signal.SIGKILL)
            return do(*arguments, **options)

        return call

    for module, name in steps:
        setattr(module, name, counted(name, getattr(module, name)))


def in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked process, so that it may die; return the signal that ended it, 0 for none."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit(os.WEXITSTATUS(status))
    return os.WTERMSIG(status)


def attempt(template: Path, folder: Path, step: int | str, what: str) -> bool:
    """Do `what` in a copy of the store, dying at `step`; return whether it died."""
    folder.mkdir()
    shutil.copytree(template / "store", folder / "store", symlinks=True)
    for path in (*template.glob("store.key*"), template / "people.yaml"):
        shutil.copy2(path, folder)
    note = folder / "died_at"

    def work() -> None:
        store = ReleaseStore.open(folder / "store")
        die_at(step, note, (*STEPS, *REMOVALS) if what in ("purge", "restore") else STEPS)
        if what == "purge":
            purge(store, "clinic", by="eve", reason="ended")
        elif what == "withdraw":
            withdraw(store, store.releases()[-1].release_id, by="eve", reason="wrong")
        elif what == "restore":
            restore(store, store.releases()[-1].release_id, by="eve", reason="it was right")
        else:
            publish_one(store, store.candidates()[-1].candidate_id, canonical_json)

    def settle() -> None:
        store = ReleaseStore.open(folder / "store")
        said = recover(store)
        again = recover(store)
        candidate = store.candidates()[-1]
        if candidate.state == "approved":
            publish_one(store, candidate.candidate_id, canonical_json)
        found = {
            "died_at": note.read_text() if note.exists() else None,
            "said": said,
            "again": again,
            "after": store.releases()[-1].state if what in ("withdraw", "restore") else candidate.state,
            "purged": sorted(store.purged()),
            "rows": sorted(str(path.relative_to(store.root)) for path in store.root.glob("*/**/data.csv")),
            "published": [release.release_id for release in store.releases()],
            "findings": [str(finding) for finding in verify(store)],
            "folder": sorted(entry.name for entry in (folder / "store/releases/clinic").iterdir()),
        }
        print(json.dumps(found), flush=True)

    died = in_child(work) == signal.SIGKILL
    in_child(settle)
    return died


if __name__ == "__main__":
    root = Path(sys.argv[1])
    for step in sys.argv[3:] or count(1):
        if not attempt(root, root / f"step {step}", step, sys.argv[2]) and not sys.argv[3:]:
            break
