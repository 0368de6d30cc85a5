"""Who may do what: one table of the rules that a person must meet for each act.

When an act may be done, by the state of its object, is another question: `states.WHEN`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from policy.errors import UsageError
from policy.text import is_valid_text
from release_store.protocol.person_names import is_invisible, normalize_name
from release_store.protocol.proofs import ROLES_OF_ACTS


class Act(StrEnum):
    """What a person does to a candidate or a release."""

    PREPARE = "prepare"
    APPROVE = "approve"
    REJECT = "reject"
    PUBLISH = "publish"  # an approved candidate whose publication was interrupted and undone
    REJUDGE = "judge again"
    REVISE = "revise"  # release a period again, in place of its last release
    WITHDRAW = "withdraw"
    RESTORE = "restore"  # let a release that was withdrawn be public again
    OVERRIDE = "override"  # publish what gates held back: break glass
    CLOCK = "correct the clock"  # of a log whose last event is in the future
    ASK = "ask"  # return a candidate with a question
    ANSWER = "answer"  # a question on a candidate
    PURGE = "purge"  # remove the rows of what ended


SIGNED_ELSEWHERE = frozenset(
    {Act.APPROVE, Act.REJECT, Act.PUBLISH, Act.OVERRIDE, Act.WITHDRAW, Act.RESTORE, Act.ASK}
)


class Role(StrEnum):
    """What a person is to a store, by `people.yaml`."""

    OPERATOR = "operator"
    APPROVER = "approver"
    AUDITOR = "auditor"  # reads; no act asks for it
    ADMIN = "admin"


class Rule(StrEnum):
    """What must hold of the person who acts."""

    NAME = "has a name"
    REASON = "gives a reason"
    NOT_THE_MAKER = "is not who made it"
    HAS_NOT_DECIDED = "has not decided on it before"


REQUIRED_RULES: dict[Act, tuple[Rule, ...]] = {
    Act.PREPARE: (Rule.NAME,),
    Act.APPROVE: (Rule.NAME, Rule.REASON, Rule.NOT_THE_MAKER, Rule.HAS_NOT_DECIDED),
    Act.REJECT: (Rule.NAME, Rule.REASON, Rule.NOT_THE_MAKER, Rule.HAS_NOT_DECIDED),
    Act.PUBLISH: (Rule.NAME, Rule.REASON),
    Act.REJUDGE: (Rule.NAME,),
    Act.REVISE: (Rule.NAME, Rule.REASON),
    Act.WITHDRAW: (Rule.NAME, Rule.REASON),
    Act.RESTORE: (Rule.NAME, Rule.REASON, Rule.NOT_THE_MAKER),
    Act.OVERRIDE: (Rule.NAME, Rule.REASON, Rule.NOT_THE_MAKER, Rule.HAS_NOT_DECIDED),
    Act.CLOCK: (Rule.NAME, Rule.REASON),
    Act.ASK: (Rule.NAME, Rule.REASON, Rule.NOT_THE_MAKER),
    Act.ANSWER: (Rule.NAME, Rule.REASON),
    Act.PURGE: (Rule.NAME, Rule.REASON),
}

# One of these roles, and a proof that it is the person: a key's signature or a token.
ROLES: dict[Act, frozenset[Role]] = {
    **{Act(name): frozenset(map(Role, roles)) for name, roles in ROLES_OF_ACTS.items()},
    Act.PREPARE: frozenset({Role.OPERATOR}),
    Act.REJUDGE: frozenset({Role.OPERATOR}),
    Act.REVISE: frozenset({Role.OPERATOR}),
}
# These the system's own account may do as well, which is a service's and no person's.
BY_A_SERVICE = frozenset({Act.PREPARE, Act.REJUDGE})
LONGEST_REASON, LONGEST_NAME = 2_000, 200  # letters

_CALLED: dict[Act, tuple[str, str]] = {  # what the act is called, and how its missing name is mended
    Act.PREPARE: ("the candidate", "Say who makes it."),
    Act.APPROVE: ("the decision", "Say who decides."),
    Act.REJECT: ("the decision", "Say who decides."),
    Act.PUBLISH: ("the publication", "Say who publishes it."),
    Act.REJUDGE: ("the second assessment", "Say who asks for it."),
    Act.REVISE: ("the revision", "Say who revises it."),
    Act.WITHDRAW: ("the withdrawal", "Say who withdraws it."),
    Act.RESTORE: ("the restoration", "Say who restores it."),
    Act.OVERRIDE: ("the override", "Say who overrides the gates."),
    Act.CLOCK: ("the correction of the clock", "Say who corrects it."),
    Act.ASK: ("the question", "Say who asks."),
    Act.ANSWER: ("the answer", "Say who answers."),
    Act.PURGE: ("the purge", "Say who purges."),
}


@dataclass(frozen=True)
class Person:
    """Who acts, why, and what this person has had to do with the object."""

    by: str
    reason: str = ""
    made_by: str = ""  # who made the object
    decided: Sequence[str] = ()  # who has decided on it


def same_person(one: str, other: str) -> bool:
    """Tell whether two names are one, whatever their case, spaces, signs and forms of the same letters.

    Letters of different scripts that look alike are different letters: names are not identities.
    """
    return normalize_name(one) == normalize_name(other)


def text_problem(text: str, longest: int = LONGEST_REASON) -> str | None:
    """Return why a text that somebody typed cannot be kept as a reason or a name, or None if it can be."""
    if len(text) > longest:
        return f"is longer than {longest:,} letters"
    if not is_valid_text(text):
        return "has a character that is not valid text"
    return None if any(map(_is_seen, text)) else "has no visible character"


def _is_seen(sign: str) -> bool:
    if unicodedata.category(sign)[0] in "CZ" or sign == "\u2800":  # the empty pattern of Braille
        return False
    return not is_invisible(sign)


def check_typed(by: str, reason: str, where: str) -> None:
    """Raise UsageError for a name or a reason that cannot be kept. One that is empty is a rule's matter."""
    for called, text, longest, hint in (
        ("name", by, LONGEST_NAME, "Give the name as written in the file of people."),
        ("reason", reason, LONGEST_REASON, "Give a reason in plain words."),
    ):
        wrong = text_problem(text, longest) if text.strip() else None
        if wrong is not None:
            raise UsageError(f"the {called} {wrong}", where=where, hint=hint)


