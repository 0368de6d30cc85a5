"""What an exact attacker reads of a series: published files, who is in which class, and one world that fits.

Classes and rows are read from the published Parquet files, people from the kept hashes. The world is the
true one, from the values that the store keeps sealed; whoever has no key has none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from policy.load import policy_from_document
from policy.model import ReleasePolicy
from release_store.person_key import person_key
from release_store.person_values import open_values
from release_store.publishing.public_files import kept_folder
from release_store.records import PersonHashes
from release_store.store import ReleaseStore

Rows = tuple[str, ...]
Cohort = tuple[int, ...]  # the class in each release, or -1
Class = tuple[int, int]  # the release and the number in it


@dataclass(frozen=True)
class Published:
    """One release: the rows' sensitive values by class, and the class of each person.

    `values` are what each person has, where that is known. Numbers of an attribute at most its width apart
    count as one, where the policy gives one: `widths`, 0 for none. The last `n_kept` values of a row are
    those of kept columns, of which nobody has to keep several.
    """

    name: str
    rows: dict[int, list[Rows]]
    people: dict[str, int]
    values: dict[str, Rows] | None = None
    widths: tuple[float, ...] = ()
    n_kept: int = 0

    def width(self, attribute: int) -> float:
        """Return the width of an attribute by its place, 0 for none."""
        return self.widths[attribute] if self.widths else 0.0


@dataclass(frozen=True)
class Verdict:
    """After a release: how many people the series has had, are pinned, and are undecided."""

    release: str
    people: int
    pinned: int
    undecided: int

    def __str__(self) -> str:
        share = 100 * self.pinned / max(self.people, 1)
        return (
            f"{self.release}: {self.pinned} of {self.people} people ({share:.1f}%) have a value for certain, "
            f"{self.undecided} undecided"
        )


class NotJudged(ValueError):
    """A series of which the attacker cannot tell who is in which class."""


def stable_attributes(policy: ReleasePolicy) -> list[str]:
    """Return the sensitive attributes whose values an attacker may follow."""
    return [name for name, each in policy.roles.sensitive.items() if each.stability == "stable"]


def published(
    file: Path,
    name: str,
    policy: ReleasePolicy,
    people: PersonHashes | None,
    key: bytes | None = None,
    attributes: Sequence[str] | None = None,
    kept: Sequence[str] = (),
) -> Published:
    """Read a release from its Parquet file and the hashes of its people; with the key, what they have too.

    `attributes` are those that are judged: without them, all stable ones. `kept` are columns by which rows
    differ besides. Raises NotJudged without people.
    """
    stable = stable_attributes(policy) if attributes is None else list(attributes)
    columns_read = [*stable, *kept]
    beside = {*policy.roles.sensitive, *policy.roles.kept}
    with duckdb.connect() as con:
        columns = [
            row[0] for row in con.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(file)]).fetchall()
        ]
        cells = ", ".join(f'"{column}"' for column in columns if column not in beside)
        asked = [
            f"dense_rank() OVER (ORDER BY {cells}) - 1",
            *(f'"{column}"::VARCHAR' for column in columns_read),
        ]
        found = con.execute(f"SELECT {', '.join(asked)} FROM read_parquet(?)", [str(file)]).fetchall()
    rows: dict[int, list[Rows]] = defaultdict(list)
    for number, *row in found:
        rows[number].append(tuple(policy.source.missing_label if cell is None else str(cell) for cell in row))
    if people is None or people.classes is None:
        raise NotJudged(f"{name} keeps no people")
    classes = dict(zip(people.hashes, people.classes, strict=True))
    known = None if key is None or people.values is None else _values(key, people, columns_read)
    if known is not None:
        _fit(rows, classes, known, name)
    widths = tuple(policy.roles.sensitive[one].width for one in stable)
    return Published(name, rows, classes, known, widths, len(kept))


def n_values(values: set[str], width: float) -> int:
    """Return how many values there are, of numbers within the width one; what is no number is near none."""
    numbers, others = [], 0
    for value in values:
        try:
            numbers.append(float(value))
        except ValueError:
            others += 1
    if not width:
        return len(values)
    counted, reach = others, float("-inf")
    for number in sorted(numbers):
        if number > reach:
            counted, reach = counted + 1, number + width
    return counted


def _values(key: bytes, people: PersonHashes, attributes: Sequence[str]) -> dict[str, Rows]:
    opened = open_values(key, people)
    places = [list(opened.texts).index(name) for name in attributes]
    texts = [opened.texts[name] for name in attributes]
    return {
        person: tuple(text[row[place]] for text, place in zip(texts, places, strict=True))
        for person, row in zip(people.hashes, opened.codes.tolist(), strict=True)
    }


def _fit(rows: dict[int, list[Rows]], people: dict[str, int], values: dict[str, Rows], name: str) -> None:
    """Raise ValueError unless each class was published with the values of its people."""
    own: dict[int, Counter[Rows]] = defaultdict(Counter)
    for person, number in people.items():
        own[number][values[person]] += 1
    if any(counted - Counter(rows[number]) for number, counted in own.items()):
        raise ValueError(f"{name}: the kept values are not the published ones")


def series_of(root: Path, series: str) -> tuple[list[Published], list[int]]:
    """Return the releases of a series of a store, oldest first, and how many values each has to leave.

    Those that were withdrawn are among them: whoever copied them has them. The attributes are those that
    every release has, and rows differ by the columns that every release kept and in which nobody's value
    changed. Raises NotJudged where a release keeps no people, or none have an attribute in common.
    """
    store, key = ReleaseStore.open(root), person_key(root)
    made = store.releases(series)
    policies = [
        policy_from_document(store.policy(store.candidate(one.candidate_id).policy_digest)) for one in made
    ]
    stable = [stable_attributes(policy) for policy in policies]
    common = [name for name in stable[-1] if all(name in each for each in stable)]
    if not common:
        raise NotJudged("the releases have no stable attribute in common")

    def read(kept: Sequence[str]) -> list[Published]:
        return [
            published(
                kept_folder(store.root, one) / "data.parquet",
                one.release_id,
                policy,
                store.people(one.candidate_id),
                key,
                common,
                kept,
            )
            for one, policy in zip(made, policies, strict=True)
        ]

    kept = [name for name in policies[-1].roles.kept if all(name in each.roles.kept for each in policies)]
    kept = [name for name in kept if _stays(read([name]))]
    return read(kept), [policy.privacy.l for policy in policies]


def _stays(releases: Sequence[Published]) -> bool:
    """Tell whether everybody's last value is known, and the same in all releases."""
    first: dict[str, str] = {}
    return all(
        first.setdefault(person, row[-1]) == row[-1]
        for release in releases
        for person, row in (release.values or {}).items()
    ) and all(release.values is not None for release in releases)


