"""Gates on the comparison with every earlier release of the series, withdrawn ones too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from policy.model import ReleasePolicy
from policy.recoding import Form
from policy.text import number_of
from release_store.records import GateResult, Verdict
from tasks.history.differencing import difference, sizes
from tasks.history.following import follows_people
from tasks.history.intersection import UNCONSTRAINED, Comparison, one_apart, pairwise
from tasks.history.likeness import unlike
from tasks.history.required import least_of_each, nearest_to_its_limit
from tasks.history.same_people import same_people
from tasks.history.selection import by_leaves
from tasks.risk.evidence import Evidence

READER = "has every earlier release of the series and knows all quasi-identifiers of people in it"
COVERAGE = "coverage"
NESTED = ("difference", "size")
BY_PERSON = ("person", "person_difference")
_COMBINED = ("combination of a person and a class", "combinations of a person and a class")
_NESTED_PAIRS = ("nested pair of classes", "nested pairs of classes")


def of_cumulative(policy: ReleasePolicy) -> bool:
    """Tell whether the policy asks what nested classes show."""
    return policy.population == "cumulative"


def pairwise_gate(evidence: Evidence) -> GateResult:
    """No class shares under l sensitive values, but some, with a compatible earlier one (Riyana, 2025)."""
    history = evidence.history
    if history is None:
        return _of_others(_first("pairwise", evidence), evidence)
    if evidence.people_alone:
        return _by_people("pairwise", evidence)
    found = pairwise(evidence.boxes, history, evidence.space, evidence.required)
    result = _result("pairwise", found, "pairs", ("pair of classes", "pairs of classes"), evidence)
    return _of_others(result, evidence)


def whole_history_gate(evidence: Evidence) -> GateResult:
    """Nobody's sensitive value is narrowed to under l values by any choice of releases taken together."""
    if evidence.history is None:
        return _first("whole_history", evidence)
    if evidence.people_alone:
        return _by_people("whole_history", evidence)
    people = {"people": evidence.n_source, "distinct_people": len(evidence.points)}
    return _result("whole_history", evidence.together, "combinations", _COMBINED, evidence, people)


def difference_gate(evidence: Evidence) -> GateResult:
    """What nested classes of a cumulative series do not share has no value or l (Riyana, 2025, 2.2)."""
    if evidence.history is None:
        return _first("difference", evidence)
    found = difference(*evidence.sides, evidence.space, evidence.required)
    return _result("difference", found, "pairs", _NESTED_PAIRS, evidence)


def size_gate(evidence: Evidence) -> GateResult:
    """Nested classes of a cumulative series do not set 1 to k - 1 people apart."""
    if evidence.history is None:
        return _first("size", evidence)
    found = [sizes(*evidence.sides, evidence.policy.privacy.k)]
    return _result("size", found, "pairs", _NESTED_PAIRS, evidence)


def _first(gate: str, evidence: Evidence) -> GateResult:
    said = "first release of the series: nothing to compare with"
    if evidence.selected_history.left_out:
        said = "first release of its period: nothing to compare with" + _left_out(evidence)
    coverage = _coverage(gate, [], "pairs", evidence)
    return GateResult(gate, Verdict.PASS, 0.0, 0.0, "<=", READER, 0.0, said, {COVERAGE: coverage})


def _of_others(result: GateResult, evidence: Evidence) -> GateResult:
    """Return the result, `unknown` if releases hold nearly the same people and the policy says otherwise."""
    policy = evidence.policy
    apart = one_apart(len(evidence.earlier)) if evidence.apart is None else evidence.apart
    earlier = [(name, by_leaves(classes, policy)) for name, classes in evidence.earlier]
    found = same_people(evidence.classes, earlier, policy, apart)
    if not found:
        return result
    name, sizes_of_cells = list(found.items())[-1]
    said = f"{result.detail}; beside {name}, {sizes_of_cells.said(policy.privacy.k)}"
    verdict = result.verdict if result.verdict is Verdict.FAIL else Verdict.UNKNOWN
    return replace(result, verdict=verdict, detail=said)


