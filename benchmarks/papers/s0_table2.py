"""Hu et al. (2026), tables 2 to 5: classes, distributions, seconds, NCP, ERR and UMR on their samples.

python -m benchmarks.papers.s0_table2
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import report
from benchmarks.meter import Meter
from benchmarks.papers.s0_printed import DATASETS, MEASURED, PRINTED, PRINTED_LINKS, WORDS
from benchmarks.pipeline import MAKING, make
from policy.load import load_policy
from policy.model import Method, Privacy, ReleasePolicy
from tasks.intake.read import read_table
from tasks.methods.registry import bound_method
from tasks.risk.attack import attack
from tasks.risk.attackers import ALL
from tasks.risk.evidence import Evidence
from tasks.risk.linkage import draws, expected_risk, link, unique_match_rate
from tasks.risk.models.classes import entropies, largest_shares, spreads
from tasks.utility.ncp import ncp, scale_of

POLICIES = Path(__file__).parent / "policies"
SENSITIVE = "job categorical"
SEED = 42
EXT_FRAC = (0.05, 0.10, 0.20)


@dataclass(frozen=True)
class Variant:
    """One row: the method, what differs from the policy's parameters, and whether it depends on the seed."""

    name: str
    parameters: dict[str, object]
    privacy: dict[str, float]
    method: str = "ae-lrhma"
    drawn: bool = True


VARIANTS = (
    Variant("ae-lrhma", {}, {}),
    Variant("ae-lrhma, integer codes, leaves of 24", {"encoding": "integer", "leaf_size": 24}, {}),
    Variant("ae-lrhma, k 16 (max_group_size 48)", {"max_group_size": 48}, {"k": 16}),
    Variant("ae-lrhma without diversity (p_max 1, e 1)", {}, {"p_max": 1.0, "e": 1}),
    Variant("ae-lrhma without the autoencoder", {"representation": "original"}, {}, drawn=False),
    Variant("mondrian", {"max_group_size": 24}, {}, method="mondrian", drawn=False),
)


@dataclass(frozen=True)
class Measured:
    """One run's figures, all of them read from the staged rows but the seconds."""

    classes: int
    mean_size: float
    max_size: int
    p_max: float
    nats: float
    bits: float
    wall: float
    cpu: float
    ncp: float
    err: tuple[float, ...]
    umr: tuple[float, ...]
    sadr: float
    broken: tuple[int, int, int, int]  # classes that break k, e, p_max, max_group_size


def variant_of(policy: ReleasePolicy, variant: Variant, seed: int, epochs: int) -> ReleasePolicy:
    """Return the paper's policy with the variant's method, parameters and model."""
    parameters: dict[str, object] = dict(variant.parameters)
    if variant.method == "ae-lrhma":
        parameters = {**policy.method.parameters, "epochs": epochs, **parameters}
    return policy.model_copy(
        update={
            "method": Method(name=variant.method, parameters=parameters),
            "privacy": policy.privacy.model_copy(update=variant.privacy),
            "seed": seed,
        }
    )


def measure(policy: ReleasePolicy, limits: Privacy, file: Path) -> Measured:
    """Run one policy over one sample; count the classes that break its k and largest size, or `limits`."""
    source = read_table(policy, input_path=file, period="", base=POLICIES)
    meter = Meter()
    with tempfile.TemporaryDirectory() as folder:
        made = make(source, policy, Path(folder) / "staged", meter)
    classes = made.classes
    links = link(made.table, classes)
    target = Evidence(policy, made.table, classes, made.candidate.folder, made.candidate.files, []).target
    tables = [draws(made.table.n_records, share, policy.linkage.seeds) for share in EXT_FRAC]
    shares = largest_shares(classes, SENSITIVE)
    nats = entropies(classes, SENSITIVE)
    cost = meter.total(MAKING)
    return Measured(
        classes=classes.n_classes,
        mean_size=float(classes.size.mean()),
        max_size=int(classes.size.max()),
        p_max=float(shares.mean()),
        nats=float(nats.mean()),
        bits=float(nats.mean() / np.log(2)),
        wall=cost.wall,
        cpu=cost.cpu,
        ncp=ncp(classes, scale_of(made.table, policy)),
        err=tuple(expected_risk(links, t).mean for t in tables),
        umr=tuple(unique_match_rate(links, t).mean for t in tables),
        sadr=attack(target, ALL, tables[-1], errors=0.0).sadr[SENSITIVE].mean,
        broken=(
            int((classes.size < policy.privacy.k).sum()),
            int((spreads(classes, SENSITIVE, policy) < limits.e).sum()),
            int((shares > limits.p_max + 1e-9).sum()),
            int((classes.size > bound_method(policy).max_group_size).sum()),
        ),
    )


