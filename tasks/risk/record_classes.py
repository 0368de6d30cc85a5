"""The published class of each record of the source, as far as it is known."""

from __future__ import annotations

import numpy as np

from policy.recoding import contains_its_people
from release_store.person_key import fingerprint_of, person_hash
from release_store.records import EquivalenceClasses
from tasks.risk.evidence import Evidence
from tasks.risk.published import row_classes
from tasks.types import IntArray


def record_classes(evidence: Evidence) -> IntArray | None:
    """Return the published class of each record, (n,), -1 for those that are left out; None if not known.

    As the run knows it, else as people's hashes say. Raises ValueError where classes have other sizes, or a
    record is not in its class's cells although they contain their people.
    """
    if evidence.row_records is not None:
        found = np.full(evidence.n_source, -1, dtype=np.int64)
        with evidence.sealed_data() as file:
            found[evidence.published_rows] = row_classes(file, evidence.policy)
    elif (followed := _by_person(evidence)) is not None:
        found = followed
    else:
        return None
    if not has_sizes(found, evidence.classes):
        raise ValueError("the staged rows do not match the records")
    if contains_its_people(evidence.policy.method.recoding):
        _check_inside(evidence, found)
    return found


def _by_person(evidence: Evidence) -> IntArray | None:
    """Return the class of each record by the hash of its person, if everybody published has one."""
    people, key, column = evidence.people, evidence.key, evidence.policy.roles.key
    identifying = evidence.source.identifying
    if people is None or people.classes is None or key is None or column is None or identifying is None:
        return None
    if evidence.policy.rows != "one_per_person" or people.fingerprint != fingerprint_of(key, column):
        return None
    classes = dict(zip(people.hashes, people.classes, strict=True))
    hashes = [person_hash(key, one) if isinstance(one, str) else "" for one in identifying[column]]
    if sum(one in classes for one in hashes) != evidence.n_published:
        return None
    return np.array([classes.get(one, -1) for one in hashes], dtype=np.int64)


def has_sizes(class_of: IntArray, classes: EquivalenceClasses) -> bool:
    """Tell whether as many records (n,) are in each class as are published."""
    sizes = np.bincount(class_of[class_of >= 0], minlength=classes.n_classes)
    return np.array_equal(sizes, classes.size)


def _check_inside(evidence: Evidence, class_of: IntArray) -> None:
    points, boxes = evidence.points, evidence.boxes
    inside = class_of >= 0
    place, number = points.place[inside], class_of[inside]
    numbers, codes = points.numbers[place], points.codes[place]
    low, high = boxes.low[number], boxes.high[number]
    fits = (np.isnan(numbers) | ((low <= numbers) & (numbers <= high))).all()
    for column, member in enumerate(boxes.member):
        code = codes[:, column]
        fits &= ((code < 0) | member[number, code]).all()
    if not fits:
        raise ValueError("the staged rows do not match the records")
