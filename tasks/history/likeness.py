"""Whether two releases speak of the same things, so that laying them beside each other says something.

A comparison by cells and values sees nothing where names, labels or units changed between the releases,
and would pass. What it cannot see is found here, and makes the verdict unknown.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from expectations.numbers import exact_text
from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.history.intersection import compared_attributes
from tasks.types import BoolArray, FloatArray, IntArray

LEAST_SHARE = 0.5


def unlike(candidate: EquivalenceClasses, earlier: EquivalenceClasses, policy: ReleasePolicy) -> list[str]:
    """Return why the candidate cannot be laid beside the earlier release; nothing where it can.

    Under half of the records with a known value, label or range is taken for another vocabulary or unit.
    """
    roles = policy.roles
    compared = compared_attributes(policy)
    labelled = [name for name in compared if roles.sensitive[name].type == "categorical"]
    published = [*roles.quasi_identifiers, *roles.kept]
    said = []
    gone = [name for name in earlier.counts if name not in candidate.counts]
    new = [name for name in compared if name not in earlier.counts]
    other_role = [name for name in gone if name in published]
    if other_role:
        said.append(f"{_listed(other_role)} was sensitive and now has another role")
    elif gone and new:
        said.append(f"{_listed(new)} may be the renamed {_listed(gone)}")
    elif compared and not set(compared) & set(earlier.counts):
        said.append("no compared attribute is in it")
    once_known = [name for name in candidate.counts if name in {*earlier.intervals, *earlier.sets}]
    if once_known:
        said.append(f"{_listed(once_known)} was a quasi-identifier and is sensitive now")
    other_kind = [
        *(name for name in candidate.intervals if name in earlier.sets),
        *(name for name in candidate.sets if name in earlier.intervals),
    ]
    if other_kind:
        said.append(f"{_listed(other_kind)} is numeric in one of the two and categorical in the other")
    numbers = [name for name in compared if name not in labelled and name in earlier.counts]
    texts = [name for name in numbers if not _holds_numbers(earlier, name, policy.source.missing_label)]
    if texts:
        said.append(f"most values of {_listed(texts)} are not numbers in it")
    label = policy.source.missing_label
    elsewhere = [name for name in numbers if name not in texts and _apart(candidate, earlier, name, label)]
    said += [f"most of {name} lies outside the range of the other release" for name in elsewhere]
    attributes = [name for name in labelled if name in earlier.counts]
    shares = {name: _known_values(candidate, earlier, name) for name in attributes}
    quasi_identifiers = [name for name in candidate.sets if name in earlier.sets]
    shares |= {name: _known_labels(candidate, earlier, name) for name in quasi_identifiers}
    said += [f"most values of {name} are not in it" for name, share in shares.items() if share < LEAST_SHARE]
    ranges = [name for name in candidate.intervals if name in earlier.intervals]
    outside = [name for name in ranges if _within_range(candidate, earlier, name) < LEAST_SHARE]
    return said + [f"most of {name} lies outside its range" for name in outside]


def _listed(names: Collection[str]) -> str:
    return ", ".join(names)


def _known_values(candidate: EquivalenceClasses, earlier: EquivalenceClasses, name: str) -> float:
    """Return the share of the candidate's records whose sensitive value stands in the earlier release."""
    present = set(np.array(earlier.sensitive_values[name], dtype=object)[earlier.counts[name].any(axis=0)])
    known = np.array([value in present for value in candidate.sensitive_values[name]], dtype=bool)
    total = candidate.counts[name].sum(axis=0)
    return float(total[known].sum() / max(int(total.sum()), 1))


def _holds_numbers(earlier: EquivalenceClasses, name: str, missing_label: str) -> bool:
    """Tell whether half of the records with a known value have a number as this program writes it."""
    known = np.array([value != missing_label for value in earlier.sensitive_values[name]], dtype=bool)
    number = np.array([_is_number(value) for value in earlier.sensitive_values[name]], dtype=bool)
    total = earlier.counts[name].sum(axis=0)
    return bool(total[number & known].sum() >= LEAST_SHARE * total[known].sum())


def _apart(one: EquivalenceClasses, other: EquivalenceClasses, name: str, missing_label: str) -> bool:
    """Tell whether most known numbers of either release lie outside the range of the other's."""
    (mine, n_mine), (theirs, n_theirs) = (_numbers(each, name, missing_label) for each in (one, other))
    if not (len(mine) and len(theirs)):
        return False
    return any(
        float(n[(values >= among.min()) & (values <= among.max())].sum()) < LEAST_SHARE * n.sum()
        for values, n, among in ((mine, n_mine, theirs), (theirs, n_theirs, mine))
    )


def _numbers(classes: EquivalenceClasses, name: str, missing_label: str) -> tuple[FloatArray, IntArray]:
    """Return the numbers of a sensitive attribute and how many records have each."""
    total = classes.counts[name].sum(axis=0)
    known = [
        i
        for i, value in enumerate(classes.sensitive_values[name])
        if value != missing_label and _is_number(value) and total[i]
    ]
    return np.array([float(classes.sensitive_values[name][i]) for i in known]), total[known]


def _is_number(text: str) -> bool:
    try:
        value = float(text)
    except ValueError:
        return False
    return bool(np.isfinite(value)) and exact_text(text) == text


def _known_labels(candidate: EquivalenceClasses, earlier: EquivalenceClasses, name: str) -> float:
    """Return the share of the records whose set has a label of the earlier release; `*` has them all."""
    mine, theirs = candidate.sets[name], earlier.sets[name]
    if theirs.whole.any() or not theirs.values:
        return 1.0
    known = np.array([value in set(theirs.values) for value in mine.values], dtype=bool)
    return _share(candidate, mine.whole | mine.member[:, known].any(axis=1))


def _within_range(candidate: EquivalenceClasses, earlier: EquivalenceClasses, name: str) -> float:
    mine, theirs = candidate.intervals[name], earlier.intervals[name]
    if not len(theirs):
        return 1.0
    return _share(candidate, (mine[:, 0] <= theirs[:, 1].max()) & (mine[:, 1] >= theirs[:, 0].min()))


def _share(candidate: EquivalenceClasses, marks: BoolArray) -> float:
    return float(candidate.size[marks].sum() / max(int(candidate.size.sum()), 1))