def measure_all(name: str, *, seeds: int, epochs: int, folder: Path) -> list[tuple[Variant, list[Measured]]]:
    """Return for one sample every variant with its runs, one a seed from 42 on."""
    policy = load_policy(POLICIES / f"s0_{name}.yaml")
    found = []
    for variant in VARIANTS:
        runs = [
            measure(variant_of(policy, variant, SEED + i, epochs), policy.privacy, folder / f"{name}_10k.csv")
            for i in range(seeds if variant.drawn else 1)
        ]
        found.append((variant, runs))
    return found


def rows_of(runs: Sequence[tuple[Variant, list[Measured]]]) -> list[tuple[str, list[Measured]]]:
    """Return what each printed row averages: seed 42 alone, then all seeds."""
    rows = []
    for variant, found in runs:
        if len(found) == 1:
            rows.append((variant.name + (f", seed {SEED}" if variant.drawn else ""), found))
        else:
            rows.append((f"{variant.name}, seed {SEED}", found[:1]))
            rows.append((f"{variant.name}, {len(found)} seeds", found))
    return rows


def _number(values: Sequence[float], digits: int) -> str:
    mean = f"{float(np.mean(values)):.{digits}f}"
    return f"{mean} ± {float(np.std(values, ddof=1)):.{digits}f}" if len(values) > 1 else mean


def table_2(name: str, runs: Sequence[tuple[Variant, list[Measured]]]) -> str:
    """Return the paper's table 2 (and 3), ours below the paper's and its program's."""
    header = [
        "",
        "classes",
        "mean size",
        "max size",
        "mean p_max",
        "mean H, nats",
        "mean H, bits",
        "seconds",
        "CPU s",
        "NCP",
    ]
    rows = [[f"paper: {p.method}", *p.cells()] for p in PRINTED[name]]
    rows += [[f"its program: {m.method}", str(m.classes), *[""] * 7, f"{m.ncp:.3f}"] for m in MEASURED[name]]
    for label, found in rows_of(runs):
        rows.append(
            [
                f"ours: {label}",
                _number([m.classes for m in found], 0),
                _number([m.mean_size for m in found], 1),
                str(max(m.max_size for m in found)),
                _number([m.p_max for m in found], 4),
                _number([m.nats for m in found], 3),
                f"{np.mean([m.bits for m in found]):.3f}",
                f"{np.mean([m.wall for m in found]):.1f}",
                f"{np.mean([m.cpu for m in found]):.1f}",
                _number([m.ncp for m in found], 4),
            ]
        )
    return report.table(header, rows)


def table_4(name: str, runs: Sequence[tuple[Variant, list[Measured]]]) -> str:
    """Return the paper's table 4 or 5: ERR / UMR for each share of the source that the attacker holds."""
    header = ["ERR / UMR", *(f"ext_frac {share:.2f}" for share in EXT_FRAC), "mean SADR at 0.20"]
    rows = [[f"paper: {method}", *cells, ""] for method, cells in PRINTED_LINKS[name].items()]
    rows += [[f"its program: {m.method}", "", f"{m.err:.3f} / {m.umr:.3f}", "", ""] for m in MEASURED[name]]
    for label, found in rows_of(runs):
        cells = [
            f"{np.mean([m.err[i] for m in found]):.4f} / {np.mean([m.umr[i] for m in found]):.4f}"
            for i in range(len(EXT_FRAC))
        ]
        rows.append([f"ours: {label}", *cells, f"{np.mean([m.sadr for m in found]):.3f}"])
    return report.table(header, rows)


def table_of_broken(runs: Sequence[tuple[Variant, list[Measured]]]) -> str:
    """Return how many classes break each part of the model, summed over the runs."""
    header = ["classes that break", "runs", "classes", "k", "e 3", "p_max 0.8", "max_group_size"]
    rows = [
        [variant.name, str(len(found)), str(sum(m.classes for m in found))]
        + [str(sum(m.broken[i] for m in found)) for i in range(4)]
        for variant, found in runs
    ]
    return report.table(header, rows)


def text_of(name: str, runs: Sequence[tuple[Variant, list[Measured]]]) -> str:
    """Return one sample's section of the result."""
    parts = [f"## {DATASETS[name]}", table_2(name, runs), table_4(name, runs), table_of_broken(runs)]
    return "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> str:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.s0_table2", description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=sorted(DATASETS), default=sorted(DATASETS))
    parser.add_argument("--seeds", type=int, default=5, help="runs of each variant that draws (default: 5)")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--write", action="store_true", help="also write benchmarks/results/s0_table2.md")
    chosen = parser.parse_args(arguments)
    import torch  # noqa: F401 -- its import is no part of any run

    folder = report.datasets() / "ae_lrhma_samples"
    sections = []
    for name in chosen.datasets:
        runs = measure_all(name, seeds=chosen.seeds, epochs=chosen.epochs, folder=folder)
        sections.append(text_of(name, runs))
        print(sections[-1], flush=True)
    command = "python -m benchmarks.papers.s0_table2 --write"
    text = "\n\n".join([WORDS, report.measured_with(command), *sections])
    if chosen.write:
        report.write("s0_table2.md", text)
    return text


if __name__ == "__main__":
    main()
