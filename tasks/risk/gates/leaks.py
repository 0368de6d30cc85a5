"""Gates on published texts: no column that is published as it is tells who somebody is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from expectations.numbers import number_text
from release_store.records import GateResult, Verdict
from tasks.risk.attacks.leaks import (
    LongValues,
    PlainColumn,
    copied,
    equal,
    holding,
    once,
    plain_texts,
    visible_text,
)
from tasks.risk.attacks.personal_numbers import kinds_in, kinds_in_numbers
from tasks.risk.evidence import CannotTell, Evidence
from tasks.risk.published import read_texts
from tasks.types import BoolArray, IntArray

IDENTIFIER = "identifier"
SHOWN_AS = {
    IDENTIFIER: "a value of a key or identifier",
    "email": "an e-mail address",
    "telephone": "a telephone number",
    "card": "a card number",
    "account": "an account number",
    "insurance": "an insurance or tax number",
}
FEW_VALUES = 20  # a column of no more names nobody: its values are categories, however few rows have one
COPIES = 0.01  # share of rows from which a column that repeats its own row's identifier is a copy of it
READER = "anyone who reads the release"


def leak_gate(evidence: Evidence) -> GateResult:
    """No published text holds a value of a key or identifier of any row, or looks like a personal number.

    Values of a column whose values the policy lists were held against them: of these only such count as are
    an identifier, or repeat their own row's.
    """
    identifying = evidence.at_hand.identifying
    if identifying is None:
        raise CannotTell("the identifiers of the source are missing")
    plain = [plain_column(identifying[name]) for name in identifying]
    found: dict[str, dict[str, int]] = {}
    for name, texts in _looked_at(evidence):
        allowed = evidence.policy.gates.leak.allow.get(name, ())
        kinds = _kinds(evidence, name, texts)
        if IDENTIFIER not in allowed:
            kinds[IDENTIFIER] = _identifiers_in(evidence, name, texts, plain)
        held = {kind: n for kind, n in kinds.items() if n and kind not in allowed}
        if held:
            found[name] = held
    n_held = sum(sum(kinds.values()) for kinds in found.values())
    told = "; ".join(
        f"'{name}' holds {', '.join(SHOWN_AS[kind] for kind in kinds)}" for name, kinds in found.items()
    )
    verdict = Verdict.FAIL if found else Verdict.PASS
    detail = f"number of published texts that identify somebody{f': {told}' if told else ''}"
    return GateResult("leak", verdict, float(n_held), 0.0, "<=", READER, 0.0, detail, dict(found))


def _looked_at(evidence: Evidence) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield every published column, noised ones left out, each with its distinct texts."""
    yield from ((name, [*texts]) for name, texts in _published(evidence).items())
    for name, cells in evidence.classes.sets.items():
        yield name, cells.values
    for name, ends in evidence.classes.intervals.items():
        yield name, [number_text(value) for value in np.unique(ends)]


def _is_number(evidence: Evidence, name: str) -> bool:
    return name in evidence.at_hand.sensitive_numbers or name in evidence.classes.intervals


def _kinds(evidence: Evidence, name: str, texts: Sequence[str]) -> dict[str, int]:
    """Count the kinds of personal numbers; of a column of numbers, those that most of its long ones are."""
    if evidence.policy.roles.declared(name):
        return {}
    return dict(kinds_in_numbers(texts) if _is_number(evidence, name) else kinds_in(map(visible_text, texts)))


def _identifiers_in(evidence: Evidence, name: str, texts: Sequence[str], plain: list[PlainColumn]) -> int:
    """Count the distinct texts of a column that hold an identifier, or the rows that repeat their own."""
    n = 0
    if not _is_number(evidence, name):
        written = plain_texts(texts)
        if evidence.policy.roles.declared(name):
            n = max((int(equal(written, values).sum()) for values in plain), default=0)
        else:
            n = max((int(_held(written, values.long_values).sum()) for values in plain), default=0)
    if not plain:
        return n
    own = _own_cells(evidence, name)
    least = max(1.0, COPIES * evidence.n_source)
    return max(n, *(copied(own, values, least) for values in plain))


def _held(texts: Sequence[str], values: LongValues) -> BoolArray:
    try:
        return holding(texts, values)
    except OverflowError:
        raise CannotTell("searching for the identifiers would take too long for so much text") from None


def _own_cells(evidence: Evidence, name: str) -> PlainColumn:
    """Return a column of the source as plain text, row by row."""
    source = evidence.source
    if name in source.sensitive_names:
        codes = source.sensitive[:, source.sensitive_names.index(name)]
        return _plain(source.sensitive_values[name], codes)
    if name in source.categorical_names:
        return _plain(source.domains[name], source.codes[:, source.categorical_names.index(name)])
    if name in source.numeric_names:
        places, numbers = pd.factorize(source.numeric[:, source.numeric_names.index(name)])
        return _plain([number_text(value) for value in numbers], places)
    return plain_column(source.frame[name])


def plain_column(column: pd.Series) -> PlainColumn:
    """Return the texts of a column as `plain_text` gives them."""
    codes, distinct = pd.factorize(column)
    return _plain([*map(str, np.asarray(distinct, dtype=np.object_))], codes)


def _plain(texts: Sequence[str], codes: NDArray[np.integer[Any]]) -> PlainColumn:
    return PlainColumn(np.array(plain_texts(texts), dtype=np.object_), codes.astype(np.int64))


def unique_gate(evidence: Evidence) -> GateResult:
    """Share of the people with a unique value, in the worst column that is published as it is.

    Such a value is a name: whoever knows it finds the row. A column of at most 20 values has no such names.
    """
    limit = evidence.policy.gates.unique
    shares = {
        name: once(_known(texts, evidence.policy.source.missing_label))
        for name, texts in _published(evidence).items()
        if name not in limit.allow and len(texts) > FEW_VALUES
    }
    worst = max(shares.values(), default=0.0)
    over = {name: round(share, 4) for name, share in shares.items() if not share <= limit.max}
    named = ", ".join(f"'{name}'" for name in over)
    hint = f": {named}; round or group it, drop it, or name it in gates.unique.allow" if over else ""
    detail = f"share of people with a unique value{hint}"
    verdict = Verdict.FAIL if over else Verdict.PASS
    return GateResult("unique", verdict, worst, limit.max, "<=", READER, 0.0, detail, dict(over))


def _known(texts: dict[str, int], missing: str) -> IntArray:
    return np.array([n for text, n in texts.items() if text != missing], dtype=np.int64)


def _published(evidence: Evidence) -> dict[str, dict[str, int]]:
    """Return the texts of each column that is published as it is, and how many people have each.

    Raises NotAtHand where a person may have several rows and whose they are is not known.
    """
    person = None if evidence.counted is evidence.classes else evidence.row_people
    with evidence.sealed_data() as file:
        return read_texts(file, evidence.policy, person)
