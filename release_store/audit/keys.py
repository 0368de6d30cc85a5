"""The Ed25519 key that signs checkpoints: outside the store, so that who can write the store cannot sign."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from policy.accepted import real_path
from policy.errors import UsageError
from policy.plain_file import read_bytes
from release_store.canonical import canonical_json
from release_store.guarded_files import is_new_key, read_plain, read_secret, resolved, write_new_key
from release_store.protocol.checkpoints import signature_holds
from release_store.protocol.ed25519 import is_public_key

__all__ = [
    "KEY_VARIABLE",
    "PUBLIC_KEY_FILE",
    "key_path",
    "load_key",
    "make_key",
    "public_hex",
    "public_pem",
    "read_pem",
    "read_public_hex",
    "sign_checkpoint",
    "signature_holds",
]

KEY_VARIABLE = "RELEASEGATE_SIGNING_KEY"
PUBLIC_KEY_FILE = "public-key.pem"


def key_path(root: Path) -> Path:
    """Return where the signing key of the store in `root` is kept. Raises UsageError inside the store."""
    store = resolved(root)
    chosen = os.environ.get(KEY_VARIABLE)
    path = resolved(Path(chosen)) if chosen else store.with_name(store.name + ".key")
    if real_path(path).is_relative_to(store):
        raise UsageError(
            "the signing key is inside the store that it protects",
            where=str(path),
            hint=f"Keep it elsewhere, and set {KEY_VARIABLE} to its path.",
        )
    return path


def make_key(root: Path, undo: ExitStack | None = None) -> Ed25519PrivateKey:
    """Make a new store's signing key (mode 0600), which `undo` removes, or take the one that is named."""
    path = key_path(root)
    if not is_new_key(path, KEY_VARIABLE):
        return key_at_hand(root)
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_new_key(path, pem, undo)
    return key


def load_key(root: Path) -> Ed25519PrivateKey:
    """Return the signing key. Raises UsageError if it is missing, open to others, or another store's."""
    key = key_at_hand(root)
    if read_public_hex(root) not in (None, public_hex(key)):
        raise UsageError(
            "is the signing key of another store",
            where=str(key_path(root)),
            hint="Restore the store's own key.",
        )
    return key


def key_at_hand(root: Path) -> Ed25519PrivateKey:
    """Return the key in the place of the store's, whichever store's it is; raises as `load_key`."""
    path = key_path(root)
    data = read_secret(path, "the signing key", hint=f"Restore it, or name it in {KEY_VARIABLE}.")
    key = read_pem(data, path)
    if key is None:
        raise UsageError("holds no Ed25519 key", where=str(path), hint="Restore the key from a backup.")
    return key


def read_pem(data: bytes, path: Path) -> Ed25519PrivateKey | None:
    """Return the private key in PEM, or None if it is no such key. Raises UsageError if it is encrypted.

    `path` is named in the message.
    """
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except TypeError:  # as the library says that a password is needed
        raise UsageError(
            "has a passphrase, which cannot be entered here",
            where=str(path),
            hint=f"`(umask 077 && openssl pkey -in {path} -out NEW)` writes it without; give that file.",
        ) from None
    except ValueError:
        return None
    return key if isinstance(key, Ed25519PrivateKey) else None


def public_hex(key: Ed25519PrivateKey | Ed25519PublicKey) -> str:
    """Return the 32 bytes of the public key in hexadecimal."""
    public = key.public_key() if isinstance(key, Ed25519PrivateKey) else key
    return public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw).hex()


def public_pem(key: Ed25519PrivateKey) -> bytes:
    """Return the public key as PEM."""
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def read_public_hex(root: Path) -> str | None:
    """Return the public key kept in the store in hexadecimal, or None if it is missing or no such key."""
    try:
        data = read_bytes(root / PUBLIC_KEY_FILE)
        key = serialization.load_pem_public_key(data)
    except (OSError, ValueError):
        return None
    if not isinstance(key, Ed25519PublicKey) or data != _pem(key):  # text beside the key is anybody's
        return None
    found = public_hex(key)
    return found if is_public_key(found) else None


def _pem(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def read_public_file(path: Path) -> str:
    """Return the public key in a PEM file, in hexadecimal. Raises UsageError if it holds none."""
    hint = f"Give a copy of the store's {PUBLIC_KEY_FILE}."
    data, _ = read_plain(path, "the public key", hint=hint)
    try:
        key = serialization.load_pem_public_key(data)
    except ValueError as error:
        finding = f"the public key cannot be read ({type(error).__name__})"
        raise UsageError(finding, where=str(path), hint=hint) from None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError("holds no Ed25519 key", where=str(path), hint=f"Give a copy of {PUBLIC_KEY_FILE}.")
    found = public_hex(key)
    if not is_public_key(found):
        raise UsageError("holds a weak key, under which anybody can sign", where=str(path), hint=hint)
    return found


def sign_checkpoint(
    key: Ed25519PrivateKey,
    *,
    store_id: str,
    size: int,
    head: str,
    at: str,
    root: str | None = None,
    of: str | None = None,
) -> dict[str, Any]:
    """Return a signed statement that the log of `store_id` had `size` events, the last of hash `head`.

    `root` is the root of the Merkle tree over them, which a seal lacks; `of` what it follows: a release's id,
    `<release>.withdrawn`, or the object of the event that it seals. Without either it is of an earlier form.
    """
    checkpoint = {"store_id": store_id, "size": size, "head": head, "at": at, "public_key": public_hex(key)}
    if root is not None:
        checkpoint["root"] = root
    if of is not None:
        checkpoint["of"] = of
    return {**checkpoint, "signature": key.sign(canonical_json(checkpoint)).hex()}
