"""The people who work with a store: who they are, what they may do, and what proves that it is they.

They stand in one file, `people.yaml`, beside the store or where `RELEASEGATE_PEOPLE` says, which only the
store's owner and root can write or replace. What of it was in force stands in the log (`roster`): names,
roles, public keys and fingerprints, and how many must agree to every candidate.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from policy.accepted import check_whose
from policy.errors import UsageError, did_you_mean
from policy.findings import display_name
from policy.yaml_text import load_yaml, yaml_finding
from release_store.canonical import sha256_hex
from release_store.guarded_files import check_file, check_folder, read_plain, resolved
from release_store.permission import LONGEST_NAME, ROLES, Act, Role, same_person, text_problem
from release_store.protocol.ed25519 import is_public_key
from release_store.protocol.proofs import people_digest

PEOPLE_VARIABLE = "RELEASEGATE_PEOPLE"
PEOPLE_FILE = "people.yaml"
AT_LEAST = "approvers_at_least"
_HEXADECIMAL = r"^[0-9a-f]{64}$"
# The form of a hash is no secret.
TOKEN_HASH = r"^scrypt\$(16384|32768|65536|131072)\$8\$[1-4]\$[0-9a-f]{32,128}\$[0-9a-f]{64}$"  # noqa: S105
_HINT = "See docs/people.md for what is allowed."
_HINT_NOBODY = "Restore it, or remove it and run `releasegate people add`."


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Reviewer(_Strict):
    """One person who works with the store."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    roles: list[Annotated[Role, Field(strict=False)]] = Field(min_length=1)
    public_key: str | None = Field(None, pattern=_HEXADECIMAL)  # Ed25519, hexadecimal
    token_hash: str | None = Field(None, pattern=TOKEN_HASH)
    account: str | None = Field(None, min_length=1)  # the system's login whose runs are this person's

    def may(self, act: Act) -> bool:
        """Tell whether one of the person's roles is for an act."""
        return not ROLES[act].isdisjoint(self.roles)


class _File(_Strict):
    people: list[Reviewer]
    approvers_at_least: int = Field(0, ge=0, le=20)


@dataclass(frozen=True)
class Reviewers:
    """The people of a store, by a file that was read, and how many must agree to every candidate."""

    path: Path
    members: tuple[Reviewer, ...]
    approvers_at_least: int = 0

    def member(self, name: str) -> Reviewer | None:
        """Return the member of that name, whatever its case, spaces and signs, or None."""
        return next((one for one in self.members if same_person(one.name, name)), None)

    def of_account(self, account: str) -> Reviewer | None:
        """Return the member whose system login that is, or None."""
        return next((one for one in self.members if one.account == account), None)

    def unknown(self, name: str) -> UsageError:
        """Return the error that tells that nobody has that name."""
        near = did_you_mean(name, [one.name for one in self.members])
        return UsageError(
            f"{name} is not in {self.path.name}{near}", hint=f"An administrator adds people to {self.path}."
        )


def people_path(root: Path) -> Path:
    """Return where the people of the store in `root` stand. Raises UsageError inside the store."""
    store, path = resolved(root), resolved(_named(root))
    if path.is_relative_to(store):
        raise UsageError(
            "is inside the store, on which these people decide",
            where=str(path),
            hint=f"Keep it elsewhere, and set {PEOPLE_VARIABLE} to its path.",
        )
    return path


def load_reviewers(root: Path) -> Reviewers | None:
    """Return the people of the store in `root`, or None where there is no such file.

    Raises UsageError where a file that is named is missing, or the file is inside the store, is not a regular
    file, can be written or replaced by others, is not YAML, has an unknown field, or names nobody, or a
    person, a key, a token or a login twice.
    """
    people_path(root)
    return read_staff(root) if os.environ.get(PEOPLE_VARIABLE) or _is_there(root) else None


def _is_there(root: Path) -> bool:
    """Tell whether there is a file of people, or anything in its place: a link to nothing is no absence."""
    try:
        _named(root).lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True  # reading it tells what is wrong
    return True


def _named(root: Path) -> Path:
    """Return where the people are looked for; what is found there may be a link."""
    chosen = os.environ.get(PEOPLE_VARIABLE)
    return Path(chosen) if chosen else resolved(root).with_name(PEOPLE_FILE)


def needed_reviewers(root: Path) -> Reviewers:
    """Return the people of the store in `root`. Raises UsageError where there are none."""
    staff = load_reviewers(root)
    if staff is None:
        raise UsageError(
            "no approvers are configured: there is no such file",
            where=str(people_path(root)),
            hint="Run `releasegate people add NAME --role ROLE --make-key FILE`.",
        )
    return staff


def read_staff(root: Path) -> Reviewers:
    """Return the people of the store in `root`, whose file must be there; raises as `load_reviewers`."""
    path = people_path(root)
    staff = parse_staff(read_people_file(root), path)
    if not staff.members:
        raise UsageError("names nobody", where=str(path), hint=_HINT_NOBODY)
    return staff


