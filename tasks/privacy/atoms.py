"""What somebody may know of one quasi-identifier, cut into atoms: values that just the same classes cover.

A value is *known* if it is the person's true one. It *matches* a class whose cell covers it: an interval
that holds it, a set that names it, or `*`. A published person's true values lie in the cells of the person's
own class, and the published rows do not tell where; so every value that a cell covers is one that somebody
of that class may have. Two values that the same cells cover match the same rows, and are one atom.
"""

from __future__ import annotations

import numpy as np

from policy.model import ReleasePolicy
from policy.roles import NumericQuasiIdentifier
from release_store.records import EquivalenceClasses, SetCells
from tasks.types import BoolArray, FloatArray

LARGEST = 400_000_000  # classes times atoms


class NoAtoms(Exception):
    """Why the cells cannot be cut into atoms: names and counts only."""


def atoms_of(classes: EquivalenceClasses, policy: ReleasePolicy) -> dict[str, BoolArray]:
    """Return for each quasi-identifier which classes cover its atoms, (n_classes, n_atoms).

    Every atom is covered by a class, and no two by the same ones. Raises NoAtoms where a
    quasi-identifier is not published, has too many different cells, or one that no value lies in.
    """
    covers = {}
    for name, qi in policy.roles.quasi_identifiers.items():
        if name not in classes.intervals and name not in classes.sets:
            raise NoAtoms(f"the quasi-identifier '{name}' is not in the published rows")
        if isinstance(qi, NumericQuasiIdentifier):
            found = _of_intervals(classes.intervals[name], name, whole=qi.type == "integer")
        else:
            found = _of_sets(classes.sets[name], qi.allowed)
        if not found.any(axis=1).all():
            raise NoAtoms(f"the quasi-identifier '{name}' has a cell that contains no value")
        covers[name] = _distinct(found)
    return covers


def _of_intervals(cells: FloatArray, name: str, *, whole: bool) -> BoolArray:
    """Cut at every end of a cell: the ends are atoms, and so is what lies between two neighbours."""
    if not np.isfinite(cells).all():
        raise NoAtoms(f"the quasi-identifier '{name}' has a cell that is not an interval")
    ends = np.unique(cells)
    after = ends[1:] if len(ends) else ends
    # Whole numbers: an end that is none is nobody's value, and between 4 and 5 there is nothing.
    points = ends[ends == np.floor(ends)] if whole else ends
    between = np.floor(ends[:-1]) + 1 < after if whole else np.ones(len(after), dtype=bool)
    if len(cells) * 2 * len(ends) > LARGEST:
        raise NoAtoms(f"'{name}' has {len(ends)} ends of intervals in {len(cells)} classes: too many")
    low, high = cells[:, :1], cells[:, 1:]
    at_ends = (low <= points) & (points <= high)
    inside = (low <= ends[:-1][between]) & (after[between] <= high)
    return np.concatenate([at_ends, inside], axis=1)


def _of_sets(cells: SetCells, allowed: tuple[str, ...] | None) -> BoolArray:
    """One atom a value; and one of the values that only `*` covers, where the policy leaves room for any."""
    named = cells.member | cells.whole[:, None]
    if allowed is not None and set(allowed) <= set(cells.values):
        return np.asarray(named)
    return np.concatenate([named, cells.whole[:, None]], axis=1)


def _distinct(covers: BoolArray) -> BoolArray:
    covers = covers[:, covers.any(axis=0)]
    _, first = np.unique(np.packbits(covers, axis=0), axis=1, return_index=True)
    return covers[:, np.sort(first)]
