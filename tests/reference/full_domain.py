"""Full-domain generalization by trying every node of the lattice of levels, record by record."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from policy.categorical import CategoricalQuasiIdentifier
from policy.hierarchy import Hierarchy
from policy.model import ReleasePolicy
from policy.roles import NumericQuasiIdentifier
from tasks.partitioning.constraints import constraints_of
from tasks.types import PreparedTable

QuasiIdentifier = NumericQuasiIdentifier | CategoricalQuasiIdentifier


@dataclass(frozen=True)
class Node:
    """The levels by name, the records of each class that holds, how many are left out, and the NCP."""

    levels: dict[str, int]
    classes: list[list[int]]
    n_suppressed: int
    ncp: float


def nodes(table: PreparedTable, policy: ReleasePolicy) -> Iterator[Node]:
    """Give every node of the lattice that leaves a class; numbers must have widths."""
    limits = constraints_of(table, policy)
    names = [*table.numeric_names, *table.categorical_names]
    qis = policy.roles.quasi_identifiers
    for levels in product(*(range(_height(qis[name]) + 1) for name in names)):
        groups = defaultdict(list)
        cost = [0.0] * table.n_records
        for record in range(table.n_records):
            cells = []
            for name, level in zip(names, levels, strict=True):
                cell, penalty = _node(table, name, qis[name], level, record)
                cells.append(cell)
                cost[record] += penalty * qis[name].weight / sum(qis[one].weight for one in names)
            groups[tuple(cells)].append(record)
        classes = [each for each in groups.values() if limits.group_holds(np.array(each))]
        shown = sorted(record for each in classes for record in each)
        while True:  # some models compare with what is published
            beside = limits.among(np.array(shown, dtype=np.int64)) if shown else limits
            left = [each for each in classes if beside.group_holds(np.array(each))]
            if len(left) == len(classes):
                break
            classes, shown = left, sorted(record for each in left for record in each)
        classes.sort()
        if shown:
            ncp = math.fsum(cost[record] for record in shown) / len(shown)
            found = dict(zip(names, levels, strict=True))
            yield Node(found, classes, table.n_records - len(shown), ncp)


def _height(qi: QuasiIdentifier) -> int:
    if isinstance(qi, NumericQuasiIdentifier):
        return len(qi.widths) + 1
    return 1 if qi.tree is None else max(len(path) for path in qi.tree.paths) - 1


def _node(table: PreparedTable, name: str, qi: QuasiIdentifier, level: int, record: int) -> tuple[Any, float]:
    """Return the cell of a record at a level, and its penalty."""
    if isinstance(qi, NumericQuasiIdentifier):
        values = table.numeric[:, table.numeric_names.index(name)]
        value, span = float(values[record]), float(np.nanmax(values) - np.nanmin(values))
        cell = _interval(value, qi, level)
        ends = qi.bounds if cell in ("whole", "missing") else cell
        return cell, min((ends[1] - ends[0]) / span, 1) if span else 0
    domain = table.domains[name]
    value = domain[table.codes[record, table.categorical_names.index(name)]]
    if level == _height(qi):
        return "whole", float(len(domain) > 1)
    leaves = _leaves(value, qi.tree, level)
    return leaves, 0 if len(leaves) == 1 else min(len(leaves) / len(domain), 1)


def _interval(value: float, qi: NumericQuasiIdentifier, level: int) -> Any:
    if level == _height(qi):
        return "whole"
    if math.isnan(value):
        return "missing"
    if level == 0:
        return (value, value)
    width, least = qi.widths[level - 1], qi.bounds[0]
    first = least + math.floor((value - least) / width) * width
    return first, min(first + width - (qi.type == "integer"), qi.bounds[1])


def _leaves(value: str, hierarchy: Hierarchy | None, level: int) -> tuple[str, ...]:
    paths = [] if hierarchy is None else [path for path in hierarchy.paths if path[0] == value]
    if not level or not paths or hierarchy is None:
        return (value,)
    above = paths[0][level:]
    return tuple(path[0] for path in hierarchy.paths if path[level:] == above)