def read_people_file(root: Path) -> str:
    """Return the text of the file of people. Raises UsageError if others can write or replace it."""
    path = people_path(root)
    hint = f"Restore it, or name another in {PEOPLE_VARIABLE}."
    data, status = read_plain(path, hint=hint)
    check_file(path, status)
    check_people_folder(root)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot be read ({type(error).__name__})", where=str(path), hint=hint) from None
    if not text.strip():
        raise UsageError("is empty, and names nobody", where=str(path), hint=_HINT_NOBODY)
    return text


def check_people_folder(root: Path) -> None:
    """Raise UsageError where others can put another file, or another link to one, in place of the people."""
    check_whose(_named(root))
    folders = (resolved(_named(root).parent), people_path(root).parent)
    for folder in dict.fromkeys(folders):
        check_folder(folder)


def parse_staff(text: str, path: Path) -> Reviewers:
    """Return the people written in `text`; `path` is named in errors."""
    try:
        document = load_yaml(text)
    except yaml.YAMLError as error:
        raise UsageError(yaml_finding(error), where=str(path), hint="Fix the YAML.") from None
    except RecursionError:
        raise UsageError("is nested too deeply", where=str(path), hint=_HINT) from None
    try:
        found = _File.model_validate(document)
    except ValidationError as error:
        where, finding = _first_finding(error, document)
        raise UsageError(finding, where=f"{path}: {where}" if where else str(path), hint=_HINT) from None
    check_members(found.people, path)
    return Reviewers(path, tuple(found.people), found.approvers_at_least)


def _first_finding(error: ValidationError, document: Any) -> tuple[str, str]:
    """Return the field and what is wrong with it: never what stands there, which may be a secret."""
    details = error.errors(include_url=False, include_input=False)
    first: Any = min(details, key=lambda detail: detail["type"] != "extra_forbidden")
    place = [str(part) for part in first["loc"]]
    field = place[-1] if place else ""
    match first["type"]:
        case "extra_forbidden":
            known = list(Reviewer.model_fields) if len(place) > 1 else list(_File.model_fields)
            return ".".join(map(display_name, place)), f"unknown field{did_you_mean(field, known)}"
        case "missing":
            return ".".join(place), "is missing"
        case "enum":
            found = _at(document, first["loc"])
            shown = f", found {found!r}" if isinstance(found, str) and len(found) < 40 else ""
            return ".".join(place), f"a role is one of {', '.join(Role)}{shown}"
    what = {
        "public_key": "is not an Ed25519 key of 64 lower-case hexadecimal digits",
        "token_hash": "is not a token hash written by `releasegate people add --make-token`",
        AT_LEAST: "is a whole number from 0 to 20",
    }
    return ".".join(place), what.get(field, _in_words(first))


def _in_words(detail: Any) -> str:
    most = detail.get("ctx", {}).get("max_length", "")
    words = {
        "string_type": "is no text",
        "string_too_short": "is empty",
        "string_too_long": f"is longer than {most} letters",
        "list_type": "is no list",
        "too_short": "is empty",
        "model_type": "is not a mapping of fields",
    }
    return words.get(detail["type"], "is not valid")


def _at(document: Any, place: Sequence[int | str]) -> Any:
    for part in place:
        document = document[part]
    return document


def check_members(members: Sequence[Reviewer], path: Path) -> None:
    """Raise UsageError unless each is proven by something, and nobody shares anything with another."""
    for number, one in enumerate(members):
        where = f"{path}: {one.name}"
        if text_problem(one.name, LONGEST_NAME) or not one.name.isprintable():
            raise UsageError("a name must be one line", where=f"{path}: people.{number}.name", hint=_HINT)
        if one.public_key is None and one.token_hash is None:
            raise UsageError(
                "has neither a public_key nor a token_hash",
                where=where,
                hint="Run `releasegate people add` with --make-key or --make-token.",
            )
        if one.public_key is not None and not is_public_key(one.public_key):
            raise UsageError(
                "has a public_key that is not an Ed25519 key, or is a weak one",
                where=where,
                hint="Run `releasegate people add` with --make-key.",
            )
        for other in members[:number]:
            if same_person(one.name, other.name):
                raise UsageError(
                    f"is listed twice, also as {other.name}", where=where, hint="List each person once."
                )
            for field, called in (("public_key", "key"), ("token_hash", "token"), ("account", "account")):
                if getattr(one, field) is not None and getattr(one, field) == getattr(other, field):
                    raise UsageError(
                        f"has the same {called} as {other.name}",
                        where=where,
                        hint="Give each person their own, so that two approvals are by two people.",
                    )


def roster(members: Iterable[Reviewer], approvers_at_least: int = 0) -> dict[str, Any]:
    """Return what the log says of the people: sorted, with the digest that decisions name. No secret.

    How many must agree to every candidate is said where the file asks for anybody.
    """
    people = sorted(
        (
            {
                "name": one.name,
                "roles": sorted({str(role) for role in one.roles}),
                "public_key": one.public_key,
                "token": token_fingerprint(one.token_hash) if one.token_hash else None,
            }
            for one in members
        ),
        key=lambda one: str(one["name"]),
    )
    told: dict[str, Any] = {"members": people}
    if approvers_at_least:
        told[AT_LEAST] = approvers_at_least
    return {**told, "digest": people_digest(told)}


def token_fingerprint(token_hash: str) -> str:
    """Return what tells one hash of a token from others, and nothing of the token."""
    return sha256_hex(token_hash.encode())
