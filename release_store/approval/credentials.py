"""What proves that a person said something: a signature by their key, or a token that only they have.

What is signed is a statement: canonical JSON of the act, the store, the object, what the object was, and who,
why and when. A signature is kept and can be checked by anybody, offline, for ever. A token is compared with
its salted hash when it is used, and never kept: that it was given stands in the log, and only there.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy.errors import UsageError
from release_store.approval.reviewers import Reviewer, token_fingerprint
from release_store.audit import keys
from release_store.canonical import canonical_json, iso
from release_store.guarded_files import read_secret
from release_store.permission import SIGNED_ELSEWHERE
from release_store.protocol.proofs import signed_by, statement
from release_store.protocol.strict_json import read_json
from release_store.records import Proof

KEY_VARIABLE = "RELEASEGATE_KEY"
TOKEN_VARIABLE = "RELEASEGATE_TOKEN"  # noqa: S105 -- a name
LEAST_TOKEN = 20  # letters: what a person types from memory is too short to stand in a file of hashes
CLOCKS_APART = timedelta(minutes=5)
_LONGEST_TEXT = 20_000
_HINT_SIGNED = "Give --key FILE, --token-file FILE or --signed TEXT."
_HINT_HERE = "Give --key FILE or --token-file FILE."
_HINT_TEXT = "Give the whole line that `releasegate sign` printed."
_SIGNED_FIELDS = {"statement", "public_key", "signature"}
_SCRYPT = (1 << 15, 8, 1)  # N, r, p: 32 MiB, a tenth of a second


@dataclass(frozen=True)
class Statement:
    """What a person says: `act` to `object` of a store, as it was by the digests and states in `bound`."""

    act: str
    store_id: str
    object: str
    bound: Mapping[str, str]
    by: str
    reason: str
    at: datetime

    def document(self) -> dict[str, Any]:
        """Return what is signed, as plain JSON."""
        return statement(
            act=self.act,
            store_id=self.store_id,
            subject=self.object,
            bound=dict(self.bound),
            by=self.by,
            reason=self.reason,
            at=iso(self.at),
        )


@dataclass(frozen=True)
class PrivateKey:
    """A person's key, which signs here and now."""

    key: Ed25519PrivateKey = field(repr=False)


@dataclass(frozen=True)
class Token:
    """A secret that the person has, and nobody else."""

    text: str = field(repr=False)


@dataclass(frozen=True)
class SignedText:
    """A line that `sign_text` made elsewhere."""

    text: str

    def said(self) -> Statement:
        """Return what was signed, whether it holds or not. Raises UsageError if it is no such text."""
        return _read(self.text)[0]


Credential = PrivateKey | Token | SignedText


def prove(member: Reviewer, credential: Credential | None, said: Statement, roster_digest: str) -> Proof:
    """Return the proof that `member` says this; `roster_digest` is that of the people in force.

    Raises UsageError where nothing is given, or it is not this person's, or about something else.
    """
    where = said.object
    match credential:
        case None:
            raise UsageError(
                f"no key or token was given for {member.name}",
                where=where,
                hint=_HINT_SIGNED if said.act in SIGNED_ELSEWHERE else _HINT_HERE,
            )
        case Token(text):
            if member.token_hash is None or not _is_token(text, member.token_hash):
                raise UsageError(
                    f"the token is not that of {member.name}",
                    where=where,
                    hint="Give the person's own token.",
                )
            return Proof("token", roster_digest, token=token_fingerprint(member.token_hash))
        case PrivateKey(key):
            proof = Proof("signature", roster_digest, keys.public_hex(key), _signature(key, said))
        case SignedText(text):
            signed, public_key, signature = _read(text)
            _check_same(signed, said)
            proof = Proof("signature", roster_digest, public_key, signature)
    if proof.public_key != member.public_key or not signed_by(
        said.document(), proof.public_key, proof.signature
    ):
        raise UsageError(
            f"the signature is not by the key of {member.name}",
            where=where,
            hint="Give the person's own key; the file of people holds its public half.",
        )
    return proof


def _check_same(signed: Statement, said: Statement) -> None:
    ours, theirs = said.document(), signed.document()
    other = [name for name in ours if ours[name] != theirs[name]]
    if other:
        raise UsageError(
            f"was signed for another {', '.join(other).replace('_', ' ')}",
            where=said.object,
            hint="Sign the current state with `releasegate sign`.",
        )


def check_moment(said: Statement, now: datetime, since: datetime) -> None:
    """Raise UsageError unless something was said after `since` and, but for the clocks, not after `now`."""
    if said.at > now + CLOCKS_APART:
        finding = f"was signed at {said.at:%Y-%m-%d %H:%M} UTC, which is in the future"
    elif said.at < since:
        finding = f"was signed at {said.at:%Y-%m-%d %H:%M} UTC, before its subject existed"
    else:
        return
    raise UsageError(finding, where=said.object, hint="Set the clocks, and sign the current state.")


def sign_text(said: Statement, key: Ed25519PrivateKey) -> str:
    """Return a statement with its signature in one line of letters: base64url of canonical JSON."""
    document = {
        "statement": said.document(),
        "public_key": keys.public_hex(key),
        "signature": _signature(key, said),
    }
    return base64.urlsafe_b64encode(canonical_json(document)).decode().rstrip("=")


