"""Gates on published texts: identifiers of the source, personal numbers, unique values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_store.records import GateResult, Verdict
from tasks.risk.attacks.leaks import (
    LongValues,
    PlainColumn,
    copied,
    holding,
    once,
    plain_text,
    plain_texts,
    worth_looking_for,
)
from tasks.risk.attacks.personal_numbers import is_german_insured, is_german_pension, is_strict, kinds_in
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tests.support.small import prepared, published, small_policy

SUPPLIER, AUTHOR, TELLS = "data supplier", "policy author", "publishes a person"
AGE = {"age": {"type": "integer", "bounds": [0, 120]}}
NAMES = [
    "Anna Müller",
    "Bob Stone",
    "Carla Díaz",
    "Dan O'Hara",
    "Eva Lund",
    "Fritz Hahn",
    "Gül Kaya",
    "Hal Roe",
]


def evidence(folder: Path, notes: list[str], illness: list[str] | None = None, **sections: Any) -> Evidence:
    """Eight people in two classes, with a note that is kept beside the illness."""
    roles = {"key": "person", "identifiers": ["name"], "kept": ["note"], **sections.pop("roles", {})}
    policy = small_policy(AGE, roles=roles, **sections)
    ill = illness or ["flu", "cold"] * 4
    rows = [(f"P{i:06d}", NAMES[i], 30 + i, ill[i], notes[i]) for i in range(8)]
    return published(policy, prepared(policy, rows), [0] * 4 + [1] * 4, folder / "c").evidence()


def asked(gate: str, of: Evidence) -> GateResult:
    (result,) = assess(of, {gate: GATES[gate]}).results
    return result


def noted(text: str) -> list[str]:
    return [*["seen", "not seen"] * 3, "seen", text]


def test_a_table_without_a_trace_of_anybody_passes(tmp_path: Path) -> None:
    result = asked("leak", evidence(tmp_path, noted("came on 01.02.2024 10:30, ward 12, 38.5 C, code J45.9")))
    assert (result.verdict, result.value, result.witness) == (Verdict.PASS, 0.0, {})


@pytest.mark.enemy(SUPPLIER, TELLS)
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("told by Anna Müller on the telephone", "identifier"),
        ("told by ANNA  MULLER", "identifier"),
        ("(eva lund)", "identifier"),
        ("told by An\u200bna\u00a0M\u00fcl\u00adler", "identifier"),
        ("told by Anna\ufe0f M\u00fcller\x02", "identifier"),
        ("\uff25\uff36\uff21 \u202elund", "identifier"),
        ("write to some\u200bone\u00ad@example.org", "email"),
        ("paid by 4111\u20111111\u20101111\u200b-1111", "card"),
        ("Anna_Müller", "identifier"),
        ("Müller? Anna, Müller", "identifier"),
        ("Eva\u2800Lund", "identifier"),
        ("Eva\u3164Lund", "identifier"),
        ("P000003", "identifier"),
        ("see xP000003y", "identifier"),
        ("write to someone@example.org", "email"),
        ("call +49 30 1234567", "telephone"),
        ("call 07700 900123", "telephone"),
        ("(030) 123 456 78", "telephone"),
        ("(212) 555-0182", "telephone"),
        ("paid by 4111 1111 1111 1111", "card"),
        ("DE89 3704 0044 0532 0130 00", "account"),
        ("756.9217.0769.85", "insurance"),
        ("44051401359", "insurance"),
        ("A123456780", "insurance"),
        ("15 070649 C 103", "insurance"),
        ("078-05-1120", "insurance"),
        ("943 476 5919", "insurance"),
    ],
)
@pytest.mark.parametrize("column", ["note", "illness"])
def test_what_tells_who_somebody_is_blocks(tmp_path: Path, text: str, kind: str, column: str) -> None:
    texts = noted(text)
    plain = ["seen", "not seen"] * 4
    found = evidence(tmp_path, texts if column == "note" else plain, texts if column == "illness" else None)
    result = asked("leak", found)
    assert result.verdict is Verdict.FAIL
    assert kind in result.witness[column]
    assert f"'{column}' holds" in result.detail
    assert text not in result.detail + str(result.witness)


@pytest.mark.enemy(SUPPLIER, TELLS)
def test_a_name_in_a_quasi_identifier_blocks_where_its_values_are_not_listed(tmp_path: Path) -> None:
    city = {"city": {"type": "categorical"}}
    rows = [
        (f"P{i:06d}", NAMES[i], "Leeds" if i else "Eva Lund", "flu" if i % 2 else "cold") for i in range(8)
    ]
    rows[7] = (*rows[7][:2], "York", *rows[7][3:])  # else the set of all cities would be written as *
    policy = small_policy(city, roles={"key": "person", "identifiers": ["name"]})
    made = published(policy, prepared(policy, rows), [0] * 4 + [1] * 4, tmp_path / "c").evidence()
    assert asked("leak", made).witness == {"city": {"identifier": 1}}


@pytest.mark.enemy(AUTHOR, TELLS)
def test_a_copy_of_a_short_key_blocks(tmp_path: Path) -> None:
    policy = small_policy(AGE, roles={"key": "person", "kept": ["note"]})
    rows = [(str(i), 30 + i, "flu" if i % 2 else "cold", f"{i:04d}") for i in range(8)]
    made = published(policy, prepared(policy, rows), [0] * 4 + [1] * 4, tmp_path / "c").evidence()
    assert asked("leak", made).witness == {"note": {"identifier": 8}}


@pytest.mark.enemy(AUTHOR, TELLS)
def test_a_copy_of_a_key_among_the_sensitive_numbers_blocks(tmp_path: Path) -> None:
    policy = small_policy(AGE, {"cost": {"type": "numeric", "stability": "stable"}}, roles={"key": "person"})
    rows = [(f"{i:06d}", 30 + i, 100000.0 + i if i > 4 else float(i)) for i in range(8)]
    made = published(policy, prepared(policy, rows), [0] * 4 + [1] * 4, tmp_path / "c").evidence()
    assert asked("leak", made).witness == {"cost": {"identifier": 5}}


@pytest.mark.enemy(SUPPLIER, TELLS)
def test_a_short_key_inside_of_the_notes_of_its_own_person_blocks(tmp_path: Path) -> None:
    policy = small_policy(AGE, roles={"key": "person", "kept": ["note"]})
    rows = [(f"{4000 + i}", 30 + i, "flu" if i % 2 else "cold", f"see patient {4000 + i}") for i in range(8)]
    made = published(policy, prepared(policy, rows), [0] * 4 + [1] * 4, tmp_path / "c").evidence()
    assert asked("leak", made).witness == {"note": {"identifier": 8}}


def test_short_numbers_that_stand_in_notes_by_chance_pass(tmp_path: Path) -> None:
    policy = small_policy(AGE, roles={"key": "person", "kept": ["note"]})
    rows = [(f"{i}", 30 + i, "flu" if i % 2 else "cold", "wards 0 1 2 3 4 5 6 7") for i in range(8)]
    made = published(policy, prepared(policy, rows), [0] * 4 + [1] * 4, tmp_path / "c").evidence()
    assert asked("leak", made).verdict is Verdict.PASS


@pytest.mark.enemy(AUTHOR, TELLS)
def test_identifiers_that_the_policy_lists_as_values_block(tmp_path: Path) -> None:
    texts = [*NAMES[:4], *["seen"] * 4]
    listed = {"kept_values": {"note": [*NAMES[:4], "seen"]}}
    made = evidence(tmp_path / "kept", texts, roles=listed)
    assert asked("leak", made).witness == {"note": {"identifier": 4}}
    city = {"city": {"type": "categorical", "values": NAMES}}
    policy = small_policy(city, roles={"key": "person", "identifiers": ["name"]})
    rows = [(f"P{i:06d}", NAMES[i], NAMES[i], "flu" if i % 2 else "cold") for i in range(8)]
    made = published(policy, prepared(policy, rows), [0] * 4 + [1] * 4, tmp_path / "c").evidence()
    assert asked("leak", made).witness == {"city": {"identifier": 8}}


@pytest.mark.enemy(AUTHOR, TELLS)
def test_an_identifier_that_is_a_numeric_quasi_identifier_too_blocks(tmp_path: Path) -> None:
    numbers = {"ref": {"type": "integer", "bounds": [0, 999_999_999_999]}}
    policy = small_policy(numbers, roles={"key": "person", "identifiers": ["phone"]})
    rows = [
        (f"P{i:06d}", f"49170000{i:04d}", 491_700_000_000 + i, "flu" if i % 2 else "cold") for i in range(8)
    ]
    made = published(policy, prepared(policy, rows), [0] * 4 + [1] * 4, tmp_path / "c").evidence()
    assert asked("leak", made).witness == {"ref": {"identifier": 8}}


@pytest.mark.enemy(AUTHOR, TELLS)
def test_card_numbers_among_the_sensitive_numbers_block(tmp_path: Path) -> None:
    policy = small_policy(AGE, {"cost": {"type": "numeric", "stability": "stable"}}, roles={"key": "person"})
    cards = [4111111111111111, 5500005555555559, 4012888888881881, 6011000990139424]
    rows = [(f"P{i:06d}", 30 + i, float(cards[i % 4] if i < 4 else i)) for i in range(8)]
    made = published(policy, prepared(policy, rows), [0] * 4 + [1] * 4, tmp_path / "c").evidence()
    assert asked("leak", made).witness == {"cost": {"card": 4}}


def test_a_missing_identifier_is_nobodys(tmp_path: Path) -> None:
    policy = small_policy(AGE, roles={"key": "person", "identifiers": ["name"], "kept": ["note"]})
    rows = [
        (f"P{i:06d}", None if i == 2 else NAMES[i], 30 + i, "flu" if i % 2 else "cold", "x") for i in range(8)
    ]
    made = published(policy, prepared(policy, rows), [0] * 4 + [1] * 4, tmp_path / "c").evidence()
    assert asked("leak", made).verdict is Verdict.PASS


@pytest.mark.enemy(SUPPLIER, "stops the work")
def test_a_search_that_would_never_end_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.risk.attacks.leaks.MOST_WORK", 10)
    result = asked("leak", evidence(tmp_path, noted("seen")))
    assert result.verdict is Verdict.UNKNOWN
    assert "would take too long" in result.detail


@pytest.mark.enemy(AUTHOR, TELLS)
def test_a_value_of_each_persons_own_is_unique_in_several_rows_too(tmp_path: Path) -> None:
    policy = small_policy(AGE, roles={"key": "person", "kept": ["note"]}, rows="several")
    rows = [(f"P{i // 2:06d}", 30 + i // 2, "flu" if i % 2 else "cold", f"n{i // 2}") for i in range(60)]
    table = prepared(policy, rows)
    made = published(policy, table, [0] * 30 + [1] * 30, tmp_path / "c")
    assert table.person is not None
    result = asked("unique", replace(made.evidence(), row_people=table.person[made.rows.records]))
    assert (result.verdict, result.value) == (Verdict.FAIL, 1.0)


def test_what_the_policy_allows_or_lists_passes(tmp_path: Path) -> None:
    texts = noted("Eva Lund's disease, see someone@example.org")
    allow = {"gates": {"leak": {"allow": {"note": ["identifier", "email"]}}}}
    assert asked("leak", evidence(tmp_path / "a", texts, **allow)).verdict is Verdict.PASS
    one = {"gates": {"leak": {"allow": {"note": ["email"]}}}}
    assert asked("leak", evidence(tmp_path / "b", texts, **one)).witness == {"note": {"identifier": 1}}
    listed = {"roles": {"kept_values": {"note": sorted({*texts})}}}
    assert asked("leak", evidence(tmp_path / "c", texts, **listed)).verdict is Verdict.PASS


@pytest.mark.enemy("operator", TELLS)
def test_identifiers_that_are_not_at_hand_block(tmp_path: Path) -> None:
    found = evidence(tmp_path, noted("seen"))
    without = replace(found, table=replace(found.source, identifying=None))
    result = asked("leak", without)
    assert (result.verdict, result.value) == (Verdict.UNKNOWN, None)


def test_words_count_whole_and_numbers_too() -> None:
    values = pd.Series(["rose", "a000123", "1234567", "li", "12"])
    texts = ["rose fever", "roseola", "xa000123x", "no 1234567", "12345678", "li 12"]
    assert holding(texts, LongValues(values)).tolist() == [True, False, True, True, False, False]


@given(st.lists(st.text("aB0 -_\t\x00\x1f\x7f\né", max_size=9), max_size=8))
def test_texts_converted_all_at_once_are_those_of_one_at_a_time(texts: list[str]) -> None:
    assert plain_texts(texts) == [plain_text(text) for text in texts]


@given(st.lists(st.text("a0 1", max_size=9), min_size=1, max_size=4), st.data())
def test_an_identifier_is_copied_where_the_words_of_its_own_row_hold_it(
    texts: list[str], data: st.DataObject
) -> None:
    def bare(text: str) -> str:
        return f" {' '.join(word.lstrip('0') or word[-1:] for word in text.split())} "

    def rows(texts: list[str]) -> tuple[PlainColumn, list[str | None]]:
        codes = data.draw(st.lists(st.integers(-1, len(texts) - 1), min_size=12, max_size=12))
        column = PlainColumn(np.array(texts, dtype=object), np.array(codes))
        return column, [None if code < 0 else texts[code] for code in codes]

    cells, own = rows([plain_text(text) for text in texts])
    people, whose = rows(["1", "01", "a 1", "a0", "0"])

    def holding_theirs(whose: list[str | None]) -> int:
        return sum(
            cell is not None
            and who is not None
            and (who.lstrip("0") or who[-1:]) in cell
            and bare(who) in bare(cell)
            for cell, who in zip(own, whose, strict=True)
        )

    n = holding_theirs(whose)
    by_chance = holding_theirs([whose[other] for other in np.random.default_rng(0).permutation(12)])
    assert copied(cells, people, 1.0) == (n if n > 1 and n > 2 * by_chance else 0)


@given(
    st.lists(st.text("abcé 1-", max_size=12), max_size=8),
    st.lists(st.text("abcé 1-", min_size=1, max_size=5), max_size=8),
)
def test_what_is_held_is_what_plain_loops_find(texts: list[str], values: list[str]) -> None:
    def word(character: str) -> bool:
        return character.isalpha() or character.isdigit()

    def holds(text: str, value: str) -> bool:
        if not worth_looking_for(value):
            return False
        joins = word if any(map(str.isalpha, value)) else str.isdigit
        ways = [i for i in range(len(text)) if text.startswith(value, i)]
        for i in ways:
            before, after = text[i - 1 : i] if i else "", text[i + len(value) : i + len(value) + 1]
            starts = before and joins(before) and joins(value[0])
            ends = after and joins(after) and joins(value[-1])
            if not (starts or ends):
                return True
        return False

    plain, wanted = [plain_text(one) for one in texts], [plain_text(one) for one in values]
    expected = [any(holds(text, value) for value in wanted) for text in plain]
    assert holding(plain, LongValues(pd.Series(wanted, dtype=object))).tolist() == expected


@pytest.mark.parametrize(
    "number",
    ["7569217076985", "295109912611193", "15108695088", "131052-308T", "RCCMNL83S18D969H", "7503305044089"],
)
def test_a_checked_number_is_none_after_a_digit_changed(number: str) -> None:
    assert is_strict(number)
    at = next(i for i, character in enumerate(number) if character.isdigit())
    changed = [f"{number[:at]}{digit}{number[at + 1 :]}" for digit in "0123456789" if digit != number[at]]
    assert sum(map(is_strict, changed)) <= 1  # another country has that shape


def test_german_numbers_by_hand() -> None:
    """A is 01: 0*1+1*2+1*1+2*2+3*1+4*2+5*1+(6*2=12: 3)+7*1+(8*2=16: 7) = 40, and 40 mod 10 = 0."""
    assert is_german_insured("A123456780")
    assert not any(is_german_insured(f"A12345678{digit}") for digit in range(1, 10))
    assert is_german_pension("15070649C103")
    assert not is_german_pension("15070649C104")


def test_codes_of_which_some_pass_by_chance_are_codes() -> None:
    codes = [f"{number:010d}" for number in range(1_000_000_007, 1_000_000_507, 5)]
    assert kinds_in(codes).get("insurance", 0) == 0
    assert (
        kinds_in(["0.123456789", "1234567.89", "2024-01-02 10:11:12", "192.168.1.20", "J45.9 asthma"]) == {}
    )


# Unique values


def wide(folder: Path, values: list[Any], kind: str = "categorical", **gates: Any) -> GateResult:
    sensitive = {"illness": {"stability": "stable", "type": kind}}
    policy = small_policy(AGE, sensitive, gates=gates)
    rows = [(20 + i, value) for i, value in enumerate(values)]
    half = len(rows) // 2
    labels = [0] * half + [1] * (len(rows) - half)
    return asked("unique", published(policy, prepared(policy, rows), labels, folder / "c").evidence())


@pytest.mark.enemy(AUTHOR, TELLS)
@pytest.mark.parametrize("kind", ["categorical", "numeric"])
def test_unique_values_block(tmp_path: Path, kind: str) -> None:
    numbers = [100_000.0 + i * i for i in range(60)]
    values: list[Any] = numbers if kind == "numeric" else [f"RX{number:.0f}" for number in numbers]
    result = wide(tmp_path / "a", values, kind)
    assert (result.verdict, result.value, result.witness) == (Verdict.FAIL, 1.0, {"illness": 1.0})
    assert wide(tmp_path / "b", values, kind, unique={"allow": ["illness"]}).verdict is Verdict.PASS
    assert wide(tmp_path / "c", values, kind, unique={"max": 1.0}).verdict is Verdict.PASS


def test_rare_values_beside_frequent_ones_are_no_names(tmp_path: Path) -> None:
    values = [f"rare {i}" for i in range(20)] + ["flu"] * 30 + ["cold"] * 30
    assert wide(tmp_path, values).value == pytest.approx(20 / 80)
    assert once(np.array([1, 1, 2, 4])) == pytest.approx(2 / 8)
