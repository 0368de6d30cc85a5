"""Small tables and policies, published as the flow publishes them, and the slow judge beside them."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from hypothesis import strategies as st

from policy.load import parse_policy
from policy.model import AttributePrivacy, Privacy, ReleasePolicy
from release_store.records import EquivalenceClasses
from release_store.summary import Repair
from tasks.composition import groups_of as made_groups
from tasks.composition import leaves_of, merged_beside_one_another
from tasks.methods.registry import bound_method
from tasks.partitioning.constraints import Constraints, SensitiveColumn
from tasks.preprocessing.prepare import prepare
from tasks.risk.evidence import Evidence
from tasks.risk.published import read_classes
from tasks.staging.stage import stage
from tasks.types import Candidate, IntArray, Partition, PreparedTable, Recoded, SourceTable, no_progress

judge = importlib.import_module("tests.reference.judge")

AGE_AND_CITY = {"age": {"type": "integer", "bounds": [0, 120]}, "city": {"type": "categorical"}}
ILLNESS = {"illness": {"stability": "stable"}}
Rows = Sequence[tuple[Any, ...]]


def policy_text(
    quasi_identifiers: dict[str, Any] | None = None,
    sensitive: dict[str, Any] | None = None,
    **sections: Any,
) -> str:
    """A policy of age, city and illness, k = 2 and no other condition, unless told otherwise."""
    roles = {
        "quasi_identifiers": quasi_identifiers or AGE_AND_CITY,
        "sensitive": sensitive or ILLNESS,
        **sections.pop("roles", {}),
    }
    privacy = {"k": 2, "e": 1, "p_max": 1.0, **sections.pop("privacy", {})}
    if "key" not in roles:  # or every second release would be held back
        gates = sections.get("gates", {})
        sections["gates"] = {**gates, "worlds": {"unfollowed": "accept", **gates.get("worlds", {})}}
    document = {
        "series": "small",
        "roles": roles,
        "privacy": privacy,
        "method": {"name": "mondrian"},
        "linkage": {"ext_frac": [0.5, 1.0], "seeds": 2},
        **sections,
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def policy_of(text: str) -> ReleasePolicy:
    return parse_policy(text, Path("policy.yaml"))


def counts_of(groups: Partition) -> Repair:
    """Return what the repair of groups counted."""
    assert groups.repair is not None
    return groups.repair


def small_policy(*args: Any, **kwargs: Any) -> ReleasePolicy:
    return policy_of(policy_text(*args, **kwargs))


def source_of(policy: ReleasePolicy, rows: Rows) -> SourceTable:
    """The table of `rows`, whose columns are those of the policy's roles in their order; None is missing."""
    names = list(policy.roles.columns())
    numbers = {*policy.roles.numeric, *(n for n, s in policy.roles.sensitive.items() if s.type == "numeric")}
    frame = pd.DataFrame(
        {
            name: pd.Series(
                [row[i] for row in rows], dtype=np.float64 if name in numbers else object, name=name
            )
            for i, name in enumerate(names)
        }
    )
    return SourceTable(frame, "0" * 64, "small.csv")


def prepared(policy: ReleasePolicy, rows: Rows) -> PreparedTable:
    return prepare(source_of(policy, rows), policy)


def anonymized(table: PreparedTable, policy: ReleasePolicy) -> Partition:
    """What the policy's method makes of the table, before any repair."""
    method = bound_method(policy)
    representation = method.represent(table, no_progress)
    leaves = leaves_of(table, representation, method, policy, no_progress)
    groups = made_groups(table, representation, leaves, method, policy, no_progress)
    return merged_beside_one_another(table, groups, method, policy, no_progress)


@dataclass(frozen=True)
class Published:
    """A staged table, and what anybody reads from it."""

    policy: ReleasePolicy
    table: PreparedTable
    candidate: Candidate
    classes: EquivalenceClasses
    rows: Recoded

    def evidence(self, *earlier: Published) -> Evidence:
        named = [(f"release-{number}", each.classes) for number, each in enumerate(earlier, 1)]
        return Evidence(
            self.policy,
            self.table,
            self.classes,
            self.candidate.folder,
            self.candidate.files,
            named,
            row_records=self.rows.records,
        )

    @property
    def csv(self) -> Path:
        return self.candidate.folder / "data.csv"


