"""The people who work with a store: who they are, what they may do, and what proves that it is they.

They stand in one file, `people.yaml`, beside the store or where `RELEASEGATE_PEOPLE` says, which its owner
alone can write. What of it was in force stands in the log (`roster`): names, roles, public keys and
fingerprints.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from policy.errors import UsageError, did_you_mean
from policy.load import StrictLoader, yaml_finding
from release_store.canonical import digest_of, sha256_hex
from release_store.permission import LONGEST_NAME, ROLES, Act, Role, same_person, unfit

PEOPLE_VARIABLE = "RELEASEGATE_PEOPLE"
PEOPLE_FILE = "people.yaml"
_HEXADECIMAL = r"^[0-9a-f]{64}$"
# The form of a hash is no secret.
TOKEN_HASH = r"^scrypt\$(16384|32768|65536|131072)\$8\$[1-4]\$[0-9a-f]{32,128}\$[0-9a-f]{64}$"  # noqa: S105
_MEND = "See docs/people.md for what is allowed."


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Member(_Strict):
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
    people: list[Member]


@dataclass(frozen=True)
class Staff:
    """The people of a store, by a file that was read."""

    path: Path
    members: tuple[Member, ...]

    def member(self, name: str) -> Member | None:
        """Return the member of that name, whatever its case, spaces and signs, or None."""
        return next((one for one in self.members if same_person(one.name, name)), None)

    def of_account(self, account: str) -> Member | None:
        """Return the member whose system login that is, or None."""
        return next((one for one in self.members if one.account == account), None)

    def unknown(self, name: str) -> UsageError:
        """Return the error that tells that nobody has that name."""
        near = did_you_mean(name, [one.name for one in self.members])
        return UsageError(
            f"{name} is not in {self.path.name}{near}", mend=f"An administrator adds people to {self.path}."
        )


def people_path(root: Path) -> Path:
    """Return where the people of the store in `root` stand. Raises UsageError inside the store."""
    store = root.resolve()
    chosen = os.environ.get(PEOPLE_VARIABLE)
    path = (Path(chosen) if chosen else store.with_name(PEOPLE_FILE)).resolve()
    if path.is_relative_to(store):
        raise UsageError(
            "lies inside the store, on which these people decide",
            where=str(path),
            mend=f"Keep it elsewhere, and name it in {PEOPLE_VARIABLE}.",
        )
    return path


def load_staff(root: Path) -> Staff | None:
    """Return the people of the store in `root`, or None where there is no such file.

    Raises UsageError where one that is named is missing, or it lies in the store, others can write it, it is
    no YAML, says something unknown, or names a person, a key, a token or a login twice.
    """
    path = people_path(root)
    if not path.exists() and not os.environ.get(PEOPLE_VARIABLE):
        return None
    return read_staff(path)


def needed_staff(root: Path) -> Staff:
    """Return the people of the store in `root`. Raises UsageError where there are none, as `load_staff`."""
    staff = load_staff(root)
    if staff is None:
        raise UsageError(
            "nobody is known who could decide: there is no such file",
            where=str(people_path(root)),
            mend="`releasegate people add NAME --role ROLE --make-key FILE` makes it.",
        )
    return staff


def read_staff(path: Path) -> Staff:
    """Return the people in a file; raises as `load_staff`."""
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot be read ({type(error).__name__})",
            where=str(path),
            mend=f"Restore it, or name another in {PEOPLE_VARIABLE}.",
        ) from None
    if stat.S_IMODE(mode) & 0o022:
        raise UsageError("can be written by others", where=str(path), mend=f"Run `chmod go-w {path}`.")
    return parse_staff(text, path)


def parse_staff(text: str, path: Path) -> Staff:
    """Return the people written in `text`; `path` is named in errors."""
    try:
        document = yaml.load(text, Loader=StrictLoader)  # noqa: S506 -- derived from SafeLoader
    except yaml.YAMLError as error:
        raise UsageError(yaml_finding(error), where=str(path), mend="Mend the YAML there.") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"is no YAML that can be read ({type(error).__name__})", where=str(path), mend=_MEND
        ) from None
    try:
        members = _File.model_validate(document).people
    except ValidationError as error:
        where, finding = _first_finding(error, document)
        raise UsageError(finding, where=f"{path}: {where}" if where else str(path), mend=_MEND) from None
    check_members(members, path)
    return Staff(path, tuple(members))


def _first_finding(error: ValidationError, document: Any) -> tuple[str, str]:
    """Return the field and what is wrong with it: never what stands there, which may be a secret."""
    details = error.errors(include_url=False, include_input=False)
    first: Any = min(details, key=lambda detail: detail["type"] != "extra_forbidden")
    place = [str(part) for part in first["loc"]]
    field = place[-1] if place else ""
    match first["type"]:
        case "extra_forbidden":
            known = list(Member.model_fields) if len(place) > 1 else ["people"]
            return ".".join(place), f"unknown field{did_you_mean(field, known)}"
        case "missing":
            return ".".join(place), "is missing"
        case "enum":
            found = _at(document, first["loc"])
            shown = f", found {found!r}" if isinstance(found, str) and len(found) < 40 else ""
            return ".".join(place), f"a role is one of {', '.join(Role)}{shown}"
    what = {
        "public_key": "is no Ed25519 key: 64 hexadecimal digits, in small letters",
        "token_hash": "is no hash of a token as `releasegate people add --make-token` writes it",
    }
    return ".".join(place), what.get(field, f"is not as it should be ({first['type']})")


def _at(document: Any, place: Sequence[int | str]) -> Any:
    for part in place:
        document = document[part]
    return document


def check_members(members: Sequence[Member], path: Path) -> None:
    """Raise UsageError unless each is proven by something, and nobody shares anything with another."""
    for number, one in enumerate(members):
        where = f"{path}: {one.name}"
        if unfit(one.name, LONGEST_NAME) or not one.name.isprintable():
            raise UsageError(
                "a person has a name in one line", where=f"{path}: people.{number}.name", mend=_MEND
            )
        if one.public_key is None and one.token_hash is None:
            raise UsageError(
                "has neither a public_key nor a token_hash",
                where=where,
                mend="`releasegate people add` with --make-key or --make-token makes one.",
            )
        for other in members[:number]:
            if same_person(one.name, other.name):
                raise UsageError(
                    f"is there twice, as {other.name} too", where=where, mend="One person stands there once."
                )
            for field, called in (("public_key", "key"), ("token_hash", "token"), ("account", "account")):
                if getattr(one, field) is not None and getattr(one, field) == getattr(other, field):
                    raise UsageError(
                        f"has the same {called} as {other.name}",
                        where=where,
                        mend="Each person has their own, so that two words are of two people.",
                    )


def roster(members: Iterable[Member]) -> dict[str, Any]:
    """Return what the log says of the people: sorted, with the digest that decisions name. No secret."""
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
    return {"members": people, "digest": digest_of(people)}


def token_fingerprint(token_hash: str) -> str:
    """Return what tells one hash of a token from others, and nothing of the token."""
    return sha256_hex(token_hash.encode())
