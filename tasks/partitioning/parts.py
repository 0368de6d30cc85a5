"""The partitions that a method can name. A new one is a new file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from policy.errors import PolicyError, did_you_mean
from policy.model import Privacy
from policy.roles import Roles
from tasks.aggregation.ke_mdav import room_for_groups
from tasks.partitioning import curriculum, epsilon_ball, full_domain, lhd
from tasks.partitioning.attributes import ClosedSets, attributes_of, weights_of
from tasks.partitioning.blocks import blocks
from tasks.partitioning.constraints import Constraints
from tasks.partitioning.epsilon_ball import BallRule
from tasks.partitioning.kmeans import apmca, sized
from tasks.partitioning.mondrian import SplitRule, Tree, partition
from tasks.partitioning.scores import Score
from tasks.parts import BlockParameters, BuildContext, Component, Cut, Parameters, named_parts
from tasks.recoding.levels import category_levels
from tasks.representation.features import unit_ranges
from tasks.types import FloatArray, IntArray, Partition, PreparedTable, Progress, Representation

LEAF_FACTOR = 24


class MondrianParameters(Parameters):
    """Hu et al., 2026, eq. 7 and Table 1; `alpha` and the threshold of the score have no value there. The
    scores by NCP and cuts in the original attributes are ours.
    """

    score: Score = Field(
        "paper",
        description="of a cut: `paper` (eq. 7), `ncp` of the sides, `blend` of both, or `widest` dimension",
    )
    cuts: Literal["representation", "both"] = Field(
        "representation", description="where cuts are tried: there alone, or in the original attributes too"
    )
    alpha: Annotated[float, Field(ge=0, le=1)] = Field(0.7, description="weight of the span in eq. 7")
    weight_span: Annotated[float, Field(ge=0)] = Field(0.35, description="of the span in `blend`")
    weight_entropy: Annotated[float, Field(ge=0)] = Field(0.15, description="of the entropy in `blend`")
    weight_ncp: Annotated[float, Field(ge=0)] = Field(0.5, description="of the NCP in `blend`")
    quantiles: Annotated[tuple[Annotated[float, Field(gt=0, lt=1)], ...], Field(min_length=1)] = Field(
        (0.25, 0.375, 0.5, 0.625, 0.75), description="where cuts are tried in a dimension"
    )
    min_score: float | None = Field(None, description="a cut must score more; none: any feasible cut will do")
    variance_threshold: Annotated[float, Field(ge=0)] = Field(
        0.05, description="under it in every dimension, a node is not cut (Table 1)"
    )
    leaf_size: Annotated[int | None, Field(ge=2)] = Field(
        None, description="nodes up to this size are leaves; none: 24 k, without an aggregation 2 k - 1"
    )


def _mondrian(chosen: MondrianParameters, setting: BuildContext) -> Cut:
    k = setting.privacy.k
    stop = chosen.leaf_size or (LEAF_FACTOR * k if setting.grouped else 2 * k - 1)

    def cut(
        table: PreparedTable, representation: Representation, constraints: Constraints, progress: Progress
    ) -> Partition:
        points, attributes = representation.latent, None
        closed = _closed_sets(table, setting)
        if chosen.cuts == "both":
            points = np.column_stack([representation.latent, unit_ranges(table)])
        if chosen.score in ("ncp", "blend"):
            attributes = attributes_of(table, weights_of(setting.roles), closed)
        rule = SplitRule(
            stop_size=stop,
            score=chosen.score,
            alpha=chosen.alpha,
            quantiles=chosen.quantiles,
            min_score=float("-inf") if chosen.min_score is None else chosen.min_score,
            variance_threshold=chosen.variance_threshold,
            weight_span=chosen.weight_span,
            weight_entropy=chosen.weight_entropy,
            weight_ncp=chosen.weight_ncp,
            span_dimensions=representation.latent.shape[1],
        )
        kept = constraints
        if setting.group_size > k:
            kept = room_for_groups(constraints, setting.group_size, max(stop // 4, 1))
        originals = chosen.cuts == "both" or setting.representation == "unit"
        first = points.shape[1] - len(table.categorical_names)
        trees = _trees(table, closed, first) if originals else {}
        return Partition(partition(points, kept, rule, progress, attributes, trees))

    return cut


def _closed_sets(table: PreparedTable, setting: BuildContext) -> dict[int, ClosedSets]:
    """Return the categories whose sets become nodes or ranges, by their places."""
    found = {}
    for place, name in enumerate(table.categorical_names):
        domain, closure = table.domains[name], setting.closures.get(name, "none")
        missing = domain.index(setting.missing) if setting.missing in domain else -1
        if closure == "ranges":
            found[place] = ClosedSets(None, missing)
        elif closure == "nodes":
            levels = category_levels(domain, setting.roles.categorical[name].tree)
            found[place] = ClosedSets(levels, missing)
    return found


def _trees(table: PreparedTable, closed: Mapping[int, ClosedSets], first: int) -> dict[int, Tree]:
    """Return the hierarchies of the columns whose cells are nodes; `first` is the first column of codes."""
    return {
        first + place: Tree(table.codes[:, place].astype(np.int64), each.levels, each.missing)
        for place, each in closed.items()
        if each.levels is not None
    }


def _none(_chosen: Parameters, _setting: BuildContext) -> Cut:
    def cut(
        table: PreparedTable, _where: Representation, _constraints: Constraints, _progress: Progress
    ) -> Partition:
        return Partition(np.zeros(table.n_records, dtype=np.int64))

    return cut


def _blocks(chosen: BlockParameters, _setting: BuildContext) -> Cut:
    def cut(
        table: PreparedTable, representation: Representation, constraints: Constraints, progress: Progress
    ) -> Partition:
        if representation.blocks is not None:
            return Partition(representation.blocks)
        # On one-hot features all columns are equally wide, and there are many.
        labels, notes = blocks(
            unit_ranges(table),
            constraints.k,
            whole_up_to=chosen.whole_up_to,
            block_size=chosen.block_size,
            progress=progress,
        )
        return Partition(labels, notes)

    return cut


class ClusterParameters(Parameters):
    """How many coarse clusters k-means begins with."""

    coarse: Annotated[int, Field(ge=1, le=1000)] = Field(16, description="clusters that k-means begins with")


def _k_means(chosen: ClusterParameters, setting: BuildContext) -> Cut:
    def cut(
        _table: PreparedTable, representation: Representation, constraints: Constraints, progress: Progress
    ) -> Partition:
        labels = apmca(
            representation.latent, constraints.k, coarse=chosen.coarse, seed=setting.seed, progress=progress
        )
        return Partition(labels)

    return cut


def _curriculum(_chosen: Parameters, setting: BuildContext) -> Cut:
    def clusters(points: FloatArray, k: int, _seed: int) -> IntArray:
        return sized(points, k)

    def cut(
        table: PreparedTable, representation: Representation, constraints: Constraints, progress: Progress
    ) -> Partition:
        labels = curriculum.partition(
            table, representation.latent, constraints, cluster=clusters, seed=setting.seed, progress=progress
        )
        return Partition(labels)

    return cut


class BallParameters(Parameters):
    """How near the records of a group are, in every attribute, and how many records are outliers."""

    epsilon: Annotated[float, Field(gt=0, le=1)] = Field(
        0.25, description="greatest distance in a group, as a quantile of the distances of all pairs"
    )
    epsilons: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field(
        default={}, description="the same for single quasi-identifiers, by name"
    )
    few: Annotated[int | None, Field(ge=1)] = Field(
        None, description="m: groups of at most so many records are outliers; none, or under it: k - 1"
    )
    merge_small: bool = Field(
        False, description="merge two groups of at most m records that are nearest and over m together"
    )

    def rule(self) -> BallRule:
        """Return the rule that groups and outliers are told by."""
        return BallRule(
            epsilon=self.epsilon, epsilons=self.epsilons, few=self.few, merge_small=self.merge_small
        )


def _balls(chosen: BallParameters, setting: BuildContext) -> Cut:
    for name in chosen.epsilons:
        if name not in setting.roles.quasi_identifiers:
            raise PolicyError(
                f"names '{name}', which is not a quasi-identifier"
                f"{did_you_mean(name, setting.roles.quasi_identifiers)}",
                where="method.parameters.epsilons",
                hint="Name quasi-identifiers of roles.",
            )

    def cut(
        table: PreparedTable, _where: Representation, constraints: Constraints, progress: Progress
    ) -> Partition:
        labels = epsilon_ball.partition(
            table, setting.roles, constraints, rule=chosen.rule(), seed=setting.seed, progress=progress
        )
        return Partition(labels)

    return cut


class LhdParameters(Parameters):
    """How many of the nearest records are candidates at first, and whether the history has a say."""

    block: Annotated[int, Field(ge=1)] = Field(128, description="nearest records that are tried at first")
    history_in_growth: bool = Field(
        False, description="a class grows until it passes beside the earlier releases too"
    )

    def grown(
        self,
        table: PreparedTable,
        roles: Roles,
        privacy: Privacy,
        constraints: Constraints,
        progress: Progress,
        accept: lhd.Accept | None = None,
    ) -> Partition:
        """Return the classes of lHD-Diversity, each of which is accepted."""
        labels = lhd.partition(
            table,
            roles,
            constraints,
            l=privacy.l,
            accept=accept,
            rule=lhd.LhdRule(block=self.block),
            progress=progress,
        )
        return Partition(labels, {"suppressed_by_partition": int((labels < 0).sum())})


def _lhd(chosen: LhdParameters, setting: BuildContext) -> Cut:
    def cut(
        table: PreparedTable, _where: Representation, constraints: Constraints, progress: Progress
    ) -> Partition:
        return chosen.grown(table, setting.roles, setting.privacy, constraints, progress)

    return cut


class LatticeParameters(Parameters):
    """How many nodes of the lattice of levels are checked."""

    most_checks: Annotated[int, Field(ge=1)] = Field(
        10_000, description="nodes of the lattice checked at most; after them the best one found is taken"
    )


def _full_domain(chosen: LatticeParameters, setting: BuildContext) -> Cut:
    full_domain.check_size(setting.roles, setting.levels)

    def cut(
        table: PreparedTable, _where: Representation, constraints: Constraints, progress: Progress
    ) -> Partition:
        return full_domain.partition(
            table,
            setting.roles,
            constraints,
            max_suppression=setting.max_suppression,
            most_checks=chosen.most_checks,
            fixed=setting.levels,
            progress=progress,
        )

    return cut


PARTITIONS = named_parts(
    Component(
        "mondrian",
        "cuts that both sides can bear, best score first",
        MondrianParameters,
        _mondrian,
        weighted=True,
    ),
    Component("blocks", "one leaf, or blocks of a large table", BlockParameters, _blocks),
    Component("k-means", "clusters split while over 2k, merged while under k", ClusterParameters, _k_means),
    Component(
        "curriculum", "what is alike in runs, the rest in clusters of k to 2k - 1", Parameters, _curriculum
    ),
    Component(
        "epsilon-balls",
        "records near in every attribute; outliers to the nearest group",
        BallParameters,
        _balls,
    ),
    Component("lhd", "classes grown at least precision lost until l values are there", LhdParameters, _lhd),
    Component(
        "full-domain",
        "one level of the hierarchy a column, the best by NCP",
        LatticeParameters,
        _full_domain,
        weighted=True,
    ),
    Component("none", "one group of all records", Parameters, _none),
)
