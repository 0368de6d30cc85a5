"""The people who work with a store: listed, and added to their file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from cli.console import console, titled
from policy.errors import UsageError
from policy.text import number_of
from policy.yaml_text import dump_yaml
from release_store.approval.credentials import make_private_key, make_token
from release_store.approval.reviewers import (
    AT_LEAST,
    Reviewers,
    check_members,
    check_people_folder,
    load_reviewers,
    parse_staff,
    people_path,
    read_people_file,
    read_staff,
)
from release_store.audit import keys
from release_store.canonical import sha256_hex
from release_store.guarded_files import resolved
from release_store.publishing.public_files import replace_file
from reports.text import escaped

_HEAD = """\
# The people who work with the release store next to this file, and their keys.
people:
"""
_ITEM = re.compile(r"^( *)- ", re.MULTILINE)


def people_document(staff: Reviewers) -> dict[str, Any]:
    """Return the people as JSON values; a token is told by the fingerprint of its hash."""
    return {
        "file": str(staff.path),
        AT_LEAST: staff.approvers_at_least,
        "people": [
            {
                "name": one.name,
                "roles": [str(role) for role in one.roles],
                "public_key": one.public_key,
                "token": sha256_hex(one.token_hash.encode()) if one.token_hash else None,
                "account": one.account,
            }
            for one in staff.members
        ],
    }


def show_people(document: Mapping[str, Any]) -> None:
    """Show the people as a table."""
    rows: list[tuple[str, ...]] = [
        (
            escaped(one["name"]),
            ", ".join(one["roles"]),
            one["public_key"][:16] if one["public_key"] else "",
            one["token"][:16] if one["token"] else "",
            escaped(one["account"] or ""),
        )
        for one in document["people"]
    ]
    console().print(titled("People", ("name", "roles", "key", "token", "account"), rows))
    if document[AT_LEAST]:
        console().print(f"every candidate needs at least {number_of(document[AT_LEAST], 'approval')}")


def add_person(
    root: Path,
    name: str,
    roles: Sequence[str],
    *,
    public_key: str | None = None,
    make_key: Path | None = None,
    make_token_file: Path | None = None,
    account: str | None = None,
) -> Reviewers:
    """Add a person to the file of people, made if there is none; what stands there stays, comments too.

    `public_key` is hexadecimal or a PEM file; `make_key` and `make_token_file` name new files for secrets
    that are made. Raises UsageError where the person exists already, nothing proves them, or the file is
    not as it should be; nothing is written then.
    """
    path = people_path(root)
    check_people_folder(root)
    before = read_people_file(root) if load_reviewers(root) is not None else _HEAD
    entry: dict[str, Any] = {"name": name, "roles": list(roles)}
    if account:
        entry["account"] = account
    if public_key is None and make_key is None and make_token_file is None:
        raise UsageError(
            "no key or token was given for this person",
            where=name,
            hint="Give --public-key, --make-key or --make-token.",
        )
    if public_key is not None and make_key is not None:
        raise UsageError("two keys were given", where=name, hint="Give one of --public-key and --make-key.")
    for secret in (make_key, make_token_file):
        if secret is not None and resolved(secret).is_relative_to(root.resolve()):
            raise UsageError(
                "is inside the store", where=str(secret), hint="Keep it where only that person can read it."
            )
    # With a key that is nobody's: what else is wrong is told before any secret is made.
    stand_in = {"public_key": keys.public_hex(Ed25519PrivateKey.generate())}
    _appended(before, {**entry, **stand_in}, path)
    if public_key is not None:
        given = public_key.strip()
        is_hex = re.fullmatch("[0-9a-f]{64}", given)
        entry["public_key"] = given if is_hex else _public_key_in(Path(given), name)
        if entry["public_key"] == keys.read_public_hex(root):
            raise _own_key(name)
    if make_key is not None:
        entry["public_key"] = keys.public_hex(make_private_key(make_key))
    if make_token_file is not None:
        entry["token_hash"] = make_token(make_token_file)
    text = _appended(before, entry, path)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    _write(path, text, mode)
    return read_staff(root)


def _appended(before: str, entry: Mapping[str, Any], path: Path) -> str:
    """Return the file's text with one person more at its end, which is read once again."""
    members = () if before == _HEAD else parse_staff(before, path).members
    (new,) = parse_staff(dump_yaml({"people": [dict(entry)]}), path).members
    check_members([*members, new], path)
    first = _ITEM.search(before)
    indent = first[1] if first else "  "
    block = dump_yaml([dict(entry)], default_flow_style=None, width=1000)
    joined = before if before.endswith("\n") else before + "\n"
    text = joined + "".join(f"{indent}{line}\n" for line in block.splitlines())
    try:
        if parse_staff(text, path).members == (*members, new):
            return text
    except UsageError:
        pass
    raise _by_hand(path)


def _public_key_in(path: Path, name: str) -> str:
    try:
        return keys.read_public_file(path)
    except UsageError as error:
        hint = "Give 64 hexadecimal digits, or the PEM file of the person's public key."
        raise UsageError(error.message, where=f"{name}: {path}", hint=hint) from None


def _own_key(name: str) -> UsageError:
    return UsageError(
        "this is the key of the store, not of a person",
        where=name,
        hint="Give the person's own public key.",
    )


def _by_hand(path: Path) -> UsageError:
    return UsageError(
        "is not in a form to which a person can be added",
        where=str(path),
        hint="Write the people as a list in lines of their own, `people:` last in the file.",
    )


def _write(path: Path, text: str, mode: int) -> None:
    try:
        replace_file(path, text.encode())
        path.chmod(mode)
    except OSError as error:
        raise UsageError(
            f"cannot be written ({type(error).__name__})",
            where=str(path),
            hint="Fix the permissions of the folder.",
        ) from None
