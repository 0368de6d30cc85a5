"""Who runs a flow: a person who proved it, or the system's account: a person's or a service's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from policy.errors import UsageError
from release_store.approval.authentication import system_account
from release_store.approval.credentials import Credential, Statement, prove
from release_store.approval.reviewers import Reviewer, Reviewers, load_reviewers, roster
from release_store.canonical import utc_now
from release_store.permission import (
    LONGEST_NAME,
    ROLES,
    Act,
    Person,
    check_permission,
    check_typed,
    text_problem,
)
from release_store.store import ReleaseStore

ACTOR_VARIABLE = "RELEASEGATE_ACTOR"
_proven: list[tuple[str, str]] = []  # the store's id and the name, of this process


@dataclass(frozen=True)
class Actor:
    """Who is named as the one who ran a flow; `person` tells whether it is one by name, and no service."""

    name: str
    person: bool


def default_actor() -> str:
    """Return the service that RELEASEGATE_ACTOR names, else the system's account."""
    return _named_service() or system_account()


def _named_service() -> str:
    """Return what RELEASEGATE_ACTOR says, if anything. Raises UsageError for what is no name in one line."""
    name = os.environ.get(ACTOR_VARIABLE, "")
    if name and (text_problem(name, LONGEST_NAME) or not name.isprintable()):
        raise UsageError(
            f"{ACTOR_VARIABLE} is not one line of visible text", hint="Give the service a plain name."
        )
    return name


@contextmanager
def authenticated_as(
    store: ReleaseStore, act: Act, by: str | None, credential: Credential | None
) -> Iterator[None]:
    """Let flows of this process run in the name of `by` while the block runs, who proves to be that person.

    Nothing is to be proven where nobody is named, or nobody is known. Raises UsageError if the person is
    unknown, has no role for `act`, or gives no proof.
    """
    staff = None if by is None else load_reviewers(store.root)
    if by is not None:
        check_typed(by, "", "--by")
    if by is None or staff is None:
        yield
        return
    check_permission(Act.PREPARE, Person(by), "--by")
    member = staff.member(by)
    if member is None:
        raise staff.unknown(by)
    said = Statement(act.value, store.store_id, f"{act} in {store.root.name}", {}, by, "", utc_now())
    prove(member, credential, said, str(roster(staff.members, staff.approvers_at_least)["digest"]))
    _check_role(member, act)
    mark = (store.store_id, by)
    _proven.append(mark)
    try:
        yield
    finally:
        _proven.remove(mark)


def resolve_actor(store: ReleaseStore, act: Act, by: str | None) -> Actor:
    """Return who runs a flow that does `act`, `by` being the name that it was given.

    Where people are known, a name alone is nobody's: it must have been proven in this process
    (`authenticated_as`). A
    run that names nobody is its account's: the person's whose `account` it is, else a service's, which
    RELEASEGATE_ACTOR may name otherwise, but not as a person. Raises UsageError where this does not hold.
    """
    staff = load_reviewers(store.root)
    if by is not None:
        if staff is not None and (store.store_id, by) not in _proven:
            raise UsageError(
                f"{by} is only a name, without proof of identity",
                hint="Use `releasegate` with --by and --key, or leave the name out to run as this account.",
            )
        return Actor(by, person=True)
    if staff is None:
        return Actor(default_actor(), person=False)
    member = staff.of_account(system_account())
    if member is not None:
        _check_role(member, act)
        return Actor(member.name, person=True)
    return Actor(_service(staff), person=False)


def _service(staff: Reviewers) -> str:
    name = _named_service()
    if name and staff.member(name) is not None:
        raise UsageError(
            f"{ACTOR_VARIABLE} names a person, who needs proof of identity",
            hint="Name the service there, or use --by and --key.",
        )
    return name or system_account()


def _check_role(member: Reviewer, act: Act) -> None:
    if not member.may(act):
        raise UsageError(
            f"{member.name} does not have the role for this ({' or '.join(sorted(ROLES[act]))})",
            hint="Ask somebody who has it, or ask an administrator for it.",
        )