@dataclass(frozen=True)
class History:
    """Releases by cohorts: people who are in the same class of every release.

    `size` counts the members of each; `counts` the rows of each class, and `inside` its cohorts, as places.
    `world` is what the members have, as far as it is known.
    """

    cohorts: list[Cohort]
    size: list[int]
    counts: dict[Class, Counter[Rows]]
    inside: dict[Class, list[int]]
    world: list[Counter[Rows]] | None
    _rows: dict[int, frozenset[Rows]] = field(default_factory=dict)

    def classes(self, place: int) -> list[Class]:
        """Return the classes that a cohort is in."""
        return [(release, number) for release, number in enumerate(self.cohorts[place]) if number >= 0]

    def rows_of_all(self, place: int) -> frozenset[Rows]:
        """Return the rows that all classes of a cohort have."""
        if place not in self._rows:
            smallest, *others = sorted((self.counts[one] for one in self.classes(place)), key=len)
            self._rows[place] = frozenset(row for row in smallest if all(row in one for one in others))
        return self._rows[place]


def history_of(releases: Sequence[Published]) -> History:
    """Return the cohorts of some releases; who is known to have changed is somebody else from then on."""
    classes: dict[tuple[str, int], list[int]] = defaultdict(lambda: [-1] * len(releases))
    rows: dict[tuple[str, int], Rows] = {}
    last: dict[str, tuple[str, int]] = {}
    for number, release in enumerate(releases):
        for person, place in release.people.items():
            subject = last.get(person, (person, 0))
            if (
                release.values is not None
                and rows.get(subject, release.values[person]) != release.values[person]
            ):
                subject = (person, subject[1] + 1)
            last[person] = subject
            classes[subject][number] = place
            if release.values is not None:
                rows[subject] = release.values[person]
    where = {subject: tuple(own) for subject, own in classes.items()}
    size = Counter(where.values())
    cohorts = sorted(size)
    place_of = {cohort: i for i, cohort in enumerate(cohorts)}
    inside: dict[Class, list[int]] = defaultdict(list)
    for i, cohort in enumerate(cohorts):
        for number, place in enumerate(cohort):
            if place >= 0:
                inside[number, place].append(i)
    counts = {one: Counter(releases[one[0]].rows[one[1]]) for one in inside}
    world: list[Counter[Rows]] | None = None
    if all(release.values is not None for release in releases):
        world = [Counter() for _ in cohorts]
        for subject, row in rows.items():
            world[place_of[where[subject]]][row] += 1
    return History(cohorts, [size[cohort] for cohort in cohorts], counts, dict(inside), world)
