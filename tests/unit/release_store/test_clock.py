"""A clock that was set back writes nothing to the log, cheats no expiry, and is told by `doctor`."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from policy.errors import Blocked, StoreError
from release_store.approval import decisions
from release_store.audit import log as audit
from release_store.checkup import Condition, check_store
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import agreed
from tests.support.store.hand_made import approved, awaiting, publish_one, word

ROOT = Path(__file__).parents[3]


def clock(monkeypatch: pytest.MonkeyPatch, **ahead: float) -> None:
    """Set the clock by which events and decisions are timed."""
    moment = datetime.now(UTC) + timedelta(**ahead)
    for module in (audit, decisions):
        monkeypatch.setattr(module, "utc_now", lambda: moment)


def test_an_event_is_not_earlier_than_the_last(store: ReleaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = awaiting(store)
    logged = store.events()
    clock(monkeypatch, hours=-3)
    with pytest.raises(StoreError, match="the last event of the store is 3 hours later") as caught:
        agreed(store, word(waiting), 1)
    assert caught.value.hint.startswith("Set the clock, and try again; nothing was changed.")
    assert store.events() == logged
    assert store.candidate(waiting.candidate_id).state is CandidateState.AWAITING_APPROVAL
    monkeypatch.undo()
    assert agreed(store, word(waiting), 1) is CandidateState.APPROVED
    assert verify(store) == []


@pytest.mark.parametrize(("seconds", "allowed"), [(-50, True), (-70, False)])
def test_a_minute_is_forgiven(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch, seconds: int, allowed: bool
) -> None:
    last = datetime.fromisoformat(store.events()[-1].at)
    monkeypatch.setattr(audit, "utc_now", lambda: last + timedelta(seconds=seconds))
    if allowed:
        approved(store)
    else:
        with pytest.raises(StoreError, match="the last event of the store is 70 seconds later"):
            approved(store)
    assert verify(store) == []


def test_a_candidate_that_expired_does_not_come_back_with_the_clock(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = awaiting(store, expires_at=datetime.now(UTC) + timedelta(days=1))
    clock(monkeypatch, days=2)
    publish_one(store, approved(store, series="ward"))  # something happens two days later
    clock(monkeypatch)
    with pytest.raises(StoreError, match="the last event of the store is 48 hours later"):
        agreed(store, word(waiting), 1)
    clock(monkeypatch, days=2)
    with pytest.raises(Blocked, match="expired"):
        agreed(store, word(waiting), 1)


def test_doctor_and_a_command_in_a_process_of_its_own_tell_it(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(monkeypatch, days=400)
    waiting = awaiting(store)  # now the real clock of every other process is behind
    monkeypatch.undo()
    (found,) = [check for check in check_store(store.root) if check.name == "clock"]
    assert found.condition is Condition.WRONG
    assert found.hint.startswith("Set the clock; if it is right, ")
    script = (
        "import sys; from pathlib import Path; from release_store.store import ReleaseStore, CandidateState\n"
        "store = ReleaseStore.open(Path(sys.argv[1]))\n"
        "store.move(sys.argv[2], CandidateState.EXPIRED, actor='a', reason='b')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(store.root), waiting.candidate_id],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "StoreError: audit log: the clock of this machine shows" in ended.stderr
    assert "the last event of the store is 400 days later" in ended.stderr
    assert store.candidate(waiting.candidate_id).state is CandidateState.AWAITING_APPROVAL