_HOLDS: dict[Rule, Callable[[Person], bool]] = {
    Rule.NAME: lambda person: text_problem(person.by, LONGEST_NAME) is None,
    Rule.REASON: lambda person: text_problem(person.reason) is None,
    Rule.NOT_THE_MAKER: lambda person: not same_person(person.by, person.made_by),
    Rule.HAS_NOT_DECIDED: lambda person: not any(same_person(person.by, one) for one in person.decided),
}


def holds(rule: Rule, person: Person) -> bool:
    """Tell whether a person meets one rule."""
    return _HOLDS[rule](person)


def broken_rule(act: Act, person: Person) -> Rule | None:
    """Return the first rule of an act that a person does not meet, or None if they may do it."""
    return next((rule for rule in REQUIRED_RULES[act] if not holds(rule, person)), None)


def refusal(act: Act, person: Person, where: str) -> UsageError | None:
    """Return the error that tells why a person may not do `act` to `where`, or None if they may."""
    rule = broken_rule(act, person)
    called, who = _CALLED[act]
    match rule:
        case None:
            return None
        case Rule.NAME:
            return UsageError(f"{called} has no name", where=where, hint=who)
        case Rule.REASON:
            return UsageError(f"{called} has no reason", where=where, hint="Say why.")
        case Rule.NOT_THE_MAKER:
            finding = f"{person.by} made it, and cannot decide on it"
        case Rule.HAS_NOT_DECIDED:
            finding = f"{person.by} has decided on it before"
    return UsageError(finding, where=where, hint="Ask somebody else.")


def check_permission(act: Act, person: Person, where: str) -> None:
    """Raise UsageError unless a person may do `act` to `where`."""
    error = refusal(act, person, where)
    if error is not None:
        raise error
