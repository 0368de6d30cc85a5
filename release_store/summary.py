"""What the record of a candidate or release says of how it was made, read with a type.

The JSON is what is signed, stored and published, and `document` keeps it as it stands: also what an earlier
releasegate wrote, and what a later one adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from policy.text import number_of

APPROVAL = "approval"  # the name of the required approvals in the JSON
DOUBTS = "doubts"  # and of what may be wrong with the table
_MOST_NAMED = 6


@dataclass(frozen=True)
class Revision:
    """Why a period that has a release gets another, and which release it replaces."""

    of: str
    reason: str


@dataclass(frozen=True)
class Reassessment:
    """Whose files a candidate has that was assessed again, and by whom."""

    of: str
    by: str


@dataclass(frozen=True)
class Repair:
    """How many groups would have failed against earlier releases, and what became of their records."""

    failing_groups: int
    merged: int
    suppressed_groups: int
    suppressed_records: int
    over_max_group_size: int
    left_out_records: int | None = None  # of those that no merged class takes; None where nobody looked

    @property
    def n_left_out(self) -> int:
        """How many records were left out, alone or with their groups."""
        return self.suppressed_records + (self.left_out_records or 0)

    def document(self) -> dict[str, int]:
        """Return it as plain JSON."""
        return {name: n for name, n in asdict(self).items() if n is not None}


@dataclass(frozen=True)
class RequiredApprovals:
    """How many people must agree to a candidate, and why (`approval.approvals`).

    `looser` names what its policy guards less than that of the release `compared_with`; `at_least` is what
    the store asks of every candidate; `rules` is the version of the rules that compare policies. `doubts` say
    why the table may not be what its policy says, or what the policy does not limit.
    """

    needed: int
    at_least: int
    compared_with: str | None
    looser: tuple[str, ...]
    rules: int
    doubts: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """In one line why more people must agree than the policy says, or nothing."""
        because = []
        if self.looser:
            more = len(self.looser) - _MOST_NAMED
            named = ", ".join(self.looser[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
            because.append(f"looser than {self.compared_with}: {named}")
        if self.doubts:
            because.append(f"in doubt: {'; '.join(self.doubts)}")
        if self.at_least and not because:
            because.append(f"people.yaml requires at least {number_of(self.at_least, 'approval')}")
        asks = f"{number_of(self.needed, 'approval')} required"
        return "; ".join((*because, asks)) if because else ""

    def document(self) -> dict[str, Any]:
        """Return it as plain JSON, without the doubts, which stand beside it."""
        return {
            "needed": self.needed,
            "at_least": self.at_least,
            "compared_with": self.compared_with,
            "looser": [*self.looser],
            "rules": self.rules,
        }


@dataclass(frozen=True)
class Summary:
    """How a candidate was made. What its JSON does not tell is None or empty.

    A property raises KeyError or TypeError where the JSON has another form than ours.
    """

    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str | None:
        """The method's name."""
        return self._text("method")

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The method's parameters that the policy sets."""
        return self._object("parameters")

    @property
    def history(self) -> str:
        """What earlier releases do to the classes: `blind`, `repair` or `sticky`."""
        return self._text("history") or ("repair" if self.document.get("history_aware") else "blind")

    @property
    def seed(self) -> int | None:
        """The seed of all random choices."""
        return self._count("seed")

    @property
    def n_source(self) -> int | None:
        """How many rows the source had."""
        return self._count("n_source")

    @property
    def n_published(self) -> int | None:
        """How many rows are or would be public."""
        return self._count("n_published")

    @property
    def left_out(self) -> int | None:
        """How many rows of the source are not public."""
        if self.n_source is None or self.n_published is None:
            return None
        return self.n_source - self.n_published

    @property
    def notes(self) -> Mapping[str, Any]:
        """Counts and sizes by their names, which depend on the method."""
        return self._object("notes")

    @property
    def repair(self) -> Repair | None:
        """What the repair against earlier releases did, None where there was none."""
        return repair_of(self.notes)

    @property
    def revision(self) -> Revision | None:
        """What it replaces and why, None where it is the first of its period."""
        told = self._object("revision")
        return Revision(str(told["of"]), str(told["reason"])) if told else None

    @property
    def reassessment(self) -> Reassessment | None:
        """Whose files it has, None where they were made for it."""
        told = self._object("judged_again")
        return Reassessment(str(told["of"]), str(told["by"])) if told else None

    @property
    def required_approvals(self) -> RequiredApprovals | None:
        """How many people must agree; None for a candidate of an earlier releasegate."""
        told = self.document.get(APPROVAL)
        if told is None:
            return None
        before = told["compared_with"]
        return RequiredApprovals(
            needed=_whole(told["needed"]),
            at_least=_whole(told["at_least"]),
            compared_with=None if before is None else str(before),
            looser=tuple(map(str, told["looser"])),
            rules=_whole(told["rules"]),
            doubts=self.doubts,
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the table may not be what its policy says, or what the policy does not limit."""
        told = self.document.get(DOUBTS) or []
        if not isinstance(told, list):
            raise TypeError(f"{DOUBTS} is not a list")
        return tuple(map(str, told))

    def with_approvals(self, required: RequiredApprovals) -> Summary:
        """Return it with how many people must agree, whatever stood there."""
        return Summary({**self.document, APPROVAL: required.document()})

    def reassessed(self, of: str, by: str) -> Summary:
        """Return it for a candidate that has the files of another."""
        return Summary({**self.document, "judged_again": {"of": of, "by": by}})

    def _text(self, name: str) -> str | None:
        value = self.document.get(name)
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is not a text")
        return value or None

    def _count(self, name: str) -> int | None:
        value = self.document.get(name)
        return None if value is None else _whole(value)

    def _object(self, name: str) -> Mapping[str, Any]:
        value = self.document.get(name)
        if value is not None and not isinstance(value, Mapping):
            raise TypeError(f"{name} is not an object")
        return value or {}


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("a count is not a whole number")
    return value


def repair_of(notes: Mapping[str, Any]) -> Repair | None:
    """Return what a method's notes say of the repair, None where they say nothing."""
    told = notes.get("repair")
    if not isinstance(told, Mapping) or not told:
        return None
    left_out = told.get("left_out_records")
    return Repair(
        failing_groups=int(told.get("failing_groups", 0)),
        merged=int(told.get("merged", 0)),
        suppressed_groups=int(told.get("suppressed_groups", 0)),
        suppressed_records=int(told.get("suppressed_records", 0)),
        over_max_group_size=int(told.get("over_max_group_size", 0)),
        left_out_records=None if left_out is None else int(left_out),
    )


def removed_duplicates(notes: Mapping[str, Any]) -> int | None:
    """Return how many rows of the input were removed as duplicates, None where none were looked for."""
    found = notes.get("removed_duplicates")
    return None if found is None else _whole(found)


def levels_of(notes: Mapping[str, Any]) -> dict[str, int]:
    """Return the level of each quasi-identifier of a full-domain generalization, else nothing."""
    found = notes.get("levels")
    return found if isinstance(found, dict) else {}


def reused_release(notes: Mapping[str, Any]) -> str | None:
    """Return the release whose cells a candidate uses, None where it has its own."""
    found = notes.get("reused_release")
    if found is not None and not isinstance(found, str):
        raise TypeError("the release whose cells are used is not a text")
    return found


def over_max_group_size(notes: Mapping[str, Any]) -> int:
    """Return how many groups stayed over the largest size, after repair where there was one."""
    repair = repair_of(notes)
    return int(notes.get("groups_over_max_group_size", 0)) if repair is None else repair.over_max_group_size
