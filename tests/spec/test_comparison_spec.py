"""What the comparison with earlier releases lets through, as published tables.

Each table is written as it is published: one line an equivalence class, its cells, then the sensitive values
of its records. A release may be compared with one that publishes other quasi-identifiers.

Source of tables 7, 9, 10 and 11: "Privacy Threats and Privacy Preservation in Multiple Data Releases of
High-Dimensional Datasets", Computers 2025, 14(9), 358, doi:10.3390/computers14090358.
Their zip codes `6063*` cover 60632, 60635, 60636 and 60639, and are written so.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from policy.load import parse_policy
from release_store.records import EquivalenceClasses, SetCells
from tasks.geometry.space import Points, boxes_of, space_of
from tasks.history.intersection import allowed_values, history_of, pairwise, whole_history
from tasks.history.required import Required

TABLE_7 = """
position   | gender | salary
Accounting | *      | 10000 13000
Programmer | Male   | 14000 15000
Lecturer   | Female | 16000 17000 18000
"""

TABLE_9 = """
gender | zip                     | salary
Male   | 60632 60635 60636 60639 | 10000 14000 15000
Female | 60632                   | 13000 16000 17000 18000
"""

TABLE_10 = """
gender | zip                     | salary
*      | 60632 60635 60636 60639 | 10000 13000
Male   | 60632 60635 60636 60639 | 14000 15000
Female | 60632                   | 16000 17000 18000
"""

TABLE_11 = """
gender | zip                     | salary
*      | 60632 60635 60636 60639 | 10000 14000 15000 13000
Female | 60632                   | 16000 17000 18000
"""

PEOPLE = """
position   | gender | zip
Accounting | Male   | 60636
Accounting | Female | 60632
Programmer | Male   | 60635
Programmer | Male   | 60639
Lecturer   | Female | 60632
"""

ABC, ABD, ACD, AB, AC, ABCD, DE, A = (
    f"city | illness\nHull | {' '.join(values)}"
    for values in ("abc", "abd", "acd", "ab", "ac", "abcd", "de", "a")
)
ANYBODY = "city\nHull"

COMPARED = {
    "tables 7 and 9 show the male accountant's salary": (TABLE_9, [TABLE_7], 2, "fail"),
    "table 10 keeps two salaries for everybody": (TABLE_10, [TABLE_7], 2, "pass"),
    "so does table 11": (TABLE_11, [TABLE_7], 2, "pass"),
    "the order of the two releases makes no difference": (TABLE_7, [TABLE_9], 2, "fail"),
    "a table released twice shows nothing new": (TABLE_7, [TABLE_7], 2, "pass"),
    "but it has to hold l values": (TABLE_7, [TABLE_7], 3, "fail"),
    "nobody is in both where no value is": (DE, [ABC], 2, "pass"),
    "one value in common": (AB, [AC], 2, "fail"),
    "a smaller class inside a larger one": (AB, [ABCD], 2, "pass"),
    "neighbours share two values, first and third only one": (AC, [AB, ABC], 2, "fail"),
}


@pytest.mark.parametrize(("candidate", "earlier", "l_least", "verdict"), COMPARED.values(), ids=COMPARED)
def test_pairs_of_classes(candidate: str, earlier: list[str], l_least: int, verdict: str) -> None:
    assert pairwise_verdict(candidate, earlier, l_least) == verdict


TOGETHER = {
    "each pair shares two values, all three releases one": (ACD, [ABC, ABD], "pass", "fail"),
    "in whatever order the earlier two appeared": (
        ACD,
        [ABD, ABC],
        "pass",
        "fail",
    ),
    "two of the earlier releases are enough to narrow": (ABCD, [AB, AC], "pass", "fail"),
    "the same release many times narrows nothing": (ABC, [ABC, ABC, ABC], "pass", "pass"),
    "an earlier release that nobody can be in is passed over": (ABC, [DE, ABC], "pass", "pass"),
    "a single value was published before": (ABC, [A], "fail", "fail"),
}


@pytest.mark.parametrize(("candidate", "earlier", "pairs", "together"), TOGETHER.values(), ids=TOGETHER)
def test_the_whole_history(candidate: str, earlier: list[str], pairs: str, together: str) -> None:
    assert pairwise_verdict(candidate, earlier, 2) == pairs
    assert whole_history_verdict(candidate, earlier, ANYBODY, 2) == together


PERSON_BY_PERSON = {
    "the male accountant, whose position the reader of table 9 may not know": (TABLE_9, [TABLE_7], "pass"),
    "table 10": (TABLE_10, [TABLE_7], "pass"),
    "table 11": (TABLE_11, [TABLE_7], "pass"),
}


@pytest.mark.parametrize(("candidate", "earlier", "verdict"), PERSON_BY_PERSON.values(), ids=PERSON_BY_PERSON)
def test_people_of_the_candidate(candidate: str, earlier: list[str], verdict: str) -> None:
    # What the candidate's source does not hold, the position, may have any value.
    zips_only = "\n".join(line.split(" | ", 1)[1] for line in PEOPLE.strip().splitlines())
    assert whole_history_verdict(candidate, earlier, zips_only, 2) == verdict


def test_a_reader_who_knows_positions_pins_the_accountant_down() -> None:
    assert whole_history_verdict(TABLE_9, [TABLE_7], PEOPLE, 2) == "fail"
    assert whole_history_verdict(TABLE_10, [TABLE_7], PEOPLE, 2) == "pass"


# How the tables are read

NO_MOVES = parse_policy(
    """
