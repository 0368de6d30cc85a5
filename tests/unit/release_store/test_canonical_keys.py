"""Keys that other programs rewrote have one canonical form; keys of different people keep theirs."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_store.canonical_keys import canonical_key, cut_forms
from release_store.person_key import hashed_people
from tasks.history.persons import known_by_another_key


@pytest.mark.parametrize(
    ("key", "others"),
    [
        (
            "00417",
            (
                "417",
                " 417",
                "417.0",
                "417.00",
                "'00417",
                "000417",
                "\uff14\uff11\uff17",
                "4\u200b17",
                "\ufeff417",
            ),
        ),
        (
            "NHS-0042-x",
            (
                "nhs-42-X",
                "NHS 42 x",
                "nhs42x",
                "\uff2e\uff28\uff33-0042-x",
                "NHS\u20130042\u2013x",
                "nhs\u00ad-42-x",
            ),
        ),
        ("123456", ("1.23456E+05", "1.23456e5", "+123456", "123,456", "0123456.", "123456,0")),
        ("200000", ("2E+05", "2.0E+05", "\u0660\u0660\u0662\u0660\u0660\u0660\u0660\u0660", "200,000")),
        ("AB-000-011", ("AB000011", "ab 000 011")),
        ("012-045-0678", ("0120450678", "120450678", "012 045 0678")),
        ("0e8400b1-09b0-01d4-a716-000000440000", ("0E8400B109B001D4A716000000440000",)),
        ("Ren\u00e9", ("rene\u0301", "REN\u00c9")),
        ("123-45-6789", ("123456789", "123 45 6789")),
        ("2013-00033", ("2013-33", "2013/33", " 2013-033")),
        ("00033/2013", ("33/2013", "33-2013")),
        ("123.5", ("123.50", "0123.500", " 123.5")),
        (
            "AXE-417",
            ("\u0410X\u0415-417", "\u0391\u03a7\u0395-417"),
        ),
        ("M\u00fcller 3", ("Muller 3", "Mu\u0308ller 3", "M\u00dcLLER 3")),
        ("\u0141\u00f3d\u017a-9", ("Lodz 9", "lo\u0301dz-9")),
        ("12E3", ("12000", "1.2E+04", "12000.0")),
        ("KM 7", ("\u041a\u041c 7", "\u039a\u039c 7")),
    ],
)
def test_spellings_of_one_key_have_one_form(key: str, others: tuple[str, ...]) -> None:
    assert {canonical_key(one) for one in (key, *others)} == {canonical_key(key)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("417", "4170"),
        ("1-01", "10-1"),
        ("1.5", "1.6"),
        ("0", "00x"),
        ("1-11", "11-1"),
        ("1.23", "12.3"),
        ("12e15", "12000000000000000"),
        ("a1", "b1"),
        ("-", "--"),
        ("10", "1"),
        ("1,000", "10"),
        ("1,023", "123"),
        ("1.05", "1.5"),
        ("1.5", "1.05"),
        ("1.10.20", "1.10.2"),
        ("2013-00330", "2013-00033"),
    ],
)
def test_other_keys_have_others(one: str, other: str) -> None:
    assert canonical_key(one) != canonical_key(other)


@given(st.text(min_size=1))
def test_the_form_of_a_form_is_itself(key: str) -> None:
    form = canonical_key(key)
    assert form
    assert canonical_key(canonical_key(form)) == canonical_key(form)


@given(st.integers(0, 10**12), st.integers(1, 20))
def test_zeros_in_front_do_not_count(number: int, width: int) -> None:
    assert canonical_key(str(number).zfill(width)) == str(number)


def test_only_forms_that_differ_are_hashed() -> None:
    people = hashed_people(b"k" * 32, "person", [("7", 0), ("007", 1), ("x", 2)])
    seven, x = (hashed_people(b"k" * 32, "person", [(one, 0)]).hashes[0] for one in ("7", "x"))
    forms = dict(zip(people.hashes, people.canonical, strict=True))
    assert forms.pop(seven) is None
    assert forms.pop(x) is None
    assert [*forms.values()] == [seven]
    assert hashed_people(b"k" * 32, "person", [("7", 0), ("8", 1)]).canonical == ()


def cut(forms: list[str]) -> list[str]:
    return [form for form, one in zip(forms, cut_forms(forms), strict=True) if one is not None and one[1]]


def test_long_numbers_are_cut_if_all_end_in_zeros() -> None:
    zeros = [f"12345678901234{i}0" for i in range(5)]
    assert cut_forms(zeros) == [("12345678901234~16", True)] * 5
    assert cut_forms([*zeros, "123"])[-1] is None
    assert cut([*zeros, "1234567890123456"]) == []
    assert cut_forms(zeros[1:]) == [None] * 4  # too few to tell
    assert cut_forms(["7", "x"]) == [None] * 2


def test_some_of_all_are_cut_if_more_end_in_zeros_than_by_chance() -> None:
    numbers = [1234567890123456 + 37 * i for i in range(200)]
    some = [f"{number // 10}0" if i % 4 == 0 else str(number) for i, number in enumerate(numbers)]
    assert cut([str(number) for number in numbers]) == []
    assert cut(some) == [one for one in some if one.endswith("0")]


@pytest.mark.parametrize("step", [2, 4, 5, 20, 25])
def test_a_series_of_numbers_in_steps_is_not_cut_in_part(step: int) -> None:
    numbers = [str(4234567890123455 + step * i) for i in range(200)]
    assert cut(numbers) in ([], numbers)


@pytest.mark.parametrize(
    "written", [lambda key: str(int(float(key))), lambda key: str(int(Decimal(repr(float(key)))))]
)
def test_numbers_that_came_through_doubles_are_cut(written: Callable[[str], str]) -> None:
    whole = [str(52345678901234567 + 37 * i) for i in range(60)]
    assert cut(whole) == []
    came = [written(key) for key in whole]
    assert cut(came) == came
    own, earlier = (hashed_people(b"k" * 32, "person", [(key, 0) for key in keys]) for keys in (came, whole))
    new = len({*came} - {*whole})
    assert new > 40
    assert new - 3 <= known_by_another_key(own, [earlier]) <= new
    assert new - 3 <= known_by_another_key(earlier, [own]) <= len(whole)


def test_powers_of_ten_that_lost_digits_are_of_people_who_are_gone() -> None:
    whole = [str(210_133_456_789 + 1_000_003 * i) for i in range(40)]
    for shown in ("{:.5E}", "{:.2e}"):
        cut = [shown.format(float(key)) for key in whole]
        for mark in (".", ","):
            new = [key.replace(".", mark) for key in dict.fromkeys(cut)]
            own, earlier = (
                hashed_people(b"k" * 32, "person", [(key, 0) for key in keys]) for keys in (new, whole)
            )
            assert known_by_another_key(own, [earlier]) == len(new)
            assert known_by_another_key(earlier, [own]) > 0
            assert known_by_another_key(own, [own]) == 0
    exact = hashed_people(b"k" * 32, "person", [("1.23456E+05", 0)])
    assert known_by_another_key(exact, [hashed_people(b"k" * 32, "person", [("123456", 0)])]) == 1
    assert known_by_another_key(exact, [hashed_people(b"k" * 32, "person", [("123457", 0)])]) == 0
