"""The named methods of the papers: each a choice of four parts. A new one is a few lines here.

Groups that break the policy's model are merged with near ones (`tasks.aggregation.enforce`), whatever made
them: so every method holds it, those too that know only k by themselves.
"""

from __future__ import annotations

from tasks.methods.base import Method

MODEL = "the policy's model in every class, where all records together satisfy it"
OVERLAPPING = f"{MODEL}; overlapping classes."
DISJOINT = f"{MODEL}; disjoint classes."
MERGED = f"k by itself; {MODEL}, by merging groups; overlapping classes."

HU = "Hu, Hu, Shen and Zheng (2026), doi:10.20944/preprints202602.0124.v1"
DOMINGO = "Domingo-Ferrer and Mateo-Sanz (2002), doi:10.1109/69.979982"
GARG = "Garg and Torra (2023), K-Anonymous Privacy Preserving Manifold Learning"

ALONG_A_GRAPH = {"whole_up_to": 10_000, "block_size": 2_000}
"""Distances of all pairs of a block are kept: 0.6 GB for 7,000 different records."""

BEYOND = {
    "score": "blend",
    "cuts": "both",
    "variance_threshold": 0.0,
    "leaf_size": 2_000,
    "local_metric": "ncp",
    "sweeps": 2,
}

PRESETS = (
    Method(
        name="ae-lrhma",
        summary="Autoencoder, constraint-aware Mondrian in its latent space, (k,e)-MDAV in each leaf.",
        source=HU,
        guarantees=OVERLAPPING,
        representation="autoencoder",
        partition="mondrian",
        aggregation="ke-mdav",
    ),
    Method(
        name="ae-narrow",
        summary="Our own step: cuts in latent and original dimensions by NCP too, planned groups, polished.",
        source="this project, beyond Hu et al. (2026)",
        guarantees=OVERLAPPING,
        representation="autoencoder",
        partition="mondrian",
        aggregation="ke-mdav",
        defaults=BEYOND | {"group_factor": 2.125, "overlap_weight": 0.05},
    ),
    Method(
        name="ae-overlapping",
        summary="The same, with classes that overlap, so that few people match one class only.",
        source="this project, beyond Hu et al. (2026)",
        guarantees=OVERLAPPING,
        representation="autoencoder",
        partition="mondrian",
        aggregation="ke-mdav",
        defaults=BEYOND | {"group_factor": 2.0, "overlap_weight": 0.3},
    ),
    Method(
        name="ae-low-umr",
        summary="The same with larger groups, and swaps for each person who matches one class only.",
        source="this project, beyond Hu et al. (2026)",
        guarantees=OVERLAPPING,
        representation="autoencoder",
        partition="mondrian",
        aggregation="ke-mdav",
        defaults=BEYOND | {"group_factor": 2.625, "sweeps": 6, "overlap_weight": 2.0, "widened_classes": 6},
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
    Method(
        name="mdav",
        summary="Microaggregation of fixed size: the nearest k of the record farthest from the centre.",
        source=DOMINGO,
        guarantees=MERGED,
        representation="original",
        partition="blocks",
        aggregation="mdav",
    ),
    Method(
        name="ke-mdav",
        summary="Microaggregation whose groups hold e distinct sensitive values, on the whole table.",
        source=f"{HU}, section 4.3; Zhang, Koudas, Srivastava and Yu (2007), doi:10.1109/ICDE.2007.367857",
        guarantees=OVERLAPPING,
        representation="original",
        partition="blocks",
        aggregation="ke-mdav",
    ),
    Method(
        name="apmca",
        summary="Coarse k-means clusters, split while over 2k, merged while under k: a reading.",
        source=f"{HU}, section 5, where it is compared with",
        guarantees=MERGED,
        representation="original",
        partition="k-means",
        aggregation="none",
    ),
    Method(
        name="m-mdav",
        summary="MDAV along a graph of neighbours; the group's median record stands for all.",
        source=GARG,
        guarantees=MERGED,
        representation="geodesic",
        partition="blocks",
        aggregation="m-mdav",
        recoding="median",
        defaults=ALONG_A_GRAPH,
    ),
    Method(
        name="m-isomdav",
        summary="The same on an Isomap embedding.",
        source=GARG,
        guarantees=MERGED,
        representation="isomap",
        partition="blocks",
        aggregation="m-mdav",
        recoding="median",
        defaults=ALONG_A_GRAPH,
    ),
    Method(
        name="m-llemdav",
        summary="The same on a locally linear embedding.",
        source=GARG,
        guarantees=MERGED,
        representation="lle",
        partition="blocks",
        aggregation="m-mdav",
        recoding="median",
        defaults=ALONG_A_GRAPH,
    ),
    Method(
        name="curriculum",
        summary="Easy records cut as they stand, others clustered; categories raised, noise on numbers.",
        source="Majeed, Lee and Hwang (2025), doi:10.3390/app152111849",
        guarantees=f"On categories: {MERGED} Noise of a stated epsilon on numbers; no differential privacy.",
        representation="original",
        partition="curriculum",
        aggregation="none",
        recoding="adaptive",
    ),
    Method(
        name="vq",
        summary="Records near in every attribute, outliers moved into the crowd, values flattened.",
        source="Miche et al. (2016), doi:10.1007/978-3-319-45507-5_13",
        guarantees=f"{MODEL}, by merging groups, as long as values are flattened, not shuffled.",
        representation="unit",
        partition="epsilon-balls",
        aggregation="none",
        recoding="quantized",
    ),
    Method(
        name="lhd",
        summary="Classes grown by the record that costs least precision until l values are there.",
        source="Riyana (2025), doi:10.3390/computers14090358, Algorithm 1",
        guarantees=f"l distinct sensitive values; {MODEL}; what cannot be placed is left out.",
        representation="unit",
        partition="lhd",
        aggregation="none",
    ),
    Method(
        name="full-domain",
        summary="One level of the hierarchy a quasi-identifier for the whole table, optimal by NCP.",
        source="Samarati (2001), doi:10.1109/69.971193; LeFevre et al. (2005), doi:10.1145/1066157.1066164",
        guarantees=f"{MODEL}; disjoint classes; what fails is left out, up to gates.suppression.max.",
        representation="unit",
        partition="full-domain",
        aggregation="none",
        recoding="full-domain",
        defaults={"fragment_size": 1_000_000_000},
    ),
)
