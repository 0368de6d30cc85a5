"""The recodings that a policy can name. A new one is a new file, a line here, and its form in
`policy.recoding`.
"""

from __future__ import annotations

from policy.model import ReleasePolicy
from tasks.parts import Parameters, Part, Recode, Setting, named
from tasks.recoding.generalize import generalized_rows
from tasks.recoding.replacement import centroids, medians
from tasks.types import IntArray, PreparedTable, Recoded, Representation


def _generalized(_chosen: Parameters, _setting: Setting) -> Recode:
    def recode(
        table: PreparedTable, _where: Representation, labels: IntArray, policy: ReleasePolicy, _seed: int
    ) -> Recoded:
        return generalized_rows(table, labels, policy)

    return recode


def _centroid(_chosen: Parameters, _setting: Setting) -> Recode:
    def recode(
        table: PreparedTable, _where: Representation, labels: IntArray, policy: ReleasePolicy, _seed: int
    ) -> Recoded:
        return centroids(table, labels, policy)

    return recode


def _median(_chosen: Parameters, _setting: Setting) -> Recode:
    def recode(
        table: PreparedTable, where: Representation, labels: IntArray, policy: ReleasePolicy, _seed: int
    ) -> Recoded:
        return medians(table, where, labels, policy)

    return recode


RECODINGS = named(
    Part("sets", "intervals and value sets that hold the group's values", Parameters, _generalized),
    Part("hierarchy", "intervals and sets closed up to the policy's hierarchies", Parameters, _generalized),
    Part("centroid", "means and most frequent categories in place of values", Parameters, _centroid),
    Part("median", "the group's median record in place of all", Parameters, _median),
)
