"""The fast reading of a log says what the plain rules of RFC 8785 say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import StoreError
from release_store.audit import log as audit
from release_store.audit.log import (
    canonical_payload,
    event_hash,
    flat_shape,
    hash_of_texts,
    plain_payload,
    plain_text,
)
from release_store.audit.replay import read_log
from release_store.canonical import canonical_json
from release_store.db.connection import connect, transaction
from release_store.records import AuditEvent
from release_store.store import ReleaseStore

NUMBERS = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e16, 1e17, 1e21, 1e-5, 1e-7, 0.0, -0.0, 100.0, 5e-324]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)
PAYLOADS = st.dictionaries(st.text(), VALUES, max_size=4)


@given(PAYLOADS, st.text(), st.text(), st.integers(1, 2**53 - 1))
def test_the_hash_of_the_texts_is_the_hash_of_the_event(
    payload: dict[str, Any], actor: str, reason: str, number: int
) -> None:
    event = AuditEvent(number, "2026", actor, "tried", "it", reason, payload, "0" * 64, "")
    text = canonical_json(payload).decode()
    assert hash_of_texts(number, "2026", actor, "tried", "it", reason, text, "0" * 64) == event_hash(event)


@given(PAYLOADS)
def test_canonical_text_is_read_and_any_other_writing_of_it_is_not(payload: dict[str, Any]) -> None:
    text = rfc8785.dumps(payload).decode()
    found = canonical_payload(text)
    assert found is not None
    assert rfc8785.dumps(found).decode() == text
    for other in (json.dumps(payload), json.dumps(payload, separators=(",", ":")), text + " ", " " + text):
        assert other == text or canonical_payload(other) is None


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "1",
        "",
        "{",
        '{"a":1}{',
        '{"a":1,"a":2}',
        '{"b":1,"a":2}',
        '{"a":1.0}',
        '{"a":-0}',
        '{"a":1e2}',
        '{"a":0.00001}',
        '{"a":1e-05}',
        '{"a":NaN}',
        '{"a":Infinity}',
        '{"a":9007199254740993}',
        '{"a":"\\u0041"}',
        '{"a":"\\u00e9"}',
        '{"a":"\\ud800"}',
        '{"a":"\\ud83d\\ude00"}',
        '{"a":"\\/"}',
        '{"\U00010000":1,"\uffff":2}',
        '{"\uffff":2,"\U00010000":1}',
        "[" * 100_000,
        '{"a":' * 50_000,
    ],
)
def test_what_is_not_canonical_is_none(text: str) -> None:
    try:
        canonical = canonical_json(json.loads(text)).decode() == text and text.startswith("{")
    except (ValueError, StoreError, RecursionError):
        canonical = False
    assert (canonical_payload(text) is not None) == canonical


def test_a_log_longer_than_a_batch_is_read_whole(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with transaction(store.root) as con:
        for n in range(20):
            audit.append(con, "ann", "tried", f"thing {n}", "", {"n": n})
    whole = store.events()
    monkeypatch.setattr(audit, "_BATCH", 7)
    assert store.events() == whole
    assert store.events(after=9) == whole[9:]
    assert store.n_events() == len(whole) == 21
    with connect(store.root) as con:
        log = read_log(con)
        assert log.hashes == [event.hash for event in whole]
        assert log.findings == []
        con.execute("DROP TRIGGER event_keeps_updates ON event")
        con.execute("UPDATE event SET number = number + 1000000000000 WHERE number > 14")
        found = read_log(con)
    assert len(found.hashes) == 21
    assert "follows event 14" in found.findings[0].what


NAMES = st.sampled_from(["a", "b", "c_d", "E", "é"])
FLAT = st.dictionaries(NAMES, st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=4)), max_size=4)


@given(FLAT, FLAT)
def test_what_has_the_shape_of_another_payload_is_canonical_and_has_its_fields(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    shape = flat_shape(one)
    text = rfc8785.dumps(other).decode()
    for written in (text, json.dumps(other), json.dumps(other, separators=(",", ":"))):
        if shape is not None and shape.fullmatch(written):
            assert written == text
            assert other.keys() == one.keys()


def test_only_one_writing_has_a_shape() -> None:
    shape = flat_shape({"b": 1, "a": "x"})
    assert shape is not None
    assert all(
        map(shape.fullmatch, ['{"a":"y","b":2}', '{"a":-20,"b":null}', '{"a":"","b":999999999999999}'])
    )
    for text in (
        '{"b":1,"a":"x"}',
        '{"a":"x","b":1,"b":1}',
        '{"a":"x","b":01}',
        '{"a":"x","b":-0}',
        '{"a":"x","b":1.0}',
        '{"a":"x","b":1000000000000000}',
        '{"a":"x","b":"\\u0041"}',
        '{"a":"x","b":{}}',
        '{"a":"x","b":1} ',
        '{"a":"x","b":1}\n',
        '{"a":"é","b":1}',
        '{"a":"x"}',
    ):
        assert not shape.fullmatch(text), text
    assert flat_shape({}) is None
    assert flat_shape({'"': 1}) is None


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("text", ['{"a": 2}', '{"a":3}', '{"a":2,"b":1}', '{"a":01}', "{"])
def test_an_event_of_a_known_shape_that_was_changed_is_found(tmp_path: Path, number: int, text: str) -> None:
    store = ReleaseStore.create(tmp_path / "store")
    with transaction(store.root) as con:
        for _ in range(3):
            audit.append(con, "ann", "input.seen", "it", "", {"a": 2})
    with connect(store.root) as con:
        assert read_log(con).findings == []
        con.execute("DROP TRIGGER event_keeps_updates ON event")
        con.execute("UPDATE event SET payload = ? WHERE number = ?", [text, number])
        assert [one.where for one in read_log(con).findings] == [f"event {number}"]


@given(PAYLOADS)
def test_a_part_of_what_was_read_plainly_is_written_as_the_rules_say(payload: dict[str, Any]) -> None:
    found = plain_payload(rfc8785.dumps(payload).decode())
    for part in (found or {}).values():
        assert plain_text(part).encode() == rfc8785.dumps(part)
