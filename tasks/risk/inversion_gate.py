"""The gate on inversion: how many exact quasi-identifiers does knowing the method give away?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy.recoding import contains_its_people
from release_store.records import EquivalenceClasses, GateResult, Verdict
from tasks.risk.evidence import CannotTell, Evidence, NotAtHand
from tasks.risk.inversion import predictions, recovered
from tasks.risk.inversion_columns import Truth, columns_of
from tasks.risk.measured import EMPTY
from tasks.risk.published import row_classes
from tasks.types import IntArray

KNOWS_THE_METHOD = "reads the release, and knows the method, its parameters and the policy"
NO_RECORDS = "cells overlap, and only the run that made them knows whose the rows are: run the period anew"


@dataclass(frozen=True)
class Inversion:
    """How many of `records` are recovered by an attacker who knows the method, and by the control.

    `certain` of the attacker's predictions cannot be wrong; `known[column]` single values are certain.
    """

    records: int
    recovered: int
    control: int
    certain: int
    known: dict[str, int]

    @property
    def excess(self) -> float:
        """The share of the records that only the knowledge of the method recovers."""
        return (self.recovered - self.control) / self.records


def inversion_gate(evidence: Evidence) -> GateResult:
    """The share of records whose exact quasi-identifiers are recovered, less that of a control.

    Raises CannotTell where values were replaced or noised, or where nobody knows whose the rows are.
    """
    limit, recoding = evidence.policy.gates.inversion, evidence.policy.method.recoding
    if limit is None:
        raise ValueError("the policy does not ask for this gate")
    if not contains_its_people(recoding):
        raise CannotTell(f"recoding: {recoding} writes values that need not be anybody's: nothing to invert")
    table, classes = evidence.source, evidence.classes
    if not classes.n_classes:
        return GateResult("inversion", Verdict.UNKNOWN, None, limit.max, "<=", KNOWS_THE_METHOD, 0.0, EMPTY)
    found = inverted(classes, columns_of(classes, table, evidence.policy), class_of_records(evidence))
    verdict = Verdict.PASS if found.excess <= limit.max + 1e-12 else Verdict.FAIL
    detail = (
        f"{found.recovered} of {found.records} records recovered ({found.recovered / found.records:.1%}), "
        f"{found.certain} of them for certain; a control that does not know which values are attained "
        f"recovers {found.control} ({found.control / found.records:.1%})"
    )
    witness = {
        "records": found.records,
        "classes": classes.n_classes,
        "recovered": found.recovered,
        "certain": found.certain,
        "control": found.control,
        "known_values": found.known,
    }
    return GateResult(
        "inversion", verdict, found.excess, limit.max, "<=", KNOWS_THE_METHOD, 0.0, detail, witness
    )


def inverted(classes: EquivalenceClasses, columns: list[Truth], class_of: IntArray) -> Inversion:
    """Measure both attackers on records of the classes `class_of` (n,), -1 for those that are left out."""
    inside = class_of >= 0
    owner, codes = class_of[inside], np.column_stack([each.codes[inside] for each in columns])
    read = [each.column for each in columns]
    knowing, control = (predictions(read, classes.size, knows_ends=knows) for knows in (True, False))
    return Inversion(
        len(owner),
        recovered(knowing, owner, codes),
        recovered(control, owner, codes),
        int(knowing.certain.sum()),
        knowing.known,
    )


def class_of_records(evidence: Evidence) -> IntArray:
    """Return the published class of each record, (n,), -1 for those that are left out.

    As the run knows it; else where each record lies in one class at most, and no class in its cells has more
    records than rows. Raises NotAtHand otherwise, and ValueError where a record is not in its class's cells.
    """
    table, classes = evidence.source, evidence.classes
    if evidence.row_records is None:
        only = evidence.links.only
        if (evidence.links.candidates > 1).any() or not np.array_equal(
            np.bincount(only[only >= 0], minlength=classes.n_classes), classes.size
        ):
            raise NotAtHand(NO_RECORDS)
        return only
    with evidence.sealed_data() as file:
        number = row_classes(file, evidence.policy)
    found = np.full(table.n_records, -1, dtype=np.int64)
    found[evidence.row_records] = number
    if not np.array_equal(np.bincount(found[found >= 0], minlength=classes.n_classes), classes.size):
        raise ValueError("the staged rows are not those of the records")
    _check_inside(evidence, found)
    return found


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
        raise ValueError("the staged rows are not those of the records")
