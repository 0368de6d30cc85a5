"""What the distance of two sensitive values follows: their order, their hierarchy, or neither."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy.privacy_models import TCloseness
from policy.roles import SensitiveAttribute
from tasks.recoding.levels import Levels, category_levels
from tasks.types import FloatArray, IntArray


@dataclass(frozen=True)
class ValueTree:
    """A hierarchy of m values: `order` (m,) sorts them so that the values of each node stand together.

    `first[i]` are the places, among the nodes of level i, of the first child of each node of level i + 1; the
    values are level 0, and the root has no entry.
    """

    order: IntArray
    first: tuple[IntArray, ...]


def tree_of(levels: Levels) -> ValueTree:
    """Return the tree of a table's values. O(values (levels + log values))."""
    order = np.lexsort(levels.node)  # by the root first, by the value last
    found, at = list[IntArray](), np.arange(len(order))
    for node in levels.node[1:-1, order]:
        begins = np.flatnonzero(np.diff(node[at], prepend=-1))
        found.append(begins)
        at = at[begins]
    return ValueTree(order, tuple(found))


def order_and_tree(
    model: TCloseness,
    name: str,
    attribute: SensitiveAttribute,
    values: tuple[str, ...],
    numbers: FloatArray | None,
) -> tuple[FloatArray | None, ValueTree | None]:
    """Return the numbers (m,) in whose order an attribute's `values` stand, nan for one without a place, and
    their tree; None for what the model's distance does not follow.

    `numbers` (m,) are those that the values of a numeric attribute stand for.
    """
    distance = model.distance_of(name, attribute)
    if distance == "hierarchical":
        return None, tree_of(category_levels(values, attribute.hierarchy))
    if distance == "ordered" and numbers is None:
        place = {value: float(rank) for rank, value in enumerate(attribute.allowed or ())}
        return np.array([place.get(value, np.nan) for value in values]), None
    return (numbers if distance == "ordered" else None), None
