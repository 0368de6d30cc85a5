"""The gate on inversion: how many exact quasi-identifiers does knowing the method give away?"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from policy.recoding import contains_its_people
from release_store.records import EquivalenceClasses, GateResult, Verdict
from tasks.risk.attacks.inversion import predictions, recovered
from tasks.risk.attacks.inversion_columns import Truth, columns_of
from tasks.risk.evidence import CannotTell, Evidence, NotAtHand
from tasks.risk.gates.linkage_and_loss import EMPTY
from tasks.risk.record_classes import has_sizes, record_classes
from tasks.types import IntArray

KNOWS_THE_METHOD = "reads the release, and knows the method, its parameters and the policy"
NO_RECORDS = "cells overlap, and only the run that made them knows whose the rows are: run the period again"


@dataclass(frozen=True)
class Count:
    """How many are recovered by an attacker who knows the method, and by the control; `certain` of the
    attacker's predictions follow from the cells alone.
    """

    certain: int
    recovered: int
    control: int


@dataclass(frozen=True)
class Inversion:
    """What is recovered of `records`: `whole` tuples of quasi-identifiers, and values of `columns` alone."""

    records: int
    whole: Count
    columns: dict[str, Count]

    @property
    def excess(self) -> float:
        """The share of the records that only the knowledge of the method recovers."""
        return (self.whole.recovered - self.whole.control) / self.records

    @property
    def worst_column(self) -> str:
        """The column whose values that knowledge helps most to recover."""
        return max(self.columns, key=lambda name: self.columns[name].recovered - self.columns[name].control)


def inversion_gate(evidence: Evidence) -> GateResult:
    """The share of records whose exact quasi-identifiers are recovered, less that of a control.

    Raises CannotTell where values were replaced or noised, or where nobody knows whose the rows are.
    """
    limit, recoding = evidence.policy.gates.inversion, evidence.policy.method.recoding
    if limit is None:
        raise ValueError("the policy does not use this gate")
    if not contains_its_people(recoding):
        raise CannotTell(f"recoding: {recoding} writes values that may be nobody's: nothing to invert")
    table, classes = evidence.source, evidence.classes
    if not classes.n_classes:
        return GateResult("inversion", Verdict.UNKNOWN, None, limit.max, "<=", KNOWS_THE_METHOD, 0.0, EMPTY)
    columns = columns_of(classes, table, evidence.policy, evidence.reused)
    found = inverted(classes, columns, class_of_records(evidence))
    verdict = Verdict.PASS if found.excess <= limit.max + 1e-12 else Verdict.FAIL
    column = found.columns[found.worst_column]
    detail = (
        f"exact quasi-identifiers of {_said(found.whole, found.records)}; of {found.worst_column} alone "
        f"{_said(column, found.records)}. The control does not know which values are attained"
    )
    witness = {
        "records": found.records,
        "classes": classes.n_classes,
        **asdict(found.whole),
        "columns": {name: asdict(count) for name, count in found.columns.items()},
    }
    return GateResult(
        "inversion", verdict, found.excess, limit.max, "<=", KNOWS_THE_METHOD, 0.0, detail, witness
    )


def _said(count: Count, records: int) -> str:
    share = count.recovered / records
    return f"{share:.1%}, {count.certain} for certain, control {count.control / records:.1%}"


def inverted(classes: EquivalenceClasses, columns: list[Truth], class_of: IntArray) -> Inversion:
    """Measure both attackers on records of the classes `class_of` (n,), -1 for those that are left out."""
    inside = class_of >= 0
    owner = class_of[inside]

    def count(some: list[Truth]) -> Count:
        codes = np.column_stack([each.codes[inside] for each in some])
        read = [each.column for each in some]
        knowing, control = (predictions(read, classes.size, knows_ends=knows) for knows in (True, False))
        return Count(
            int(knowing.certain.sum()), recovered(knowing, owner, codes), recovered(control, owner, codes)
        )

    return Inversion(len(owner), count(columns), {each.column.name: count([each]) for each in columns})


def class_of_records(evidence: Evidence) -> IntArray:
    """Return the published class of each record, (n,), -1 for those that are left out.

    As `record_classes` knows it; else where each record lies in one class at most, and no class has more
    records in its cells than rows. Raises NotAtHand otherwise.
    """
    known = record_classes(evidence)
    if known is not None:
        return known
    found = evidence.links.only.astype(np.int64)
    if (evidence.links.candidates > 1).any() or not has_sizes(found, evidence.classes):
        raise NotAtHand(NO_RECORDS)
    return found
