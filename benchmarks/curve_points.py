"""The points of the curve: the samples, the knobs, the two presets with their goals, and the sweep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks import report
from benchmarks.papers.s0_printed import PUBLISHED, RERUN, theirs
from policy.categorical import NominalQuasiIdentifier
from policy.load import load_policy
from policy.model import ReleasePolicy
from tasks.aggregation.ke_mdav import LocalRule, aggregate, room_for_groups
from tasks.aggregation.polish import PolishRule, polish
from tasks.intake.read import read_table
from tasks.partitioning.attributes import attributes_of
from tasks.partitioning.constraints import constraints_of
from tasks.partitioning.mondrian import SplitRule, partition
from tasks.partitioning.scores import Score
from tasks.preprocessing.prepare import prepare
from tasks.representation.features import ranks, unit_ranges, z_scored
from tasks.types import FloatArray, IntArray, PreparedTable
from tasks.utility.ncp import scale_of

POLICIES = Path(__file__).parent / "papers" / "policies"
MOST = 24


@dataclass(frozen=True)
class Knobs:
    """One way to make the groups.

    Cuts in `latent` dimensions, in the `original` attributes, or in `both`, scored by `score`, down to leaves
    of `leaf_size`; groups of `group_size` (k of the policy or more) by distance in `local_metric`; and
    `sweeps` of polish, in which a person in one class only costs `overlap_weight` and one of the
    `widened_classes` cheapest classes may be widened for them.
    """

    cuts: Literal["latent", "original", "both"] = "both"
    score: Score = "blend"
    leaf_size: int = 2_000
    local_metric: Literal["latent", "features", "rank", "ncp"] = "ncp"
    group_size: int = 16
    sweeps: int = 2
    overlap_weight: float = 0.0
    widened_classes: int = 0


@dataclass(frozen=True)
class Goal:
    """What a point has to reach: NCP, ERR and UMR of at most so much, NCP in the measure of the point."""

    ncp: float
    err: float
    umr: float = 1.0


PRESETS = {
    "narrow": Knobs(group_size=17, overlap_weight=0.05),
    "overlapping": Knobs(group_size=16, overlap_weight=0.3),
    "low-umr": Knobs(group_size=21, sweeps=6, overlap_weight=2.0, widened_classes=6),
}
AS_SETS = ", its groups as six value sets"
FOR_SETS = ", made for six value sets"


def goals_of(name: str) -> dict[str, Goal]:
    """Return the goals of the points on a sample, by their labels.

    `narrow`: half of the NCP of the authors' releases at no higher an ERR, in each measure against the
    release that was measured so. `overlapping`: our own. `low-umr`: ERR and UMR of the published release, at
    about half of its NCP.
    """
    rerun, published = theirs(name, RERUN), theirs(name, PUBLISHED)
    return {
        f"narrow{AS_SETS}": Goal(rerun.ncp / 2, rerun.err),
        "narrow": Goal(published.ncp / 2, published.err),
        "overlapping": Goal({"adult": 0.13, "bank": 0.11}[name], 0.063, 0.05),
        "low-umr": Goal({"adult": 0.15, "bank": 0.09}[name], published.err, published.umr),
    }


BASE = Knobs()
SWEEP = {
    "cuts latent, score paper, no polish": replace(BASE, cuts="latent", score="paper", sweeps=0),
    "cuts original, score ncp, no polish": replace(BASE, cuts="original", score="ncp", sweeps=0),
    **{f"score {s}, no polish": replace(BASE, score=s, sweeps=0) for s in ("paper", "ncp", "blend")},
    **{
        f"metric {m}, no polish": replace(BASE, local_metric=m, sweeps=0)
        for m in ("latent", "features", "rank")
    },
    "cuts latent, score paper": replace(BASE, cuts="latent", score="paper"),
    **{f"leaves of {size}": replace(BASE, leaf_size=size) for size in (200, 600)},
    **{f"groups of {size}": replace(BASE, group_size=size) for size in (8, 12)},
    **{f"overlap {w:g}": replace(BASE, overlap_weight=w) for w in (0, 0.05, 0.1, 0.2, 0.5)},
    "groups of 21, overlap 2, six sweeps": replace(BASE, group_size=21, overlap_weight=2.0, sweeps=6),
    **{
        f"groups of {size}, overlap 0.3": replace(BASE, group_size=size, overlap_weight=0.3)
        for size in (8, 12)
    },
}


@dataclass(frozen=True)
class Sample:
    """A sample of the authors: its policy and table."""

    name: str
    policy: ReleasePolicy
    table: PreparedTable


def sample_of(name: str, rows: int | None, *, sets: bool = False) -> Sample:
    """Read a sample, or its first rows; with `sets`, all six quasi-identifiers as value sets."""
    policy = load_policy(POLICIES / f"s0_{name}.yaml")
    file = report.datasets() / "ae_lrhma_samples" / f"{name}_10k.csv"
    source = read_table(policy, input_path=file, period="", base=POLICIES)
    if sets:
        qis = dict(policy.roles.quasi_identifiers)
        for column in policy.roles.numeric:
            values = np.unique(source.frame[column].to_numpy(dtype=np.float64))
            # Values in the order of their numbers: neighbours in the order are neighbours in meaning.
            domain = tuple(f"{value:g}" for value in values)
            qis[column] = NominalQuasiIdentifier(type="categorical", values=domain)
        policy = policy.model_copy(
            update={"roles": policy.roles.model_copy(update={"quasi_identifiers": qis})}
        )
        source = read_table(policy, input_path=file, period="", base=POLICIES)
    if rows is not None:
        source = replace(source, frame=source.frame.iloc[:rows].reset_index(drop=True))
    return Sample(name, policy, prepare(source, policy))


def groups_of(sample: Sample, latent: FloatArray, knobs: Knobs, seed: int) -> IntArray:
    """Return one label a record."""
    table, constraints = sample.table, constraints_of(sample.table, sample.policy)
    weight = scale_of(table, sample.policy).weight
    attributes = attributes_of(table, weight)
    points = {
        "latent": lambda: latent,
        "original": lambda: unit_ranges(table),
        "both": lambda: np.column_stack([latent, unit_ranges(table)]),
    }[knobs.cuts]()
    local = {
        "latent": lambda: latent,
        "features": lambda: z_scored(table),
        "rank": lambda: ranks(table),
        "ncp": attributes.points,
    }[knobs.local_metric]()
    rule = SplitRule(
        knobs.leaf_size,
        knobs.score,
        span_dimensions=latent.shape[1] if knobs.cuts == "both" else None,
    )
    room = room_for_groups(constraints, knobs.group_size, knobs.leaf_size // 4)
    leaves = partition(points, room, rule, attributes=attributes)
    labels = aggregate(local, leaves, constraints, LocalRule(MOST, group_size=knobs.group_size))
    polishing = PolishRule(
        overlap_weight=knobs.overlap_weight,
        widened_classes=knobs.widened_classes,
        sweeps=knobs.sweeps,
        seed=seed,
    )
    return polish(labels, attributes, constraints, polishing)


def mondrian(sample: Sample, k: int) -> IntArray:
    """Return classic Mondrian's groups, which satisfy the policy's model with this k."""
    constraints = replace(constraints_of(sample.table, sample.policy), k=k)
    return partition(unit_ranges(sample.table), constraints, SplitRule(2 * k - 1, "widest", (0.5,)))
