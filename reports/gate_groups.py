"""The gates of a report in groups: by what they check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.text import number_of
from release_store.records import Verdict
from tasks.risk.advice import OF_ALL_RELEASES

Document = Mapping[str, Any]
MODEL = "model"
TITLES = {
    "files": "Files",
    MODEL: "Privacy model",
    "attackers": "Attackers",
    "history": "Comparison with earlier releases",
    "utility": "Utility",
}
# Gates that are not listed are of the privacy models that other packages add.
GROUPS: dict[str, tuple[str, ...]] = {
    "files": ("files", "truth", "leak", "unique", "levels"),
    MODEL: (
        "k",
        "p_max",
        "h_min",
        "e",
        "spread",
        "distinct_l",
        "entropy_l",
        "recursive_cl",
        "t_closeness",
        "alpha_k",
        "beta_likeness",
        "delta_disclosure",
        "km",
        "lkc",
    ),
    "attackers": (
        "err",
        "umr",
        "forced",
        "membership",
        "sadr",
        "sadr_excess",
        "pr_dr",
        "pr_dr_excess",
        "inversion",
        "k_map",
        "population_uniqueness",
        "delta_presence",
    ),
    "history": OF_ALL_RELEASES,
    "utility": ("suppression", "ncp"),
}
_GROUP_OF = {gate: group for group, gates in GROUPS.items() for gate in gates}


@dataclass(frozen=True)
class GateGroup:
    """Some gates under one title: first those that do not pass; `said` tells how many pass."""

    name: str
    title: str
    said: str
    failing: bool
    gates: tuple[Document, ...]


def group_gates(gates: Sequence[Document]) -> list[GateGroup]:
    """Return the groups that have gates: first those with a gate that does not pass."""
    groups = []
    for name, title in TITLES.items():
        own = [gate for gate in gates if _GROUP_OF.get(gate["gate"], MODEL) == name]
        if own:
            own.sort(key=_passes)
            n = sum(map(_passes, own))
            said = f"{n} of {number_of(len(own), 'gate')} {'passes' if n == 1 else 'pass'}"
            groups.append(GateGroup(name, title, said, n < len(own), tuple(own)))
    return sorted(groups, key=lambda group: not group.failing)


def _passes(gate: Document) -> bool:
    return bool(gate["verdict"] == Verdict.PASS)
