from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import StoreError
from release_store.canonical import (
    canonical_json,
    file_digest,
    indented_json,
    iso,
    plain,
    pretty_json,
    tree_digest,
)
from release_store.records import Verdict

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_canonical_json_sorts_keys_and_writes_numbers_as_rfc_8785_does() -> None:
    assert canonical_json({"b": 1.0, "a": [True, None, 1e21, 0.1]}) == b'{"a":[true,null,1e+21,0.1],"b":1}'


def test_numbers_that_json_lacks_and_values_of_numpy_become_plain() -> None:
    value = {
        "a": float("nan"),
        "b": np.float64("-inf"),
        "c": np.int32(3),
        "d": np.array([1, 2]),
        "e": Verdict.PASS,
    }
    assert plain(value) == {"a": "NaN", "b": "-Infinity", "c": 3, "d": [1, 2], "e": "pass"}


@pytest.mark.parametrize("value", [2**60, object(), {"a": {1, 2}}, datetime(2024, 1, 1)])  # noqa: DTZ001
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(StoreError):
        canonical_json(value)


def test_a_time_is_written_in_utc_with_microseconds() -> None:
    summer = datetime(2024, 7, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert iso(summer) == "2024-07-01T10:00:00.000000+00:00"
    assert datetime.fromisoformat(iso(summer)).tzinfo == UTC


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-99, 99)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_reading_canonical_json_back_and_writing_it_again_changes_nothing(value: object) -> None:
    def number(text: str) -> int | float:
        return int(text) if abs(int(text)) < 2**53 else float(text)

    written = canonical_json(value)
    assert canonical_json(json.loads(written, parse_int=number)) == written
    assert json.loads(pretty_json(value)) == plain(value)


def test_a_tree_digest_is_the_digest_of_names_and_digests_in_any_order() -> None:
    by_hand = hashlib.sha256(b'{"a":"00","b":"11"}').hexdigest()
    assert tree_digest({"b": "11", "a": "00"}) == tree_digest({"a": "00", "b": "11"}) == by_hand
    assert tree_digest({"a": "11", "b": "00"}) != by_hand


def test_a_file_is_digested_piece_by_piece(tmp_path: Path) -> None:
    data = b"0123456789" * 300_000
    (tmp_path / "f").write_bytes(data)
    assert file_digest(tmp_path / "f") == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("sort_keys", [True, False])
@given(value=JSON)
def test_indented_json_is_written_as_python_writes_it(value: Any, sort_keys: bool) -> None:
    expected = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=sort_keys)
    assert indented_json(value, sort_keys=sort_keys) == expected


def test_indented_json_writes_what_only_a_default_can() -> None:
    value = {"paths": [PurePosixPath("a/b"), PurePosixPath('"c"')], "flat": (), "none": {}, "pair": (1, 2)}
    expected = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    assert indented_json(value, default=str) == expected
    with pytest.raises(TypeError):
        indented_json(value)
    with pytest.raises(ValueError, match="Out of range"):
        indented_json([float("nan")], allow_nan=False)
