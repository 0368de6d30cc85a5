"""Gates by person are undecided where keys were rewritten or too few people are followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_store.person_key import hashed_people
from release_store.records import PersonHashes, Verdict
from tasks.history.persons import few_followed, known_by_another_key, known_twice, shares_followed
from tests.support.small import small_policy
from tests.unit.tasks.test_persons import AGE, BY_PERSON, ILLNESS, Told, told

Q1 = "001 30 flu, 002 31 hiv / 003 70 cough, 004 71 asthma"


def verdicts(folder: Path, *periods: str, **person: object) -> set[Verdict]:
    policy = small_policy(AGE, ILLNESS, roles={"key": "person"}, gates={"person": person})
    *earlier, last = (told(folder, text, policy) for text in periods)
    return {last.asked(gate, *earlier).verdict for gate in BY_PERSON}


def last_of(folder: Path, *periods: str) -> tuple[Told, list[Told]]:
    policy = small_policy(AGE, ILLNESS, roles={"key": "person"})
    *earlier, last = (told(folder, text, policy) for text in periods)
    return last, earlier


def test_keys_without_their_zeros_are_told_with_their_number(tmp_path: Path) -> None:
    last, earlier = last_of(tmp_path, Q1, "1 30 flu, 002 31 hiv / 3 70 cough, 004 71 asthma")
    for gate in BY_PERSON:
        found = last.asked(gate, *earlier)
        assert found.verdict is Verdict.UNKNOWN
        assert "2 of 4 people are new by their key, but have the key of somebody before" in found.detail


def test_keys_of_different_people_can_be_accepted(tmp_path: Path) -> None:
    now = "1 30 flu, 002 31 hiv / 3 70 cough, 004 71 asthma"
    assert verdicts(tmp_path, Q1, now) == {Verdict.UNKNOWN}
    assert verdicts(tmp_path, Q1, now, other_forms="accept") == {Verdict.PASS}


def test_worlds_counts_nobody_twice_who_has_a_key_in_another_form(tmp_path: Path) -> None:
    """Of six keys in two releases two are earlier ones without their zeros: four people, or six."""
    last, earlier = last_of(tmp_path, Q1, "1 30 flu, 002 31 hiv / 3 70 cough, 004 71 asthma")
    found = last.asked("worlds", *earlier)
    assert found.verdict is Verdict.UNKNOWN
    assert found.detail.startswith(
        "of 6 people in 2 releases (of 4, if 2 keys are earlier ones in another form), 0 with"
    )
    same = told(tmp_path, Q1, small_policy(AGE, ILLNESS, roles={"key": "person"}))
    found = same.asked("worlds", *earlier)
    assert found.verdict is Verdict.PASS
    assert found.detail.startswith("of 4 people in 2 releases, 0 with")


def test_somebody_new_beside_whom_the_other_stands_is_somebody_else(tmp_path: Path) -> None:
    now = "001 30 flu, 002 31 hiv / 003 70 cough, 004 71 asthma / 1 50 flu, 5 51 hiv"
    assert verdicts(tmp_path, Q1, now) == {Verdict.PASS}


def test_the_form_counts_in_either_release() -> None:
    was, now = PersonHashes("f", ("a", "b")), PersonHashes("f", ("A", "b"), canonical=("a", None))
    assert known_by_another_key(now, [was]) == 1
    assert known_by_another_key(was, [now]) == 1
    assert known_by_another_key(now, [None]) == known_by_another_key(now, [now]) == 0
    both = PersonHashes("f", ("A", "a"), canonical=("a", None))
    assert known_by_another_key(both, [was]) == 0


LONG = [str(1234567890123456 + 37 * i) for i in range(60)]
CUT = [f"{key[:15]}0" for key in LONG]
POWERS = [f"{float(key):.14E}" for key in LONG]


def people(keys: list[str]) -> PersonHashes:
    return hashed_people(b"k" * 32, "person", [(key, 0) for key in keys])


@pytest.mark.parametrize("cut", [CUT, POWERS], ids=["zeros", "powers of ten"])
def test_numbers_that_a_spreadsheet_cut_are_told_in_either_release(cut: list[str]) -> None:
    """Of 60 long numbers those that end in 0 themselves are the same when cut; a power of ten never is."""
    new = len({*cut} - {*LONG})
    assert new > 50
    assert new - 6 <= known_by_another_key(people(cut), [people(LONG)]) <= new
    assert new - 6 <= known_by_another_key(people(LONG), [people(cut)]) <= new
    assert known_by_another_key(people(cut[:30]), [people(cut[30:])]) == 0


@given(st.integers(10**15, 10**19), st.integers(1, 1000), st.integers(5, 40))
def test_honest_long_numbers_are_nobody_elses(first: int, step: int, n: int) -> None:
    """However long a prefix they share, whole numbers are those of different people, and so are cut ones."""
    keys = [str(first + step * i) for i in range(2 * n)]
    assert known_by_another_key(people(keys[:n]), [people(keys[n:])]) == 0
    cut = list(dict.fromkeys(key[:15] + "0" * (len(key) - 15) for key in keys))
    half = len(cut) // 2
    assert known_by_another_key(people(cut[:half]), [people(cut[half:])]) == 0


def test_a_long_number_with_zeros_in_front_is_told_as_before() -> None:
    bare, padded = people(LONG), people([f"00{key}" for key in LONG])
    assert known_by_another_key(padded, [bare]) == known_by_another_key(bare, [padded]) == len(LONG)


def test_half_of_a_register_does_not_become_strangers(tmp_path: Path) -> None:
    def of(*names: str) -> str:
        """Pairs of one flu and one hiv, in the same cells every period."""
        pairs = zip(names[::2], names[1::2], strict=True)
        return " / ".join(f"{one} {i}0 flu, {two} {i}1 hiv" for i, (one, two) in enumerate(pairs, 1))

    same, third = of("a", "b", "c", "d", "e", "f"), of("a", "b", "n", "o", "p", "q")
    assert verdicts(tmp_path, same, third) == {Verdict.PASS}  # of a second period, nothing is known
    assert verdicts(tmp_path, same, third, followed=0.5) == {Verdict.UNKNOWN}
    assert verdicts(tmp_path, same, same, third) == {Verdict.UNKNOWN}
    assert verdicts(tmp_path, same, same, third, followed=0.3) == {Verdict.PASS}
    last, earlier = last_of(tmp_path, same, same, third)
    said = last.asked("person", *earlier).detail
    assert "only 33.3% of the people of the period before are in the candidate (at least 100.0%" in said


def test_shares_are_of_the_people_before() -> None:
    releases = [PersonHashes("f", tuple(names)) for names in ("abcd", "ab", "ab", "", "x")]
    assert shares_followed(releases) == [0.5, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("releases", "said"),
    [
        (("abcdefghij",), ""),
        (("abcdefghij", "abcdefghix"), ""),
        (("abcdefghij", "abcdefghxy"), "only 80% of the people of the last release are in it: the others"),
        (("abcd", "abxy", "abyz"), ""),
        (
            ("abcd", "abcx", "abyz"),
            "only 50% of the people of the last release are in it (75% at least before)",
        ),
    ],
)
def test_fewer_people_than_before_are_told(releases: tuple[str, ...], said: str) -> None:
    *earlier, own = [PersonHashes("f", tuple(names)) for names in releases]
    assert few_followed(own, earlier).startswith(said)
    assert bool(few_followed(own, [None, *earlier])) == bool(said)


def test_somebody_with_two_forms_of_a_key_counts_twice() -> None:
    assert known_twice(people(["00417", "417", "a-1", "A 1", "b"])) == 2
    assert known_twice(people(["1-11", "11-1", "00417"])) == 0