def _signature(key: Ed25519PrivateKey, said: Statement) -> str:
    return key.sign(canonical_json(said.document())).hex()


def _read(text: str) -> tuple[Statement, str, str]:
    plain = "".join(text.split())
    try:
        if len(plain) > _LONGEST_TEXT:
            raise ValueError
        data = base64.b64decode(plain + "=" * (-len(plain) % 4), altchars=b"-_", validate=True)
        found = read_json(data)
        signed = found["statement"]
        said = Statement(
            signed["act"],
            signed["store_id"],
            signed["object"],
            signed["bound"],
            signed["by"],
            signed["reason"],
            datetime.fromisoformat(signed["at"]),
        )
        if canonical_json(said.document()) != canonical_json(signed) or found.keys() != _SIGNED_FIELDS:
            raise ValueError
        texts = [said.act, said.store_id, said.object, said.by, said.reason, *said.bound.values()]
        if not all(isinstance(each, str) for each in texts):
            raise ValueError
        return said, str(found["public_key"]), str(found["signature"])
    except Exception:  # anybody's text: nothing of it is told
        raise UsageError("this is not a signed decision", hint=_HINT_TEXT) from None


# Keys and tokens in files ----------------------------------------------------------------------------------


def make_private_key(path: Path) -> Ed25519PrivateKey:
    """Make a person's key in a new file (mode 0600). Raises UsageError if there is one."""
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write_secret(path, pem)
    return key


def read_private_key(path: Path) -> PrivateKey:
    """Return a person's key. Raises UsageError if it cannot be read, is open to others or is no such key."""
    data = read_secret(path, "the key")
    key = keys.read_pem(data, path)
    if key is None:
        raise UsageError(
            "holds no Ed25519 key", where=str(path), hint="Give the person's private key, a PEM file."
        )
    return PrivateKey(key)


def make_token(path: Path) -> str:
    """Make a token in a new file (mode 0600), and return its hash. Raises UsageError if there is one."""
    token = secrets.token_urlsafe(32)
    _write_secret(path, f"{token}\n".encode())
    return hash_token(token)


def read_token(path: Path) -> Token:
    """Return the token in a file. Raises UsageError if it cannot be read or is open to others."""
    try:
        return Token(read_secret(path, "the token").decode().strip())
    except UnicodeDecodeError:
        raise UsageError(
            "holds no token", where=str(path), hint="Give the file that --make-token wrote."
        ) from None


def hash_token(token: str, salt: bytes | None = None) -> str:
    """Return the salted hash of a token, as it stands in the file of people: scrypt (RFC 7914)."""
    if len(token) < LEAST_TOKEN:
        raise UsageError(f"a token needs at least {LEAST_TOKEN} characters", hint="Use --make-token FILE.")
    salted = secrets.token_bytes(16) if salt is None else salt
    n, r, p = _SCRYPT
    return f"scrypt${n}${r}${p}${salted.hex()}${_scrypt(token, salted, n, r, p).hex()}"


def _is_token(token: str, token_hash: str) -> bool:
    try:
        _, n, r, p, salt, wanted = token_hash.split("$")
        found = _scrypt(token, bytes.fromhex(salt), int(n), int(r), int(p))
        return hmac.compare_digest(found, bytes.fromhex(wanted))
    except (ValueError, binascii.Error):
        return False


def _scrypt(token: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(token.encode(), salt=salt, n=n, r=r, p=p, maxmem=256 * n * r, dklen=32)


def _write_secret(path: Path, data: bytes) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise UsageError("exists already", where=str(path), hint="Name a new file.") from None
    except OSError as error:
        raise UsageError(
            f"cannot be written ({type(error).__name__})", where=str(path), hint="Name another file."
        ) from None


def credential_of(
    key: Path | None = None, token_file: Path | None = None, signed: str | None = None
) -> Credential | None:
    """Return the one credential that a command was given, else that of the environment, else None.

    Raises UsageError for two of them, and as `read_private_key` and `read_token` do.
    """
    if sum(one is not None for one in (key, token_file, signed)) > 1:
        raise UsageError("two proofs were given", hint="Give one of --key, --token-file and --signed.")
    if signed is not None:
        return SignedText(signed)
    if token_file is not None:
        return read_token(token_file)
    if key is not None:
        return read_private_key(key)
    if named := os.environ.get(KEY_VARIABLE):
        return read_private_key(Path(named))
    if token := os.environ.get(TOKEN_VARIABLE):
        return Token(token)
    return None


def as_said(said: Statement, credential: Credential | None) -> Statement:
    """Return a statement bound to what the person saw and when, where a signed text says it.

    A text that says nothing, or is bound to other fields, changes nothing: `prove` refuses it.
    """
    if isinstance(credential, SignedText):
        with contextlib.suppress(UsageError):
            signed = credential.said()
            if signed.bound.keys() == said.bound.keys():
                return replace(said, bound=dict(signed.bound), at=signed.at)
    return said
