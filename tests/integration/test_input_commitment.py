"""What is public of an input tells nothing of it; who has the key and the table can still check it."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from policy.errors import UsageError
from policy.load import load_policy
from release_store.audit.keys import KEY_VARIABLE, make_key
from release_store.canonical import digest_of
from release_store.commitment import commitment_to, draw_key, is_made_of
from release_store.evidence.bundle import write_evidence
from release_store.verification.verify import verify
from services.reproduction import reproduce
from tasks.intake.read import read_table
from tasks.preprocessing.prepare import prepare
from tasks.recoding.draws import seed_of
from tests.support.front_desk import Desk


@pytest.mark.enemy("reader", "learns a value")
@pytest.mark.enemy("auditor", "learns a value")
def test_no_file_of_the_store_or_the_evidence_holds_a_plain_digest_of_the_input(desk: Desk) -> None:
    table = desk.table()
    plain = hashlib.sha256(table.read_bytes())
    assert desk.run(desk.policy(), table) == 0
    (release,) = desk.store.releases()
    bundle = desk.folder / "evidence.zip"
    write_evidence(desk.store, release.release_id, bundle)
    files = [path for path in desk.folder.rglob("*") if path.is_file() and path != table]
    assert bundle in files
    assert any(release.release_id in str(path) for path in files)
    for path, told in itertools.product(files, (plain.hexdigest().encode(), plain.digest())):
        assert told not in path.read_bytes(), path
    recorded = desk.store.candidate(release.candidate_id).input_digest
    assert recorded == commitment_to(desk.root, plain.hexdigest())
    assert is_made_of(desk.root, recorded, plain.hexdigest())
    assert reproduce(desk.store, release.release_id, table).same


@pytest.mark.enemy("auditor", "learns a value")
def test_who_knows_all_but_one_value_of_a_small_table_cannot_try_the_values(desk: Desk) -> None:
    """Each of the values is tried, as was done with the plain digest; without the key none fits."""
    table = desk.table()
    text = table.read_text()
    first = text.splitlines()[1]
    values = sorted({line.rsplit(",", 1)[1] for line in text.splitlines()[1:]})
    assert len(values) > 1
    assert desk.run(desk.policy(), table) == 0
    (release,) = desk.store.releases()
    recorded = desk.store.candidate(release.candidate_id).input_digest
    tried = [text.replace(first, f"{first.rsplit(',', 1)[0]},{value}", 1) for value in values]
    digests = [hashlib.sha256(one.encode()).hexdigest() for one in tried]
    assert hashlib.sha256(text.encode()).hexdigest() in digests
    assert recorded not in digests
    assert [commitment_to(desk.root, one) == recorded for one in digests].count(True) == 1


@pytest.mark.enemy("reader", "learns a value")
@pytest.mark.parametrize("recoding", ["adaptive", "quantized"])
def test_the_key_of_the_store_decides_what_a_recoding_draws(desk: Desk, recoding: str) -> None:
    """The rows of a release come out again with the store's key, and not without."""
    table = desk.table()
    policy = desk.policy(method={"name": "mondrian", "recoding": recoding}, gates={"ncp": {"max": 1}})
    assert desk.run(policy, table) == 0
    (release,) = desk.store.releases()
    assert reproduce(desk.store, release.release_id, table).same
    source = read_table(load_policy(policy), input_path=table, period="2026Q1", base=desk.folder)
    assert source.draw_key == b""
    prepared = prepare(source, load_policy(policy))
    keyed = replace(prepared, draw_key=draw_key(desk.root))
    assert seed_of(keyed, 42) != seed_of(prepared, 42)


def test_what_was_drawn_before_there_was_a_key_of_draws_comes_out_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = desk.table()
    policy = desk.policy(method={"name": "mondrian", "recoding": "adaptive"}, gates={"ncp": {"max": 1}})
    with monkeypatch.context() as patch:
        patch.setattr("services.candidate_run.draw_key", lambda _: b"")
        assert desk.run(policy, table) == 0
    (release,) = desk.store.releases()
    assert reproduce(desk.store, release.release_id, table).same


@pytest.mark.enemy("auditor", "learns a value")
def test_the_log_tells_no_count_of_the_validated_table(desk: Desk) -> None:
    assert desk.run(desk.policy(), desk.table()) == 0
    (kept,) = desk.store.validations()
    (event,) = [one for one in desk.store.events() if one.action == "input.validated"]
    assert digest_of(list(kept.results)) != event.payload["results"]
    assert kept.results
    assert all("expectation" in one for one in kept.results)
    assert verify(desk.store) == []


def test_another_key_commits_otherwise_and_none_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    for name in ("one", "two"):
        make_key(tmp_path / name)
    digest = "0" * 64
    assert commitment_to(tmp_path / "one", digest) != commitment_to(tmp_path / "two", digest)
    assert is_made_of(tmp_path / "without", digest, digest)  # as it was recorded before
    with pytest.raises(UsageError, match="signing key"):
        is_made_of(tmp_path / "without", "1" * 64, digest)
