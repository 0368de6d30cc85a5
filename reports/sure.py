"""How sure a reader of all releases can be of people's values, as the gate `worlds` sampled it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from policy.rounding import measured_share
from policy.text import number_of

WORLDS = "worlds"


@dataclass(frozen=True)
class HowSure:
    """Of how many `people` a reader can be surer than `limit`, and of how many that was not measured."""

    limit: float
    people: int
    share: float
    unmeasured: int
    unmeasured_share: float

    @property
    def over(self) -> str:
        """Say the limit."""
        return f"over {measured_share(self.limit, '>=')} sure"

    def sentences(self) -> list[str]:
        """Say what was found; nothing where it is of nobody."""
        found = []
        if self.people:
            known = f"somebody with all releases can be {self.over} of a value of"
            found.append(f"Likely guesses: {known} {_of(self.people, self.share)}.")
        if self.unmeasured:
            whether = f"whether somebody with all releases can be {self.over} of a value of"
            why = "was not measured: samples that begin at different tables disagree"
            found.append(f"Likely guesses: {whether} {_of(self.unmeasured, self.unmeasured_share)} {why}.")
        return found

    def shares(self) -> str:
        """Say which shares of the people these are: surer, and not measured after a plus."""
        told = measured_share(self.share, "<=")
        return f"{told} + {measured_share(self.unmeasured_share, '<=')}" if self.unmeasured else told


def how_sure(gates: Iterable[Mapping[str, Any]]) -> HowSure | None:
    """Return what was sampled, None where nothing was."""
    for gate in gates:
        sure = (gate.get("witness") or {}).get("sure") if gate["gate"] == WORLDS else None
        if sure and "unmeasured" in sure:
            return HowSure(
                sure["limit"], sure["people"], sure["share"], sure["unmeasured"], sure["unmeasured_share"]
            )
        if sure:  # an earlier version's, whose samples all began at the true table
            return HowSure(sure["limit"], 0, 0.0, sure["people"], sure["share"])
    return None


def _of(people: int, share: float) -> str:
    return f"{number_of(people, 'person', 'people')} ({measured_share(share, '<=')})"
