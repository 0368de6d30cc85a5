"""The named methods of the papers: each a choice of four parts. A new one is a few lines here."""

from __future__ import annotations

from tasks.methods.base import Method

MODEL = "k, e, p_max and h_min in every class, where all records together have them"
OVERLAPPING = f"{MODEL}; classes overlap."
DISJOINT = f"{MODEL}; classes are disjoint."

PRESETS = (
    Method(
        name="ae-lrhma",
        summary="Autoencoder, constraint-aware Mondrian in its latent space, (k,e)-MDAV in each leaf.",
        source="Hu, Hu, Shen and Zheng (2026), doi:10.20944/preprints202602.0124.v1",
        guarantees=OVERLAPPING,
        representation="autoencoder",
        partition="mondrian",
        aggregation="ke-mdav",
    ),
    Method(
        name="mondrian",
        summary="Median cuts of the widest attribute that can be cut, on the original attributes.",
        source="LeFevre, DeWitt and Ramakrishnan (2006), doi:10.1109/ICDE.2006.101",
        guarantees=DISJOINT,
        representation="unit",
        partition="mondrian",
        aggregation="none",
        defaults={"score": "widest", "quantiles": (0.5,), "variance_threshold": 0.0},
    ),
)
