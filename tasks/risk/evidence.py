"""What the gates look at: the classes read from the staged rows, the source, and every earlier release."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from policy.model import ReleasePolicy
from policy.recoding import Form
from release_store.records import EquivalenceClasses, PersonHashes
from release_store.sealed import sealed_file
from tasks.geometry.space import Boxes, Points, Space, boxes_of, has_cells_of, points_of, space_of
from tasks.history.differencing import ReleaseGeometry, side_of
from tasks.history.intersection import (
    Allowed,
    Comparison,
    History,
    allowed_values,
    compared_attributes,
    history_of,
    whole_history,
)
from tasks.history.persons import all_followed, joinable
from tasks.history.required import Required, required_of
from tasks.history.selection import SAME_PERIOD, SelectedHistory, by_leaves, select_history
from tasks.history.subjects import Subjects
from tasks.history.worlds import Possible
from tasks.preprocessing.reduction import all_rows, rows_of_records
from tasks.privacy.similar import groups_by_attribute, together
from tasks.recoding.draws import seed_of
from tasks.risk.attacks.attack import Attack, attack
from tasks.risk.attacks.attackers import Knowledge, People, people_of
from tasks.risk.attacks.disclosure import Fitting, fitting
from tasks.risk.attacks.external import External, erroneous, from_source, hold_out
from tasks.risk.attacks.linkage import Links, draws, link_people
from tasks.risk.attacks.target import Target
from tasks.risk.published import people_counted, read_rows, units_of_values
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable
from tasks.utility.loss import loss_by_attribute


class CannotTell(Exception):
    """Why a gate cannot tell what it is asked: names, counts and sizes only."""


class NotAtHand(CannotTell):
    """What a gate needs, and that is not at hand; another run may have it."""


@dataclass(frozen=True)
class LeftByPerson:
    """How many values each of n people is left with, (n,), by so many earlier `releases`."""

    left: IntArray
    releases: int


@dataclass(frozen=True)
class Evidence:
    """One candidate's published classes beside its source and its history.

    `files` are the staged files with the digests that they must have; `earlier` the classes of the
    earlier releases, oldest first; `apart` how many periods each lies before the candidate (`history_of`).
    A run always has the `table`; a review of what was published long ago may have only `recorded_rows`. The
    table may have distinct records alone: whoever looks at rows takes the `source`.
    `row_people` (m,) are the people of the published rows in the file's order, where one may have several;
    `row_households` (m,) are their households, where the policy counts these.
    `row_records` (m,) are the source's records of those rows, which a run knows; if the table has distinct
    records alone, they are those of the different rows, (d,).
    `control` are people who are not in the source, where the policy names a file of them. `people` are those
    of the candidate and `earlier_people` those of the earlier releases, where hashes are kept; `key` is
    that of people, under which their values are sealed.
    """

    policy: ReleasePolicy
    table: PreparedTable | None
    classes: EquivalenceClasses
    folder: Path
    files: dict[str, str]
    earlier: Sequence[tuple[str, EquivalenceClasses]]
    apart: Sequence[tuple[int, int]] | None = None
    recorded_rows: int | None = None
    control: PreparedTable | None = None
    people: PersonHashes | None = None
    earlier_people: Sequence[PersonHashes | None] = ()
    row_people: IntArray | None = None
    row_households: IntArray | None = None
    row_records: IntArray | None = None
    key: bytes | None = field(default=None, repr=False)

    @cached_property
    def source(self) -> PreparedTable:
        """The source, row by row. Raises ValueError where it is not at hand."""
        return all_rows(self.at_hand)

    @property
    def at_hand(self) -> PreparedTable:
        """The source's rows, or its distinct records alone. Raises ValueError where it is not at hand."""
        if self.table is None:
            raise ValueError("the source is missing")
        return self.table

    @property
    def n_source(self) -> int:
        """How many rows the source has, as was recorded where it is not at hand."""
        if self.table is None and self.recorded_rows is not None:
            return self.recorded_rows
        return self.at_hand.n_rows

    @property
    def published_rows(self) -> IntArray | None:
        """The rows of the source that are published, (m,), in the file's order; None: not known."""
        if self.row_records is None or self.table is None or self.table.rows is None:
            return self.row_records
        return rows_of_records(self.table.rows, self.row_records)

    @property
    def n_published(self) -> int:
        """How many rows would be public."""
        return int(self.classes.size.sum())

    @cached_property
    def counted(self) -> EquivalenceClasses:
        """The classes with the people in them: `classes`, where each row is another person's.

        Raises NotAtHand where a person may have several rows and whose they are is not known.
        """
        return self._people({})

    @cached_property
    def units(self) -> EquivalenceClasses:
        """The classes as the privacy model counts: the households in them, else the people.

        Raises NotAtHand where it is not known whose the rows are.
        """
        return self._units({})

    @cached_property
    def units_alike(self) -> EquivalenceClasses:
        """The same, with similar sensitive values as one; `sensitive_values` has one of each group.

        Raises NotAtHand as `units` does.
        """
        values, groups = self.classes.sensitive_values, self._groups
        if not groups:
            return self.units
        found = self._units(groups)
        firsts = {name: np.unique(of, return_index=True)[1] for name, of in groups.items()}
        names = {name: tuple(values[name][i] for i in first) for name, first in firsts.items()}
        return replace(found, sensitive_values={**values, **names})

    @cached_property
    def overall(self) -> dict[str, IntArray]:
        """How many units of all published rows have each value of a sensitive attribute, (n_values,).

        One that is in several classes counts once. Raises NotAtHand as `units` does.
        """
        units = self.units
        whose = self.row_people if self.policy.roles.household is None else self.row_households
        if self.policy.rows == "one_per_person" and self.policy.roles.household is None:
            return {name: counts.sum(axis=0) for name, counts in units.counts.items()}
        if whose is None:
            raise NotAtHand("only the run that made the rows knows whose they are: run the period again")
        with self.sealed_data() as file:
            return units_of_values(file, self.policy, self.classes, whose)

    @cached_property
    def _groups(self) -> dict[str, IntArray]:
        """The groups of similar values of each attribute that has any, (n_values,)."""
        values = self.classes.sensitive_values
        return groups_by_attribute(self.policy.roles, values, self.policy.source.missing_label)

    def _units(self, groups: dict[str, IntArray]) -> EquivalenceClasses:
        if self.policy.roles.household is None:
            return self._people(groups) if groups else self.counted
        if self.row_households is None:
            raise NotAtHand("only the run that made the rows knows their households: run the period again")
        with self.sealed_data() as file:
            return people_counted(file, self.policy, self.classes, self.row_households, groups)

    def _people(self, groups: dict[str, IntArray]) -> EquivalenceClasses:
        if self.policy.rows == "one_per_person":
            counts = self.classes.counts
            as_one = {name: together(counts[name], of) for name, of in groups.items()}
            return replace(self.classes, counts={**counts, **as_one}) if groups else self.classes
        if self.row_people is None:
            raise NotAtHand("only the run that made the rows knows whose they are: run the period again")
        with self.sealed_data() as file:
            return people_counted(file, self.policy, self.classes, self.row_people, groups)

    def sealed_data(self) -> AbstractContextManager[Path]:
        """Open a copy of the staged rows that nobody can alter, checked by their digest."""
        return sealed_file(self.folder / "data.parquet", self.files.get("data.parquet"))

    @cached_property
    def everybody(self) -> Fitting:
        """What an attacker who knows all quasi-identifiers finds of each source record."""
        people = self.target.source
        everything = Knowledge(tuple(range(people.numbers.shape[1])), tuple(range(people.codes.shape[1])))
        return fitting(self.target, people, people, everything)

    @cached_property
    def links(self) -> Links:
        """The classes that such an attacker finds."""
        if self._needs_everybody:
            return self.everybody.links
        if self.distinct.rows is None:
            return self.distinct_links
        return self.distinct_links.take(self.record_of(np.arange(self.n_source)))

    @property
    def distinct(self) -> PreparedTable:
        """The source's distinct records where they are much fewer than its rows, else all."""
        return self.at_hand if self.at_hand.reduction is None else self.at_hand.reduction.table

    def record_of(self, rows: IntArray) -> IntArray:
        """Return which of the distinct records some rows of the source are, in the shape of `rows`."""
        table = self.at_hand
        if table.reduction is not None:
            return table.reduction.of_row[rows].astype(np.int64)
        return rows if table.rows is None else np.searchsorted(np.cumsum(table.rows), rows, side="right")

    @cached_property
    def distinct_links(self) -> Links:
        """The classes that an attacker who knows all quasi-identifiers finds of those records."""
        if self.distinct.rows is None and self._needs_everybody:
            return self.everybody.links
        target = self.target_at_hand if self.distinct is self.at_hand else self._target_of(self.distinct)
        people, units = target.source, target.units(None)
        return link_people(people.numbers, people.codes, units.cells, units.size)

    @property
    def _needs_everybody(self) -> bool:
        gates = self.policy.gates
        return bool(gates.sadr or gates.sadr_excess or gates.pr_dr or gates.pr_dr_excess)

    def tables(self, ext_frac: float) -> list[IntArray]:
        """The attacker's tables with this share of the source."""
        return draws(self.n_source, ext_frac, self.policy.linkage.seeds)

    @cached_property
    def selected_history(self) -> SelectedHistory:
        """The earlier releases that the policy's population compares, read by today's hierarchies."""
        return select_history(self.earlier, self.policy, self.apart)

    @cached_property
    def reused(self) -> BoolArray:
        """Which classes may have cells that were used again, whose values need be nobody's, (n_classes,)."""
        found = np.zeros(self.classes.n_classes, dtype=bool)
        if self.policy.method.reuse is not None:
            for _, earlier in self.earlier:
                found |= has_cells_of(self.classes, by_leaves(earlier, self.policy))
        return found

    @cached_property
    def target(self) -> Target:
        """The release as attackers see it, and the source's people beside it."""
        return self._target_of(self.source)

    @cached_property
    def target_at_hand(self) -> Target:
        """The same beside the source as it is at hand: its people may stand for several rows each."""
        return self.target if self.at_hand.rows is None else self._target_of(self.at_hand)

    def _target_of(self, table: PreparedTable) -> Target:
        space = space_of([self.classes], self.at_hand, self.control)
        people = people_of(table, space, self.classes, self.policy)
        noised = list(self.policy.cell_columns(Form.NOISED))
        alike = self._people(self._groups) if self._groups else None
        return Target(self.counted, space, people, self._rows, noised, self._groups, alike)

    @cached_property
    def noised_numbers(self) -> dict[str, tuple[FloatArray, IntArray]]:
        """The published numbers of each noised quasi-identifier, and how many rows have each."""
        names = list(self.policy.cell_columns(Form.NOISED))
        if not names:
            return {}
        frame = self._rows()
        rows = frame["rows"].to_numpy(dtype=np.int64)
        return {name: (frame[f"noised_{i}"].to_numpy(), rows) for i, name in enumerate(names)}

    def _rows(self) -> pd.DataFrame:
        person = None if self.policy.rows == "one_per_person" else self.row_people
        with self.sealed_data() as file:
            rows, values = read_rows(file, self.policy, person)
        if values != self.classes.sensitive_values:
            raise ValueError("the staged file changed after its classes were read")
        return rows

    @cached_property
    def control_group(self) -> People | None:
        """The people who are not in the source, or None where the policy names no file of them."""
        if self.control is None:
            return None
        return people_of(self.control, self.target_at_hand.space, self.classes, self.policy)

    @cached_property
    def external(self) -> list[External]:
        """Every kind of attacker's table that linkage is measured on."""
        linkage = self.policy.linkage
        tables = {f: self.tables(f) for f in linkage.ext_frac}
        records = {f: [self.record_of(rows) for rows in drawn] for f, drawn in tables.items()}
        found = [from_source(self.distinct_links, records)]
        if linkage.errors:
            found.append(erroneous(self.target_at_hand, tables, linkage.errors, self.policy.privacy.k))
        if self.control_group is not None:
            found.append(hold_out(self.target_at_hand, self.control_group, linkage.ext_frac, linkage.seeds))
        return found

    @cached_property
    def attacked(self) -> list[IntArray]:
        """The people attacked, by draw: rows of the source, the largest share of it.

        How often a guess is right of them is published, so nobody without the store's key can tell who they
        are. Where no key is at hand, nothing is published, and seeds 0, 1, ... draw them.
        """
        linkage, source = self.policy.linkage, self.source
        secret = seed_of(source, "people attacked") if source.draw_key else None
        return draws(source.n_records, max(linkage.ext_frac), linkage.seeds, secret)

    @cached_property
    def _attacks(self) -> dict[str, Attack]:
        return {}

    def attack(self, attacker: str) -> Attack:
        """What one attacker gets of the people drawn with the largest share of the source."""
        if attacker not in self._attacks:
            tables = self.attacked
            errors = self.policy.linkage.errors
            self._attacks[attacker] = attack(
                self.target,
                attacker,
                tables,
                errors=errors,
                control=self.control_group,
                everybody=self.everybody,
            )
        return self._attacks[attacker]

    @cached_property
    def space(self) -> Space:
        """The space of all releases, and of the source where it is at hand."""
        return space_of(
            [self.classes, *(classes for _, classes in self.selected_history.earlier)], self.table
        )

    @cached_property
    def boxes(self) -> Boxes:
        """The candidate's classes in that space."""
        return boxes_of(self.classes, self.space)

    @cached_property
    def points(self) -> Points:
        """The source's people in that space."""
        return points_of(self.source, self.space)

    @cached_property
    def history(self) -> History | None:
        """The compared releases in that space, or None where there is none."""
        return history_of(self.selected_history.earlier, self.space, self.policy, self.selected_history.apart)

    @cached_property
    def people_alone(self) -> bool:
        """Whether the policy compares people alone where all are followed, and all are, in every release."""
        gates, own = self.policy.gates.person, self.people
        asked = self.policy.roles.key is not None and gates.compare and gates.cells == "unfollowed"
        if not asked or gates.without or own is None or self.policy.rows != "one_per_person":
            return False
        if self.key is None or len(own.hashes) != self.n_published:
            return False
        earlier = joinable(own.fingerprint, list(self.earlier_people) or [None] * len(self.earlier))
        return all_followed(own.hashes, earlier, [int(each.size.sum()) for _, each in self.earlier])

    @cached_property
    def sides(self) -> tuple[ReleaseGeometry, ReleaseGeometry]:
        """The candidate and the compared releases, at least one, as checks of nested classes need them."""
        return (
            side_of([("", self.classes)], self.space, self.policy, [SAME_PERIOD]),
            side_of(self.selected_history.earlier, self.space, self.policy, self.selected_history.apart),
        )

    @property
    def compared(self) -> list[str]:
        """The sensitive attributes that are compared."""
        return compared_attributes(self.policy)

    @cached_property
    def required(self) -> dict[str, Required]:
        """How many values of each compared attribute have to be left, and which count as one."""
        return required_of(self.policy, self.space, self.compared)

    def allowed(self, history: History) -> Allowed:
        """What each earlier release allows each person."""
        names = list(self.space.sensitive)
        return allowed_values(self.points, history, [names.index(name) for name in self.compared])

    @cached_property
    def together(self) -> list[Comparison]:
        """Each person's classes over all compared releases together; [] where there are none."""
        history = self.history
        if history is None:
            return []
        return whole_history(self.boxes, self.points, self.allowed(history), self.space, self.required)

    @cached_property
    def losses(self) -> dict[str, float]:
        """What each published quasi-identifier lost, beside the source."""
        rows_matter = self.classes.replaced or self.noised_numbers
        table = self.source if rows_matter else self.distinct
        return loss_by_attribute(self.classes, table, self.policy, self.noised_numbers)

    @cached_property
    def left_by_person(self) -> dict[str, LeftByPerson]:
        """What the gate `person` measured, by attribute: empty where it was not asked, or could not tell."""
        return {}

    @cached_property
    def solved(self) -> dict[Literal["all"], tuple[Subjects, Possible]]:
        """The subjects of all releases, and what `worlds` found possible; empty where it was not asked."""
        return {}

    @cached_property
    def left_by_worlds(self) -> dict[str, LeftByPerson]:
        """What the gate `worlds` showed to be possible for this release's people, by stable attribute.

        Empty where the gate was not asked, or did not pass.
        """
        return {}
