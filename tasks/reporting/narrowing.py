"""To how many sensitive values people can be narrowed: by their class alone, and over the releases.

What the gates measured is counted here, not measured again: how many values are left of whom stands in
`Evidence.together` (the gate `whole_history`), `Evidence.left_by_person` (the gate `person`) and
`Evidence.left_by_worlds` (the gate `worlds`). The counts are of a measurement; small ones are told, as people
narrowed to few values are what no report must hide.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tasks.history.intersection import UNCONSTRAINED
from tasks.history.required import required_values
from tasks.risk.evidence import Evidence
from tasks.types import IntArray

MANY = 20


def narrowing_figures(evidence: Evidence, measured: frozenset[str]) -> list[dict[str, Any]]:
    """Return for each compared sensitive attribute how many values are left for how many people.

    `counts` are pairs [values, people], ascending from 1 without a gap; [20, n] is 20 values or more. `least`
    is the attribute's l. Similar values are one. By `basis`:

    - `alone`: a row has the values of its own class. The unit is rows, `releases` is 0.
    - `cells`: a person of the source has the least, but not none, that any choice of `releases` earlier ones,
      or none of them, leaves of any candidate class whose cells hold the person. Who is in no compared
      release has what the class says, who is in no candidate class is not counted.
    - `people`: the same of those who are followed by key, in the classes that they were in.
    - `worlds`: a person of the release has at least these values by everything that was published, as far as
      certificates show, and more than a few above l are not looked for.

    The last three are there only where there are compared releases and the gates `whole_history`, `person`
    and `worlds` are among those that could measure, `measured`; the last only where its gate passes.
    """
    found = []
    for name in evidence.compared:
        of_classes = required_values(evidence.policy, name, evidence.classes.sensitive_values[name])
        values = of_classes.counted(evidence.classes.counts[name] > 0)
        found.append(_one(evidence, name, "alone", 0, "rows", _counts(values, evidence.classes.size)))
    if "whole_history" in measured and evidence.together:
        people = np.bincount(evidence.points.place, minlength=len(evidence.points))
        n_releases = len(evidence.selected_history.earlier)
        for each in evidence.together:
            if each.left is not None:
                inside = each.left != UNCONSTRAINED
                counts = _counts(each.left[inside], people[inside])
                found.append(_one(evidence, each.attribute, "cells", n_releases, "people", counts))
    if "person" in measured:
        for name, by_person in evidence.left_by_person.items():
            counts = _counts(by_person.left, np.ones(len(by_person.left), dtype=np.int64))
            found.append(_one(evidence, name, "people", by_person.releases, "people", counts))
    if "worlds" in measured:
        for name, by_worlds in evidence.left_by_worlds.items():
            counts = _counts(by_worlds.left, np.ones(len(by_worlds.left), dtype=np.int64))
            found.append(_one(evidence, name, "worlds", by_worlds.releases, "people", counts))
    order = {name: place for place, name in enumerate(evidence.compared)}
    return sorted(found, key=lambda one: order[one["attribute"]])


def _one(
    evidence: Evidence, attribute: str, basis: str, releases: int, unit: str, counts: list[list[int]]
) -> dict[str, Any]:
    return {
        "attribute": attribute,
        "basis": basis,
        "releases": releases,
        "least": evidence.policy.privacy.of(attribute).l,
        "unit": unit,
        "counts": counts,
    }


def _counts(left: IntArray, people: IntArray) -> list[list[int]]:
    """Return how many `people` (n,) are left with how many values (n,)."""
    found = np.bincount(np.minimum(left, MANY), weights=people)
    return [[values, int(n)] for values, n in enumerate(found.tolist()) if values]
