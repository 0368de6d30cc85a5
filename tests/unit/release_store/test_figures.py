"""The figures of candidates: kept with the gates, read back, and held against the log."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from test_verification import change, found

from policy.errors import StoreError, VerificationFailed
from release_store.canonical import canonical_json, sha256_hex
from release_store.db.connection import connect
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.store.hand_made import K_FAILS, K_PASSES, approved, publish_one, stage

FIGURES: dict[str, Any] = {
    "format": "releasegate/figures/1",
    "classes": {"n": 2, "records": 7, "median": 3.5},
    "attributes": [{"name": "größe <b>", "bins": [{"label": 'a "b"', "before": None, "after": 0.1}]}],
    "latent": None,
}
GUARDED = ("candidate_figures",)


def judged(store: ReleaseStore, figures: Any, *, passes: bool = True, **wanted: Any) -> str:
    record = stage(store, **wanted)
    store.record_gates(
        record.candidate_id,
        [K_PASSES if passes else K_FAILS],
        to=CandidateState.APPROVED if passes else CandidateState.BLOCKED,
        actor="ann",
        figures=figures,
    )
    return record.candidate_id


def said(store: ReleaseStore, name: str) -> dict[str, Any]:
    (event,) = [one for one in store.events_about(name) if one.action == "candidate.assessed"]
    return event.payload


def test_figures_are_kept_as_canonical_json_whose_digest_is_logged(store: ReleaseStore) -> None:
    name = judged(store, FIGURES)
    assert store.figures(name) == FIGURES
    assert said(store, name)["figures"] == sha256_hex(canonical_json(FIGURES))
    with connect(store.root) as con:
        rows = con.execute("SELECT * FROM candidate_figures").fetchall()
    assert rows == [(name, canonical_json(FIGURES).decode())]
    publish_one(store, name)
    assert verify(store) == []
    assert store.figures(name) == FIGURES


def test_a_blocked_candidate_has_figures_too(store: ReleaseStore) -> None:
    name = judged(store, FIGURES, passes=False)
    assert store.candidate(name).state is CandidateState.BLOCKED
    assert store.figures(name) == FIGURES
    assert verify(store) == []


def test_a_candidate_without_figures_has_none_and_the_log_says_nothing_of_them(store: ReleaseStore) -> None:
    name = approved(store)
    assert store.figures(name) is None
    assert "figures" not in said(store, name)
    assert verify(store) == []


def test_no_figures_are_not_the_same_as_empty_ones(store: ReleaseStore) -> None:
    name = judged(store, {})
    assert store.figures(name) == {}
    assert "figures" in said(store, name)
    assert verify(store) == []
    change(store, "DELETE FROM candidate_figures", guarded=GUARDED)
    assert found(store) == {name: "its figures are missing"}


def test_figures_that_json_cannot_hold_leave_nothing_of_the_gates(store: ReleaseStore) -> None:
    record = stage(store)
    before = store.events()
    with pytest.raises(StoreError):
        store.record_gates(
            record.candidate_id,
            [K_PASSES],
            to=CandidateState.APPROVED,
            actor="ann",
            figures={"classes": object()},
        )
    assert store.candidate(record.candidate_id).state is CandidateState.STAGED
    assert store.gates(record.candidate_id) == []
    assert store.figures(record.candidate_id) is None
    assert store.events() == before


def test_all_figures_come_by_series_in_the_order_of_their_candidates(store: ReleaseStore) -> None:
    names = [judged(store, {"n": n}, series=series) for n, series in enumerate(("shop", "clinic", "shop"))]
    approved(store, series="ward")
    assert store.all_figures() == {name: {"n": n} for n, name in enumerate(names)}
    assert list(store.all_figures()) == names
    assert store.all_figures("shop") == {names[0]: {"n": 0}, names[2]: {"n": 2}}
    assert store.all_figures("ward") == {}


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE candidate_figures SET document = document || ' '", "differ from the logged ones"),
        (
            "UPDATE candidate_figures SET document = replace(document, '7', '8')",
            "differ from the logged ones",
        ),
        ("UPDATE candidate_figures SET document = ''", "differ from the logged ones"),
        ("DELETE FROM candidate_figures", "its figures are missing"),
    ],
)
def test_altered_and_missing_figures_are_found_and_not_given(
    store: ReleaseStore, statement: str, what: str
) -> None:
    name = judged(store, FIGURES)
    change(store, statement, guarded=GUARDED)
    assert what in found(store)[name]
    with pytest.raises(VerificationFailed, match=what):
        store.figures(name)


def test_figures_that_were_added_are_found_and_not_given(store: ReleaseStore) -> None:
    name = approved(store)
    change(store, f"INSERT INTO candidate_figures VALUES ('{name}', '{{}}'), ('clinic-1-c9', '{{}}')")
    told = {str(one) for one in verify(store)}
    assert told == {
        f"{name}: has figures that were not logged",
        "clinic-1-c9: has figures that were not logged",
        "clinic-1-c9: has rows in candidate_figures, but is not a candidate",
    }
    with pytest.raises(VerificationFailed, match="were not logged"):
        store.figures(name)


def test_figures_in_the_place_of_anothers_are_found(store: ReleaseStore) -> None:
    one, other = judged(store, FIGURES), judged(store, {"n": 1})
    document = canonical_json(FIGURES).decode().replace("'", "''")
    change(store, f"UPDATE candidate_figures SET document = '{document}'", guarded=GUARDED)
    assert found(store).keys() == {other}
    assert store.figures(one) == FIGURES


def test_what_is_no_json_any_more_is_told_and_nothing_of_it_is_quoted(store: ReleaseStore) -> None:
    name = judged(store, FIGURES)
    for text in ("[1]", "{broken"):
        change(store, f"UPDATE candidate_figures SET document = '{text}'", guarded=GUARDED)
        with pytest.raises(StoreError) as told:
            store.all_figures()
        assert (told.value.where, told.value.message) == (name, "its figures cannot be read")


def test_figures_are_append_only(store: ReleaseStore) -> None:
    name = judged(store, FIGURES)
    for statement in ("UPDATE candidate_figures SET document = '{}'", "DELETE FROM candidate_figures"):
        with pytest.raises(StoreError), connect(store.root) as con:
            con.execute(statement)
    with pytest.raises(StoreError), connect(store.root) as con:
        con.execute("INSERT INTO candidate_figures VALUES (?, '{}')", [name])
    with duckdb.connect(str(store.root / "history.duckdb")) as con:
        (trigger,) = con.execute(
            "SELECT count(*) FROM duckdb_triggers() WHERE table_name = 'candidate_figures'"
        ).fetchone() or (0,)
    assert trigger == 2
    assert store.figures(name) == FIGURES
