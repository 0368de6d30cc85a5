"""Which groups a series that only grows would undo: by what they differ in from classes nested with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.geometry.space import Boxes, Space
from tasks.history.differencing import ReleaseGeometry, difference, side_of, sizes
from tasks.history.required import required_of
from tasks.types import BoolArray, IntArray


class Growing:
    """The earlier releases of a cumulative series, beside which groups are laid."""

    def __init__(
        self,
        earlier: Sequence[tuple[str, EquivalenceClasses]],
        space: Space,
        policy: ReleasePolicy,
        attributes: Sequence[str],
        apart: Sequence[tuple[int, int]] | None,
    ) -> None:
        self._earlier = side_of(earlier, space, policy, apart)
        self._space, self._k = space, policy.privacy.k
        self._required = required_of(policy, space, attributes)

    def fails(
        self, boxes: Boxes, size: IntArray, counts: dict[str, IntArray], *, together: bool
    ) -> BoolArray:
        """Tell for each group whether it fails, (n,); with `together` also beside the others of its release.

        Shapes: size (n,), counts[attribute] (n, values).
        """
        n, p = len(boxes), boxes.low.shape[1]
        release = np.zeros(n, dtype=np.int64) if together else np.arange(n)
        still = np.zeros((n, p))
        names = tuple(str(number) for number in range(int(release.max(initial=0)) + 1))
        side = ReleaseGeometry(boxes, still, still, size, release, names, counts, self._earlier.stable)
        found = difference(side, self._earlier, self._space, self._required)
        failing = np.any([each.failing for each in found], axis=0) if found else np.zeros(n, dtype=bool)
        return np.asarray(failing | sizes(side, self._earlier, self._k).failing)