def _by_people(gate: str, evidence: Evidence) -> GateResult:
    """Say that nobody has to be looked for by cells, unless the cells say nothing of the same table."""
    said = "everybody in every release is followed: `person` and `worlds` check people instead of cells"
    blind = _blind([], evidence)
    if blind:
        reasons = "; ".join(f"{name}: {', '.join(why)}" for name, why in blind.items())
        said += f"; the candidate cannot be compared with {reasons}"
    verdict = Verdict.UNKNOWN if blind else Verdict.PASS
    coverage = _coverage(gate, [], "pairs", evidence)
    coverage["not_run"] = [
        {"what": gate, "why": ("the policy compares only cells of people who are not followed")}
    ]
    return GateResult(gate, verdict, 0.0, 0.0, "<=", READER, 0.0, said, {COVERAGE: coverage})


def _result(
    gate: str,
    found: Sequence[Comparison],
    unit: str,
    what: tuple[str, str],
    evidence: Evidence,
    people: dict[str, int] | None = None,
) -> GateResult:
    failing = np.any([each.failing for each in found], axis=0) if found else np.zeros(0, dtype=bool)
    n_failing = int(failing.sum())
    compared = sum(each.compared for each in found)
    together = sum(each.together for each in found)
    limit = f"k = {evidence.policy.privacy.k}" if gate == "size" else least_of_each(evidence.policy)
    fewest = _fewest(found)
    blind = _blind(found, evidence)
    if gate in NESTED:
        blind |= {name: [*blind.get(name, []), why] for name, why in _contradictions(evidence).items()}
    detail = (
        f"failing classes; compared {number_of(compared, *what)}"
        + (f" and {number_of(together, 'larger set')}" if together else "")
        + f" from {number_of(len(evidence.selected_history.earlier), 'earlier release')} ({limit})"
        + nearest_to_its_limit(evidence.policy, fewest)
        + _assumptions(gate, evidence)
        + _left_out(evidence)
    )
    if blind:
        reasons = "; ".join(f"{name}: {', '.join(why)}" for name, why in blind.items())
        detail += f"; the candidate cannot be compared with {reasons}"
    witness: dict[str, Any] = {
        each.attribute: {"failing_classes": int(each.failing.sum()), "failures": each.failed, **each.witness}
        for each in found
        if each.failed
    }
    coverage = _coverage(gate, found, unit, evidence) | (people or {})
    if fewest and evidence.policy.privacy.own_least():
        coverage["fewest"] = fewest
    key = COVERAGE
    while key in witness:
        key += "_"
    verdict = Verdict.FAIL if n_failing else Verdict.UNKNOWN if blind else Verdict.PASS
    return GateResult(
        gate, verdict, float(n_failing), 0.0, "<=", READER, 0.0, detail, {**witness, key: coverage}
    )


def _fewest(found: Sequence[Comparison]) -> dict[str, int]:
    """Return the fewest values of each attribute that anybody is left with, where they were counted."""
    left = {each.attribute: each.left for each in found if each.left is not None}
    fewest = {name: int(values.min(initial=UNCONSTRAINED)) for name, values in left.items()}
    return {name: n for name, n in fewest.items() if n < UNCONSTRAINED}


def _coverage(gate: str, found: Sequence[Comparison], unit: str, evidence: Evidence) -> dict[str, Any]:
    """Return over what the check ran, and what was not run and why: names and counts."""
    compared = evidence.selected_history.earlier
    said: dict[str, Any] = {
        "releases": len(compared),
        "classes": evidence.classes.n_classes,
        "records": int(evidence.classes.size.sum()),
        "earlier_classes": sum(classes.n_classes for _, classes in compared),
        "earlier_records": sum(int(classes.size.sum()) for _, classes in compared),
        unit: {each.attribute: each.compared for each in found},
    }
    if gate in NESTED:
        said["together"] = {each.attribute: each.together for each in found}
    return said | {"not_run": _not_run(gate, evidence)}


