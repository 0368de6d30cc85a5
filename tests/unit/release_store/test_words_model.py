"""Random words of random people on a candidate, beside a small literal model of who lets it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy.errors import ReleaseGateError, StoreError
from release_store.approval.decisions import decide
from release_store.approval.reviewers import Reviewers, needed_reviewers
from release_store.db import queries
from release_store.db.connection import connect
from release_store.db.release_changes import _check_admitted
from release_store.records import CandidateRecord, CandidateState, Verdict
from release_store.store import ReleaseStore
from tests.support.at_work import key_of, member, write_people
from tests.support.store.hand_made import K_FAILS, awaiting, stage, word

ROLES = {
    "ann": ["operator", "approver", "admin"],  # the maker
    "bob": ["approver"],
    "cid": ["approver", "admin"],
    "dan": ["admin"],
    "eve": ["auditor", "operator"],
    "fay": ["approver", "admin"],
}
NEEDED = 2


@dataclass(frozen=True)
class Said:
    """One word: by whom, with whose key, and whether about what stands there."""

    by: str
    act: str
    key: str
    current: bool


WORDS = st.builds(
    Said,
    by=st.sampled_from([*ROLES, "mallory"]),
    act=st.sampled_from(["approve", "approve", "override", "override", "reject"]),
    key=st.sampled_from(["own", "own", "own", "own", "own", "another's", "none"]),
    current=st.sampled_from([True, True, True, True, False]),
)


@dataclass
class Model:
    """What the rules say, written down once more."""

    state: str
    overridable: bool
    words: dict[str, str] = field(default_factory=dict)

    def take(self, said: Said) -> bool:
        """Tell whether a word is taken, and what comes of it."""
        role = "admin" if said.act == "override" else "approver"
        fine = said.key == "own" and said.current and role in ROLES.get(said.by, [])
        fine = fine and said.by != "ann" and said.by not in self.words
        at = {"approve": ["waiting"], "reject": ["waiting", "approved"], "override": ["blocked"]}[said.act]
        fine = fine and self.state in at and (said.act != "override" or self.overridable)
        if fine:
            self.words[said.by] = said.act
            given_now = sum(one == said.act for one in self.words.values())
            if said.act == "reject":
                self.state = "rejected"
            elif given_now >= NEEDED:
                self.state = "approved"
        return fine


STATES = {
    "waiting": CandidateState.AWAITING_APPROVAL,
    "blocked": CandidateState.BLOCKED,
    "approved": CandidateState.APPROVED,
    "rejected": CandidateState.REJECTED,
}


@dataclass
class World:
    """A store with three candidates, held open; each example is rolled back."""

    con: duckdb.DuckDBPyConnection
    store_id: str
    staff: Reviewers
    records: dict[str, CandidateRecord]


@pytest.fixture
def world(store: ReleaseStore) -> Iterator[World]:
    write_people(store.root, *(member(name, roles) for name, roles in ROLES.items()))
    held_back, broken = stage(store, period="2025"), stage(store, period="2026")
    wrong = replace(K_FAILS, gate="e", verdict=Verdict.ERROR)
    for record, gates in ((held_back, [K_FAILS]), (broken, [K_FAILS, wrong])):
        store.record_gates(record.candidate_id, gates, to=CandidateState.BLOCKED, actor="ann")
    records = {"waiting": awaiting(store, approvers=NEEDED), "blocked": held_back, "broken": broken}
    staff = needed_reviewers(store.root)
    with connect(store.root) as con:
        yield World(con, store.store_id, staff, records)


@given(which=st.sampled_from(["waiting", "blocked", "broken"]), words=st.lists(WORDS, max_size=10))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.enemy("operator", "publishes a person")
def test_nothing_is_let_out_that_the_rules_forbid(world: World, which: str, words: list[Said]) -> None:
    model = Model("waiting" if which == "waiting" else "blocked", which == "blocked")
    record, con = world.records[which], world.con
    con.execute("BEGIN")
    try:
        for said in words:
            _take(world, record, model, said)
        now = queries.candidate(con, record.candidate_id)
        if model.state == "approved":
            _check_admitted(con, now)
        else:
            with pytest.raises(StoreError):
                _check_admitted(con, now)
    finally:
        con.execute("ROLLBACK")


def _take(world: World, record: CandidateRecord, model: Model, said: Said) -> None:
    head = record.history_head if said.current else "0" * 64
    credential = {"own": key_of(said.by), "another's": key_of("zoe"), "none": None}[said.key]
    n_events = log_size(world.con)
    outcome = decide(
        world.con,
        world.store_id,
        word(record, said.by, said.act, history_head=head),
        world.staff,
        credential,
        approvers_needed=NEEDED,
    )
    assert isinstance(outcome, ReleaseGateError) is not model.take(said), (said, outcome)
    assert queries.candidate(world.con, record.candidate_id).state is STATES[model.state]
    assert log_size(world.con) > n_events  # what was refused is in the log, too


def log_size(con: duckdb.DuckDBPyConnection) -> int:
    (size,) = con.execute("SELECT count(*) FROM event").fetchone() or (0,)
    return int(size)
