"""What all releases leave possible of some attributes, and of numbers that changed by one rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policy.model import ReleasePolicy
from tasks.history.changes import Change, undone
from tasks.history.subjects import Rows, Subjects, Unfit, subjects_of
from tasks.history.worlds import Limits, Possible, possible_values
from tasks.risk.evidence import CannotTell


@dataclass(frozen=True)
class ChangedNumbers:
    """Of how many people too little is possible once the rule of an attribute is taken back."""

    name: str
    change: Change
    people: int
    pinned: int
    undecided: int

    @property
    def words(self) -> str:
        """Say in a few words what was found."""
        rule = "factor" if self.change.factor != 1 else "sum"
        return (
            f"{self.name} changed by one {rule} for {self.change.followed} of {self.change.people} people, "
            f"which leaves {self.pinned} with too few values, {self.undecided} undecided"
        )

    @property
    def witness(self) -> dict[str, int]:
        """Return the counts."""
        return {
            "people": self.change.people,
            "followed": self.change.followed,
            "pinned": self.pinned,
            "undecided": self.undecided,
        }


def possible_of(
    policy: ReleasePolicy, releases: Sequence[Rows], attributes: Sequence[str]
) -> tuple[Subjects, Possible]:
    """Return the subjects of releases by some attributes, and what is possible of them. Raises CannotTell."""
    try:
        widths = {name: policy.roles.sensitive[name].width for name in attributes}
        subjects = subjects_of(releases, attributes, widths)
    except Unfit as reason:
        raise CannotTell(str(reason)) from None
    limits = Limits(calls=policy.gates.worlds.calls)
    return subjects, possible_values(
        subjects.classes, subjects.value, subjects.attributes, policy.privacy.l, limits, subjects.seat
    )


def changed_numbers(
    policy: ReleasePolicy, releases: Sequence[Rows], stable: Sequence[str], name: str
) -> ChangedNumbers | None:
    """Ask about the stable attributes together with one whose numbers changed by one rule; None if none did.

    Raises CannotTell.
    """
    told = undone(releases, name)
    if told is None:
        return None
    _, found = possible_of(policy, told[0], [*stable, name])
    pinned, undecided = found.pinned(policy.privacy.l), found.undecided(policy.privacy.l)
    return ChangedNumbers(name, told[1], len(pinned), int(pinned.sum()), int(undecided.sum()))
