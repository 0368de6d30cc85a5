"""Kill a process at random moments of its work on a store, and see what recovery makes of it.

    python -m tests.faults.kill [--n 200] [--seed 1]
    python -m tests.faults.kill --steps

Each time a child process carries one of `ACTIONS` out on a copy of a small store and is killed with SIGKILL
after a random part of the time that the action takes, or with `--steps` once at the action's own step. Then:
what was committed before is still there; `recover` settles what was left; verify finds nothing; readers see
whole releases of the catalog and nothing else; no candidate is left that was never assessed; and the work can
be completed. To try another action, add it to `ACTIONS`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType

import duckdb

from policy.errors import ReleaseGateError
from release_store.audit import keys
from release_store.audit import log as audit
from release_store.audit.log import check_chain
from release_store.db.connection import DATABASE
from release_store.protocol.names import PURGED, RESTORED
from release_store.publishing.public_files import differing_files, kept_folder, release_folder
from release_store.publishing.publication import recover
from release_store.publishing.recovery import leftovers
from release_store.records import CandidateState, Release, ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults.small_work import assessed, published
from tests.support.at_work import decide, purge, restore, withdraw, write_people
from tests.support.trusting import trust_test_folders

APPROVED, WAITING, PUBLISHED = "clinic-2025-c1", "ward-2025-c1", "clinic-2024-r1"
REJECTED, WITHDRAWN = "pool-2025-c1", "park-2025-r1"


@dataclass(frozen=True)
class Action:
    """A piece of work, and how it is completed after it was killed: both may be called at any later time.

    `step` is the function, and which call of it, that a process killed at a step never comes to.
    """

    work: Callable[[ReleaseStore], object]
    complete: Callable[[ReleaseStore], None]
    step: tuple[ModuleType, str, int]


@dataclass(frozen=True)
class Killed:
    """One kill: when (a part of the action's time), what recovery said, and what was wrong after it."""

    number: int
    action: str
    part: float
    died: bool
    state: str  # of what was left, before recovery
    said: tuple[str, ...]
    wrong: tuple[str, ...]


def make(folder: Path) -> None:
    """Make in `folder` a store of a published and a withdrawn release, and of candidates in several states.

    Its key, and the checkpoint that is kept beside that, go with every copy.
    """
    os.environ[keys.KEY_VARIABLE] = str(folder / "signing.key")
    store = ReleaseStore.create(folder / "store")
    write_people(store.root)
    published(store, assessed(store, "clinic", "2024").candidate_id)
    assert assessed(store, "clinic", "2025").candidate_id == APPROVED
    assert assessed(store, "ward", "2025", approvers=1).candidate_id == WAITING
    assert assessed(store, "pool", "2025", approvers=1).candidate_id == REJECTED
    decide(store, REJECTED, "reject", by="bob", reason="not yet")
    published(store, assessed(store, "park", "2025").candidate_id)
    withdraw(store, WITHDRAWN, by="bob", reason="the wrong file")


def run(store: ReleaseStore) -> None:
    """Prepare, judge and publish a period, as a run does."""
    published(store, assessed(store, "shop", "2025").candidate_id)


def complete_run(store: ReleaseStore) -> None:
    """Publish a candidate that was left approved, or run the period again, unless it is published."""
    if store.last_release_of("shop", "2025") is not None:
        return
    left = [one for one in store.candidates("shop") if one.state is CandidateState.APPROVED]
    published(store, left[0].candidate_id) if left else run(store)


def approve(store: ReleaseStore) -> None:
    """Approve the candidate that waits, which publishes it."""
    decide(store, WAITING, "approve", by="bob", reason="looked at it")


def complete_approve(store: ReleaseStore) -> None:
    """Approve again unless it is published."""
    if store.last_release_of("ward", "2025") is None:
        approve(store)


def publish(store: ReleaseStore) -> None:
    """Publish the approved candidate."""
    published(store, APPROVED)


def complete_publish(store: ReleaseStore) -> None:
    """Publish again unless it is published."""
    if store.last_release_of("clinic", "2025") is None:
        publish(store)


def revise(store: ReleaseStore) -> None:
    """Release a period again, which supersedes its release and makes the approved candidate stale."""
    published(store, assessed(store, "clinic", "2024").candidate_id)


def complete_revise(store: ReleaseStore) -> None:
    """Publish a candidate that was left approved, or revise again, unless it is superseded."""
    if store.release(PUBLISHED).state is ReleaseState.SUPERSEDED:
        return
    left = [one for one in store.candidates("clinic") if one.state is CandidateState.APPROVED]
    again = [one.candidate_id for one in left if one.candidate_id != APPROVED]
    published(store, again[0]) if again else revise(store)


def take_down(store: ReleaseStore) -> None:
    """Withdraw the release."""
    withdraw(store, PUBLISHED, by="bob", reason="a column was not to be public")


def complete_take_down(store: ReleaseStore) -> None:
    """Withdraw again unless it is withdrawn."""
    if store.release(PUBLISHED).state is not ReleaseState.WITHDRAWN:
        take_down(store)


def put_back(store: ReleaseStore) -> None:
    """Restore the withdrawn release."""
    restore(store, WITHDRAWN, by="bob", reason="it was the right one")


def complete_put_back(store: ReleaseStore) -> None:
    """Restore again unless it is restored."""
    if store.release(WITHDRAWN).state is ReleaseState.WITHDRAWN:
        put_back(store)


def purge_rows(store: ReleaseStore) -> None:
    """Remove the rows of the rejected candidate."""
    purge(store, "pool", by="bob", reason="kept for long enough")


def complete_purge_rows(store: ReleaseStore) -> None:
    """Purge again unless it is purged."""
    if REJECTED not in store.purged():
        purge_rows(store)


ACTIONS = {
    "run": Action(run, complete_run, (audit, "append", 3)),  # the candidate is staged, its gates are not kept
    "approve": Action(approve, complete_approve, (os, "rename", 1)),  # begun, and nothing is public
    "publish": Action(publish, complete_publish, (audit, "append", 3)),  # public, and not kept as a release
    "revise": Action(revise, complete_revise, (os, "replace", 6)),  # released, and not all is announced
    "withdraw": Action(take_down, complete_take_down, (os, "rename", 1)),  # withdrawn, and still public
    "restore": Action(put_back, complete_put_back, (os, "rename", 1)),  # restored, and not yet public
    "purge": Action(purge_rows, complete_purge_rows, (os, "rmdir", 1)),  # purged, and its folder is there
}


def kill(n: int, seed: int, folder: Path) -> Iterator[Killed]:
    """Kill each action in turn, `n` times in all, and yield what was found."""
    with template(folder):
        lasts = {name: _time_of(action, folder) for name, action in ACTIONS.items()}
        for number in range(n):
            name = list(ACTIONS)[number % len(ACTIONS)]
            part = random.Random(f"{seed}/{number}").random()  # noqa: S311 -- to be had again from the seed
            yield _killed(number, name, part, folder, delay=part * lasts[name])


def kill_at_steps(folder: Path) -> Iterator[Killed]:
    """Kill each action once, as it is about to take its step, and yield what was found."""
    with template(folder):
        for number, (name, action) in enumerate(ACTIONS.items()):
            yield _killed(number, name, 0.0, folder, first=lambda at=action.step: _die_at(*at))


@contextmanager
def template(folder: Path) -> Iterator[None]:
    """Make the small store in `folder`, of which each kill has a copy; the key is as it was at the end."""
    before = os.environ.get(keys.KEY_VARIABLE)
    (folder / "template").mkdir(parents=True)
    try:
        make(folder / "template")
        yield
    finally:
        if before is None:
            os.environ.pop(keys.KEY_VARIABLE, None)
        else:
            os.environ[keys.KEY_VARIABLE] = before


def fresh(folder: Path) -> ReleaseStore:
    """Return a new copy of the small store."""
    shutil.rmtree(folder / "copy", ignore_errors=True)
    shutil.copytree(folder / "template", folder / "copy", symlinks=True)
    os.environ[keys.KEY_VARIABLE] = str(folder / "copy" / "signing.key")
    return ReleaseStore.open(folder / "copy/store")


def _time_of(action: Action, folder: Path) -> float:
    """Return the seconds that an action takes: the longer of two, as a later one may be slower."""
    found = []
    for _ in range(2):
        store = fresh(folder)
        begun = time.monotonic()
        _died(action.work, store, None)
        found.append(time.monotonic() - begun)
    return max(found)


def _killed(
    number: int,
    name: str,
    part: float,
    folder: Path,
    *,
    delay: float | None = None,
    first: Callable[[], None] | None = None,
) -> Killed:
    store, seen = fresh(folder), folder / "seen"
    seen.unlink(missing_ok=True)

    def begin() -> None:
        _tell_commits(seen)
        if first is not None:
            first()

    died = _died(ACTIONS[name].work, store, delay, begin)
    committed = [int(line) for line in seen.read_text().split()] if seen.exists() else []
    return looked_at(number, name, part, died, store, folder, committed)


def _die_at(module: ModuleType, name: str, number: int) -> None:
    """Let this process kill itself in place of the `number`-th call of a function of `module`."""
    do, calls = getattr(module, name), count(1)

    def call(*arguments: object, **options: object) -> object:
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return do(*arguments, **options)

    setattr(module, name, call)


def looked_at(
    number: int, name: str, part: float, died: bool, store: ReleaseStore, folder: Path, committed: list[int]
) -> Killed:
    """Recover, look, complete the action and look again; `committed` are the events that were certain."""
    action = ACTIONS[name]
    if unreadable := _unreadable(store):
        return Killed(number, name, part, died, "", (), (unreadable,))
    logged = store.events()
    states = Counter(str(one.state) for one in store.candidates())
    wrong = [] if len(logged) >= max(committed, default=0) else ["an event that was committed is lost"]
    said = recover(store)
    after = store.events()
    if after[: len(logged)] != logged:
        wrong.append("recovery changed the log")
    wrong += found_wrong(store)
    wrong += [f"recovery is not done: {one}" for one in recover(store)]
    try:
        action.complete(store)
    except ReleaseGateError as error:
        wrong.append(f"cannot be completed: {error}")
    wrong += [f"completed: {one}" for one in found_wrong(store)]
    if store.events()[: len(after)] != after:
        wrong.append("completion changed the log")
    end = {"withdraw": "release.taken_down", "restore": RESTORED, "purge": PURGED}.get(
        name, "release.published"
    )
    if not any(event.action == end for event in store.events()[len(_template_log(folder)) :]):
        wrong.append(f"completed, and there is no {end}")
    return Killed(number, name, part, died, ", ".join(sorted(states)), tuple(said), tuple(wrong))


def _unreadable(store: ReleaseStore) -> str:
    """Return DuckDB's own words where the database cannot be opened after the kill, else nothing."""
    try:
        duckdb.connect(str(store.root / DATABASE)).close()
    except duckdb.Error as error:
        return f"the database cannot be opened: {error}"
    return ""


def _template_log(folder: Path) -> list[object]:
    return list(ReleaseStore.open(folder / "template/store").events())


def _died(
    work: Callable[[ReleaseStore], object],
    store: ReleaseStore,
    delay: float | None,
    first: Callable[[], None] | None = None,
) -> bool:
    """Do `work` in a child process, killed after `delay` seconds if any; tell whether it died.

    `first` is done in the child before its work.
    """
    child = os.fork()
    if child == 0:
        try:
            if first is not None:
                first()
            work(store)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError("the work failed by itself")
    return os.WIFSIGNALED(status)


def _tell_commits(seen: Path) -> None:
    """Let every transaction of this process write the log's size to `seen` right after its commit."""
    from release_store import store
    from release_store.db import connection
    from release_store.publishing import publication, purge, withdrawal

    told = seen.open("a", encoding="utf-8", buffering=1)
    transaction = connection.transaction

    @contextmanager
    def told_transaction(*arguments: object, **options: object) -> Iterator[object]:
        with transaction(*arguments, **options) as con:  # type: ignore[arg-type]
            yield con
            size = audit.log_head(con)[0]
        told.write(f"{size}\n")

    for module in (publication, purge, store, withdrawal):
        module.transaction = told_transaction  # type: ignore[attr-defined]


def found_wrong(store: ReleaseStore) -> list[str]:
    """Return what is not as it must be after recovery, with what readers see."""
    wrong = [f"verify: {finding}" for finding in verify(store)]
    wrong += [f"chain: {finding}" for finding in check_chain(store.events())]
    releases = {one.release_id: one for one in store.releases()}
    catalog = json.loads((store.root / "releases/catalog.json").read_text())
    listed = {entry["release_id"] for entries in catalog["series"].values() for entry in entries}
    if listed != releases.keys():
        wrong.append("the catalog lists other releases than the history")
    seen = {
        path.name: path for path in store.root.glob("releases/*/*") if path.is_dir() and not path.is_symlink()
    }
    wrong += [f"{name} is visible, and no release" for name in sorted(seen.keys() - listed)]
    wrong += [f"{name} is left over" for names in leftovers(store).values() for name in names]
    wrong += [f"{one.release_id} is not whole" for one in releases.values() if not _whole(store, one)]
    return wrong


def _whole(store: ReleaseStore, release: Release) -> bool:
    folder = kept_folder(store.root, release)
    public = release_folder(store.root, release.series, release.release_id).exists()
    if public is (release.state is ReleaseState.WITHDRAWN):
        return False
    return folder.is_dir() and not differing_files(folder, release.files)


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, count, and tell what went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.kill")
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", action="store_true")
    chosen = parser.parse_args(arguments)
    trust_test_folders()
    counted, wrong = Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for one in kill_at_steps(folder) if chosen.steps else kill(chosen.n, chosen.seed, folder):
            ended = "killed" if one.died else "done before the kill"
            said = "; ".join(one.said) if chosen.steps else "settled by recovery" if one.said else ""
            counted[f"{one.action}, {ended}, {said or 'nothing to settle'}"] += 1
            for what in one.wrong:
                wrong += 1
                print(f"{one.number} {one.action} at {one.part:.3f}: {what}", flush=True)
    for ending, times in sorted(counted.items()):
        print(f"{times:4d} {ending}")
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