def _not_run(gate: str, evidence: Evidence) -> list[dict[str, str]]:
    found = []
    policy = evidence.policy
    for name, classes in evidence.selected_history.left_out:
        counts = _counts(classes.n_classes, int(classes.size.sum()))
        found.append({"what": name, "why": f"of another period of an independent population: {counts}"})
    if gate != "size":
        for name in policy.roles.sensitive:
            if name not in evidence.compared:
                found.append({"what": name, "why": "transient, which the policy ignores"})
                continue
            for release, classes in evidence.selected_history.earlier:
                if name not in classes.counts:
                    found.append({"what": f"{name} beside {release}", "why": "not published in it"})
    if gate == "pairwise" and not of_cumulative(policy):
        why = f"the population is {policy.population}, not cumulative"
        found += [{"what": check, "why": why} for check in NESTED]
    if gate == "pairwise" and not follows_people(policy):
        why = "the policy has no key" if policy.roles.key is None else "the policy does not follow people"
        found += [{"what": check, "why": why} for check in BY_PERSON]
    return found


def _left_out(evidence: Evidence) -> str:
    left_out = evidence.selected_history.left_out
    if not left_out:
        return ""
    n_classes = sum(classes.n_classes for _, classes in left_out)
    records = sum(int(classes.size.sum()) for _, classes in left_out)
    return (
        "; not compared, as the population is independent: "
        f"{number_of(len(left_out), 'release')} of other periods ({_counts(n_classes, records)})"
    )


def _counts(n_classes: int, records: int) -> str:
    return f"{number_of(n_classes, 'class', 'classes')}, {number_of(records, 'record')}"


def _blind(found: Sequence[Comparison], evidence: Evidence) -> dict[str, list[str]]:
    """Return the earlier releases beside which the comparison sees nothing, and why."""
    untouched = {name for each in found for name in each.untouched}
    blind = {}
    for name, classes in evidence.selected_history.earlier:
        why = unlike(evidence.classes, classes, evidence.policy)
        foreign = evidence.selected_history.foreign.get(name, ())
        why += [f"{qi} has labels that are not in the hierarchy" for qi in foreign]
        why += [
            f"{qi} is noised again; noise on the same people adds up over releases"
            for qi in evidence.policy.cell_columns(Form.NOISED)
            if qi not in classes.intervals
        ]
        if name in untouched and not why:
            why = ["none of its classes is compatible with one of the candidate's"]
        if why:
            blind[name] = why
    return blind


def _contradictions(evidence: Evidence) -> dict[str, str]:
    """Return the releases that a later release of a cumulative series does not hold as a whole, by its rows.

    A release of a later period that was published before the candidate must hold the candidate.
    """
    own = evidence.n_published
    found = {}
    for (name, classes), (_, most) in zip(
        evidence.selected_history.earlier, evidence.selected_history.apart, strict=True
    ):
        theirs = int(classes.size.sum())
        if own < theirs and most >= 0:
            counted = f"{number_of(own, 'record')}, fewer than its {theirs:,}"
            found[name] = f"the candidate has {counted}: not cumulative"
        elif own > theirs and most < 0:
            counted = f"{number_of(theirs, 'record')}, fewer than {own:,}"
            found[name] = f"of a later period, with {counted}: not cumulative"
    return found


def _assumptions(gate: str, evidence: Evidence) -> str:
    """Say what a verdict assumes, and what was not compared."""
    said = "; assumes that each release holds all records of the ones before"
    said = said if gate in NESTED else ""
    if gate == "size":
        return said
    roles = evidence.policy.roles
    attributes = evidence.compared
    transient = [name for name in attributes if roles.sensitive[name].stability == "transient"]
    stable = [name for name in attributes if name not in transient]
    if stable:
        said += f"; {', '.join(stable)} never changes, as the policy says"
    if transient:
        said += (
            f"; assumes that {', '.join(transient)} did not change between releases that share values, "
            "and that it changed or nobody is in both where they share none"
        )
    left_out = [name for name in roles.sensitive if name not in attributes]
    for name in attributes:
        without = [
            release for release, classes in evidence.selected_history.earlier if name not in classes.counts
        ]
        if without:
            said += f"; {name} is not in {', '.join(without)}"
    return said + (f"; not compared, as the policy says: {', '.join(left_out)}" if left_out else "")