def published(
    policy: ReleasePolicy, table: PreparedTable, partition: Partition | Sequence[int], folder: Path
) -> Published:
    """Stage the partition of a table into a new folder and read its classes back."""
    if not isinstance(partition, Partition):
        partition = Partition(np.array(partition, dtype=np.int64))
    method = bound_method(policy)
    representation = method.represent(table, no_progress)
    rows = method.recode(table, representation, partition.labels, policy, method.seed)
    candidate = stage(rows, policy, candidate_id="c1", period="2026", folder=folder, n_source=table.n_records)
    return Published(policy, table, candidate, read_classes(folder / "data.parquet", policy), rows)


def write_source(path: Path, policy: ReleasePolicy, rows: Rows) -> Path:
    """Write the rows as the CSV file that they could have been read from."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(list(policy.roles.columns()))
        writer.writerows([["" if value is None else value for value in row] for row in rows])
    return path


def limits_of(
    *columns: Sequence[int], k: int = 2, e: float = 1, p_max: float = 1.0, h_min: float = 0.0
) -> Constraints:
    """A model on categorical sensitive attributes, given as codes."""
    made = tuple(SensitiveColumn(np.array(c, dtype=np.int64), max(c) + 1) for c in columns)
    return Constraints(k, p_max, h_min, e, made)


def groups_of(labels: IntArray) -> list[list[int]]:
    """The records of each label, by their first record."""
    found = [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]
    return sorted(found)


# Random tables: few different values, so that there are ties, constants and records alike.

WORDS = ("a", "b", "a|b", "\\", "a\\|", '"', "é,ß", "*", "c\nd", " ", "NULL", "missing?")

MIXED = {
    "age": {"type": "integer", "bounds": [0, 100], "weight": 2},
    "income": {"type": "numeric", "bounds": [-10, 10], "moves": [-0.5, 1]},
    "city": {"type": "categorical", "weight": 0.5},
    "job": {"type": "categorical", "may_change": True},
}
TWO_SENSITIVE = {
    "illness": {"stability": "stable"},
    "wage": {"stability": "transient", "type": "numeric"},
}


def mixed_rows(n_min: int = 1, n_max: int = 24, *, missing: bool = True) -> st.SearchStrategy[list[Any]]:
    """Rows for `MIXED` and `TWO_SENSITIVE`; the first row has both numbers."""

    def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(strategy, strategy, strategy, st.none()) if missing else strategy

    def rows(words: tuple[str, ...], age: int, half: int) -> st.SearchStrategy[list[Any]]:
        row = st.tuples(
            maybe(st.integers(0, age)),
            maybe(st.integers(-half, half).map(lambda i: i / 2)),
            maybe(st.sampled_from(words)),
            maybe(st.sampled_from(words[:3])),
            maybe(st.sampled_from(("flu", "hiv", "cough", "|*")[: len(words)])),
            maybe(st.integers(1, 3).map(lambda i: i * 10.5)),
        )
        return st.lists(row, min_size=n_min, max_size=n_max).map(
            lambda made: [
                (0 if made[0][0] is None else made[0][0], made[0][1] or 0.0, *made[0][2:]),
                *made[1:],
            ]
        )

    subset: Callable[..., Any] = st.sets
    words = subset(st.sampled_from(WORDS), min_size=1, max_size=5).map(lambda s: tuple(sorted(s)))
    return st.tuples(words, st.integers(0, 8), st.integers(0, 6)).flatmap(lambda drawn: rows(*drawn))


OWN_LIMITS = {
    "illness": AttributePrivacy(e=2, p_max=0.75, h_min=0.2),
    "wage": AttributePrivacy(e=10.5, p_max=1.0, h_min=0.0),
}


def privacies() -> st.SearchStrategy[Privacy]:
    return st.builds(
        Privacy,
        k=st.integers(2, 4),
        e=st.sampled_from([1, 2, 3]),
        p_max=st.sampled_from([0.4, 0.5, 0.75, 1.0]),
        h_min=st.sampled_from([0.0, 0.3, 0.6]),
        l=st.integers(2, 3),
        attributes=st.sampled_from([{}, {}, OWN_LIMITS]),
    )