series: salaries
roles:
  quasi_identifiers: {zip: {type: categorical}}
  sensitive: {salary: {stability: stable}}
""",
    Path("policy.yaml"),
)


def read(table: str) -> tuple[list[str], list[list[str]]]:
    lines = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    return lines[0], lines[1:]


def classes(table: str) -> EquivalenceClasses:
    names, rows = read(table)
    sets = {}
    for column, name in enumerate(names[:-1]):
        cells = [row[column].split() for row in rows]
        domain = tuple(sorted({value for cell in cells for value in cell if value != "*"})) or ("any",)
        member = np.array([[cell == ["*"] or value in cell for value in domain] for cell in cells])
        sets[name] = SetCells(domain, member, np.array([cell == ["*"] for cell in cells]))
    held = [row[-1].split() for row in rows]
    values = tuple(sorted({value for each in held for value in each}))
    counts = np.array([[each.count(value) for value in values] for each in held], dtype=np.int64)
    return EquivalenceClasses(counts.sum(axis=1), {}, sets, {names[-1]: values}, {names[-1]: counts})


def compared(
    candidate: str, earlier: list[str]
) -> tuple[EquivalenceClasses, list[tuple[str, EquivalenceClasses]]]:
    return classes(candidate), [(str(number), classes(table)) for number, table in enumerate(earlier)]


def pairwise_verdict(candidate: str, earlier: list[str], l_least: int) -> str:
    now, before = compared(candidate, earlier)
    space = space_of([now, *(c for _, c in before)])
    history = history_of(before, space, NO_MOVES)
    assert history is not None
    (found,) = pairwise(boxes_of(now, space), history, space, dict.fromkeys(now.counts, Required(l_least)))
    return "fail" if found.failing.any() else "pass"


def whole_history_verdict(candidate: str, earlier: list[str], people: str, l_least: int) -> str:
    now, before = compared(candidate, earlier)
    space = space_of([now, *(c for _, c in before)])
    history = history_of(before, space, NO_MOVES)
    assert history is not None
    points = points_in(people, space.domains)
    (attribute,) = now.counts
    allowed = allowed_values(points, history, [0])
    (found,) = whole_history(boxes_of(now, space), points, allowed, space, {attribute: Required(l_least)})
    return "fail" if found.failing.any() else "pass"


def points_in(people: str, domains: dict[str, tuple[str, ...]]) -> Points:
    names, rows = read(people)
    codes = np.full((len(rows), len(domains)), -1, dtype=np.int32)
    for column, (name, domain) in enumerate(domains.items()):
        if name in names:
            codes[:, column] = [domain.index(row[names.index(name)]) for row in rows]
    return Points(np.zeros((len(rows), 0)), codes, np.arange(len(rows)))
