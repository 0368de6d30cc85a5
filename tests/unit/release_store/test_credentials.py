"""What proves a word: any change of what was signed is refused, and so is another's key or token."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from policy.errors import UsageError
from release_store.approval import credentials
from release_store.approval.credentials import (
    PrivateKey,
    SignedText,
    Statement,
    Token,
    check_moment,
    credential_of,
    hash_token,
    make_private_key,
    make_token,
    prove,
    read_private_key,
    read_token,
    sign_text,
)
from release_store.approval.reviewers import Reviewer
from release_store.canonical import canonical_json
from release_store.protocol.proofs import signed_by
from tests.support.at_work import key_of, member

NOW = datetime(2026, 11, 22, 3, 0, 0, 123456, tzinfo=UTC)
SAID = Statement("approve", "s-1", "clinic-2024-c1", {"candidate_digest": "a" * 64}, "ada", "seen", NOW)
ADA = Reviewer.model_validate(member("ada"))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "act": st.sampled_from(["reject", "override", "withdraw", "publish", ""]),
    "store_id": TEXTS,
    "object": TEXTS,
    "bound": st.dictionaries(st.sampled_from(["candidate_digest", "policy_digest", "x"]), TEXTS, max_size=3),
    "by": TEXTS,
    "reason": TEXTS,
    "at": st.datetimes(timezones=st.just(UTC)),
}


def test_a_signature_is_a_proof_that_anybody_can_check() -> None:
    proof = prove(ADA, key_of("ada"), SAID, "roster")
    assert (proof.method, proof.people, proof.public_key) == ("signature", "roster", ADA.public_key)
    assert signed_by(SAID.document(), proof.public_key, proof.signature)
    assert prove(ADA, SignedText(sign_text(SAID, key_of("ada").key)), SAID, "roster") == proof


@given(st.data())
@pytest.mark.enemy("approver", "forges a word")
def test_any_change_of_any_field_of_a_signed_statement_is_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(CHANGES)))
    other = replace(SAID, **{name: data.draw(CHANGES[name])})
    assume(other.document() != SAID.document())
    text = SignedText(sign_text(SAID, key_of("ada").key))
    with pytest.raises(UsageError, match="was signed for another"):
        prove(ADA, text, other, "roster")
    proof = prove(ADA, text, SAID, "roster")
    assert not signed_by(other.document(), proof.public_key, proof.signature)


@given(st.integers(0), st.integers(1, 255))
@pytest.mark.enemy("approver", "forges a word")
def test_any_changed_byte_of_a_signed_text_is_refused(place: int, change: int) -> None:
    """It is no such text any more, or not what was signed."""
    text = sign_text(SAID, key_of("ada").key)
    data = bytearray(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    data[place % len(data)] ^= change
    altered = base64.urlsafe_b64encode(bytes(data)).decode()
    with pytest.raises(UsageError):
        prove(ADA, SignedText(altered), SAID, "roster")


@given(st.text(max_size=60))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_other_text_is_no_signed_decision(text: str) -> None:
    with pytest.raises(UsageError, match="this is not a signed decision"):
        SignedText(text).said()


@pytest.mark.parametrize("extra", [{"more": 1}, {"signature": None}, {"statement": []}])
@pytest.mark.enemy("approver", "forges a word")
def test_a_text_with_other_fields_is_no_signed_decision(extra: dict[str, object]) -> None:
    text = sign_text(SAID, key_of("ada").key)
    document = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    altered = base64.urlsafe_b64encode(canonical_json({**document, **extra})).decode()
    with pytest.raises(UsageError):
        prove(ADA, SignedText(altered), SAID, "roster")


@pytest.mark.enemy("operator", "forges a word")
def test_another_key_and_a_key_where_only_a_token_is_known_are_refused() -> None:
    with pytest.raises(UsageError, match="the signature is not by the key of ada"):
        prove(ADA, key_of("bob"), SAID, "roster")
    with pytest.raises(UsageError, match="the signature is not by the key of ada"):
        prove(ADA, SignedText(sign_text(SAID, key_of("bob").key)), SAID, "roster")
    by_token = Reviewer.model_validate(
        {"name": "ada", "roles": ["admin"], "token_hash": hash_token("t" * 30)}
    )
    with pytest.raises(UsageError, match="the signature is not by the key of ada"):
        prove(by_token, key_of("ada"), SAID, "roster")
    with pytest.raises(UsageError, match="no key or token was given for ada"):
        prove(ADA, None, SAID, "roster")


def test_a_token_proves_whose_hash_it_has_and_is_not_kept() -> None:
    hashed = hash_token("t" * 30)
    eve = Reviewer.model_validate({"name": "eve", "roles": ["admin"], "token_hash": hashed})
    proof = prove(eve, Token("t" * 30), SAID, "roster")
    assert proof.document().keys() == {"method", "people", "token"}
    assert "t" * 30 not in str(proof)
    for wrong in ("t" * 29, "t" * 31, "", hashed):
        with pytest.raises(UsageError, match="the token is not that of eve"):
            prove(eve, Token(wrong), SAID, "roster")
    with pytest.raises(UsageError, match="the token is not that of ada"):
        prove(ADA, Token("t" * 30), SAID, "roster")
    assert hash_token("t" * 30) != hashed  # salted
    with pytest.raises(UsageError, match="at least 20 characters"):
        hash_token("short")


def test_no_secret_is_shown() -> None:
    assert "t" * 30 not in repr(Token("t" * 30))
    assert "Ed25519" not in repr(key_of("ada"))


def test_a_word_is_said_between_the_making_of_its_object_and_now() -> None:
    check_moment(SAID, NOW, NOW)
    check_moment(SAID, NOW - timedelta(minutes=5), NOW - timedelta(days=30))
    with pytest.raises(UsageError, match="which is in the future"):
        check_moment(SAID, NOW - timedelta(minutes=5, microseconds=1), NOW - timedelta(days=1))
    with pytest.raises(UsageError, match="before its subject existed"):
        check_moment(SAID, NOW + timedelta(days=1), NOW + timedelta(microseconds=1))


@pytest.mark.enemy("other account", "reads a file")
def test_keys_and_tokens_come_from_files_that_nobody_else_reads(tmp_path: Path) -> None:
    key = make_private_key(tmp_path / "ada.pem")
    read = read_private_key(tmp_path / "ada.pem")
    assert read.key.public_key() == key.public_key()
    hashed = make_token(tmp_path / "eve.token")
    assert credentials._is_token(read_token(tmp_path / "eve.token").text, hashed)
    for name in ("ada.pem", "eve.token"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        with pytest.raises(UsageError, match="exists already"):
            make_token(tmp_path / name)
        (tmp_path / name).chmod(0o640)
    with pytest.raises(UsageError, match="the key can be read by others"):
        read_private_key(tmp_path / "ada.pem")
    with pytest.raises(UsageError, match="the token can be read by others"):
        read_token(tmp_path / "eve.token")
    with pytest.raises(UsageError, match="cannot be read"):
        read_private_key(tmp_path / "nothing.pem")
    (tmp_path / "eve.token").chmod(0o600)
    with pytest.raises(UsageError, match="holds no Ed25519 key"):
        read_private_key(tmp_path / "eve.token")


def test_one_credential_is_given_or_the_environment_s_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (credentials.KEY_VARIABLE, credentials.TOKEN_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    assert credential_of() is None
    make_private_key(tmp_path / "ada.pem")
    assert isinstance(credential_of(tmp_path / "ada.pem"), PrivateKey)
    assert credential_of(signed="x") == SignedText("x")
    with pytest.raises(UsageError, match="two proofs were given"):
        credential_of(tmp_path / "ada.pem", signed="x")
    monkeypatch.setenv(credentials.TOKEN_VARIABLE, "t" * 30)
    assert credential_of() == Token("t" * 30)
    monkeypatch.setenv(credentials.KEY_VARIABLE, str(tmp_path / "ada.pem"))
    assert isinstance(credential_of(), PrivateKey)
    assert credential_of(signed="x") == SignedText("x")
