"""What would let a blocked candidate pass: for each gate that holds it back, the nearest setting.

A limit that the measured value keeps is known without any work: the gate passes with it on the same files.
For all else there is at most a search, which measures; another setting that nobody has tried is not advised.
No advice is to weaken a gate that has no limit: what is wrong with the files, with what they hold or with
what earlier releases show is to be mended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from policy.model import ReleasePolicy
from policy.recoding import Form
from policy.section import Section
from release_store.records import GateResult, Verdict
from tasks.risk.nearest_limits import LIMITS, Place, PolicySetting

Basis = Literal["measured", "none"]

OF_ALL_RELEASES = (
    "pairwise",
    "whole_history",
    "difference",
    "size",
    "person",
    "person_difference",
    "worlds",
    "known",
    "totals",
)
SEARCHED = {"umr": "umr", "err": "err"}  # figures of a goal that measure what the gate of that name limits
BROKEN = "the gate broke: run it again, and report the error that the detail names if it stays"
NO_LIMIT = "no limit passes this candidate that asks anything of it: its classes must be made in another way"
HINTS = {
    "files": "the staged files were altered or are incomplete: run the period again",
    "truth": "rows do not agree with the source: run the period again, with the input that it was made of",
    "leak": "remove the texts that the detail counts from the input, or leave out their column",
    "levels": "allow more records to be left out, or group the columns that the detail names",
}
OF_HISTORY = "earlier releases stay known: the detail counts whom they would expose"
BLIND = f"{OF_HISTORY}; `method.history: blind` made the classes without looking at them"
UNDECIDED = "the solver stopped at `gates.worlds.calls: {calls}` before it had decided on everybody"
NO_KEY = "name the column that identifies people in roles.key, so that they can be followed"
SEE_DETAIL = "the gate cannot tell: its detail says what is missing, and which setting helps, if one does"


@dataclass(frozen=True)
class Advice:
    """What may let one gate pass.

    With the `settings` the gate passes on the same files, and the basis is `measured`. `goal` is what a
    search can be asked for, "" where none helps; `hint` says what to look at.
    """

    gate: str
    basis: Basis
    settings: tuple[PolicySetting, ...] = ()
    goal: str = ""
    hint: str = ""


def advise(results: Iterable[GateResult], policy: ReleasePolicy) -> tuple[Advice, ...]:
    """Return one piece of advice for each gate that does not pass, in the order of the results."""
    found = tuple(results)
    by_name = {result.gate: result for result in found}
    return tuple(_advice(one, by_name, policy) for one in found if one.verdict is not Verdict.PASS)


def with_settings(policy: ReleasePolicy, settings: Iterable[PolicySetting]) -> ReleasePolicy | None:
    """Return the policy with other settings, None where it would be no valid policy."""
    try:
        for setting in settings:
            policy = _changed(policy, setting.place, setting.value)
    except ValidationError:
        return None
    return policy


def _advice(result: GateResult, results: Mapping[str, GateResult], policy: ReleasePolicy) -> Advice:
    name = result.gate
    if result.verdict is Verdict.ERROR:
        return Advice(name, "none", hint=BROKEN)
    if name in OF_ALL_RELEASES:
        return Advice(name, "none", hint=_of_releases(result, policy))
    if name in HINTS:
        return _of_levels(result, policy) if name == "levels" else Advice(name, "none", hint=HINTS[name])
    if result.verdict is not Verdict.FAIL:
        return Advice(name, "none", hint=SEE_DETAIL)
    goal = _goal(result, policy)
    settings = LIMITS[name](result, results, policy) if name in LIMITS else ()
    if settings and with_settings(policy, settings) is not None:
        return Advice(name, "measured", settings, goal)
    return Advice(name, "none", goal=goal, hint=NO_LIMIT if name in LIMITS else "")


def _goal(result: GateResult, policy: ReleasePolicy) -> str:
    """Return a goal whose best trial passes all gates that an evaluation asks, this one among them."""
    told = any(policy.form(name) is not Form.CONTAINS for name in policy.roles.quasi_identifiers)
    loss = "loss" if told else "ncp"
    if result.gate == "suppression":
        return "suppressed lowest"
    if result.gate in SEARCHED:
        return f"{SEARCHED[result.gate]} <= {result.threshold:g}, {loss} lowest"
    return f"{loss} lowest"


def _of_levels(result: GateResult, policy: ReleasePolicy) -> Advice:
    """Decide the level at which a column is published anyway; a table without a class has none."""
    published = result.witness.get("published") or {}
    settings = tuple(
        PolicySetting(("method", "levels", name), int(level)) for name, level in published.items()
    )
    if settings and with_settings(policy, settings) is not None:
        return Advice(result.gate, "measured", settings)
    return Advice(result.gate, "none", hint=HINTS["levels"])


def _of_releases(result: GateResult, policy: ReleasePolicy) -> str:
    """Say what holds a gate on the earlier releases back: whether another run passes, only that run tells."""
    if result.verdict is Verdict.FAIL:
        return BLIND if policy.method.history == "blind" else OF_HISTORY
    if result.gate == "worlds" and result.verdict is Verdict.UNKNOWN and result.witness.get("undecided"):
        return UNDECIDED.format(calls=policy.gates.worlds.calls)
    return NO_KEY if result.gate == "worlds" and policy.roles.key is None else SEE_DETAIL


def _changed(section: ReleasePolicy, place: Place, value: object) -> ReleasePolicy:
    changed = _set(section, place, value)
    if not isinstance(changed, ReleasePolicy):
        raise TypeError("a policy was changed into something else")
    return changed


def _set(part: object, place: Place, value: object) -> object:
    """Return a section or a mapping of it with another value at its place; only what is above it is checked.

    Raises ValidationError where a section may not have it.
    """
    if not place:
        return value
    name, *rest = place
    if isinstance(part, Section):
        fields = dict(part)
        return type(part).model_validate({**fields, name: _set(fields[name], tuple(rest), value)})
    if isinstance(part, Mapping):
        return {**part, name: _set(part.get(name), tuple(rest), value)}
    raise TypeError(f"'{name}' is in no section")
