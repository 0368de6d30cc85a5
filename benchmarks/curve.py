"""NCP against ERR and UMR on the samples of Hu et al. (2026): the knobs of cuts, groups and polish.

python -m benchmarks.curve --write
"""

from __future__ import annotations

import argparse
import csv
import io
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks import report
from benchmarks.curve_points import GOALS, MOST, PRESETS, SWEEP, Knobs, Sample, groups_of, mondrian, sample_of
from benchmarks.papers.s0_printed import DATASETS, MEASURED
from release_store.records import EquivalenceClasses
from tasks.recoding.generalize import generalized_rows
from tasks.representation.autoencoder import encode
from tasks.representation.features import z_scored
from tasks.risk.attacks.linkage import draws, expected_risk, link, unique_match_rate
from tasks.risk.gates.models.classes import largest_shares, spreads
from tasks.risk.published import read_classes
from tasks.staging.stage import stage
from tasks.types import IntArray
from tasks.utility.ncp import ncp, scale_of

SENSITIVE = "job categorical"
EXT_FRAC = 0.10
SEEDS = 5


@dataclass(frozen=True)
class Figures:
    """What the published rows of one run say, and the CPU seconds from the latent space to the groups."""

    classes: int
    ncp: float
    err: float
    umr: float
    candidates: float
    broken: tuple[int, int, int, int]  # classes that break k, e, p_max, the largest size
    cpu: float


def published(sample: Sample, labels: IntArray) -> EquivalenceClasses:
    """Return the classes read back from the staged rows: groups of equal cells are one class."""
    frame = generalized_rows(sample.table, labels, sample.policy).frame
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder) / "staged"
        stage(
            frame,
            sample.policy,
            candidate_id="curve",
            period="curve",
            folder=staged,
            n_source=sample.table.n_records,
        )
        return read_classes(staged / "data.parquet", sample.policy)


def figures(sample: Sample, labels: IntArray, cpu: float) -> Figures:
    """Measure the published rows."""
    classes, privacy = published(sample, labels), sample.policy.privacy
    links = link(sample.table, classes)
    attackers = draws(sample.table.n_records, EXT_FRAC, 5)
    return Figures(
        classes=classes.n_classes,
        ncp=ncp(classes, scale_of(sample.table, sample.policy)),
        err=expected_risk(links, attackers).mean,
        umr=unique_match_rate(links, attackers).mean,
        candidates=float(links.candidates.mean()),
        broken=(
            int((classes.size < privacy.k).sum()),
            int((spreads(classes, SENSITIVE, sample.policy) < privacy.e).sum()),
            int((largest_shares(classes, SENSITIVE) > privacy.p_max + 1e-9).sum()),
            int((classes.size > MOST).sum()),
        ),
        cpu=cpu,
    )


def measured(
    name: str, points: dict[str, Knobs], seeds: int, sweep_seeds: int, rows: int | None, epochs: int
) -> dict[str, list[Figures]]:
    """Return the figures of every point for one sample, one a seed; Mondrian draws nothing."""
    sample, sets = sample_of(name, rows), sample_of(name, rows, sets=True)
    found: dict[str, list[Figures]] = {}
    for k in (sample.policy.privacy.k, 2 * sample.policy.privacy.k):
        begun = process_time()
        labels = mondrian(sample, k)
        found[f"plain Mondrian, k {k}"] = [figures(sample, labels, process_time() - begun)]
    for seed in range(seeds):
        latent, _ = encode(z_scored(sample.table), epochs=epochs, seed=seed)
        for label, knobs in points.items():
            if label not in PRESETS and seed >= sweep_seeds:
                continue
            begun = process_time()
            labels = groups_of(sample, latent, knobs, seed)
            cpu = process_time() - begun
            found.setdefault(label, []).append(figures(sample, labels, cpu))
            if label in PRESETS:
                found.setdefault(f"{label}, its groups as six value sets", []).append(
                    figures(sets, labels, cpu)
                )
                begun = process_time()
                labels = groups_of(sets, latent, knobs, seed)
                cpu = process_time() - begun
                found.setdefault(f"{label}, made for six value sets", []).append(figures(sets, labels, cpu))
    return found


def front(found: dict[str, list[Figures]]) -> set[str]:
    """Return the points that no other beats in NCP, ERR or UMR without losing in another, by their means."""
    means = {
        label: np.array([np.mean([getattr(run, name) for run in runs]) for name in ("ncp", "err", "umr")])
        for label, runs in found.items()
        if "value sets" not in label
    }
    return {
        label
        for label, mine in means.items()
        if not any((other <= mine).all() and (other < mine).any() for other in means.values())
    }


def _mean(runs: Sequence[Figures], name: str, digits: int) -> str:
    values = [getattr(run, name) for run in runs]
    sd = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{sd}"


def curve(name: str, found: dict[str, list[Figures]]) -> str:
    """Return the table of all points, the authors' own program's below."""
    best = front(found)
    header = [
        "",
        "front",
        "NCP",
        "ERR",
        "UMR",
        "classes",
        "candidate classes",
        "break k, e, p_max, 24",
        "CPU s",
    ]
    rows = [
        [
            label,
            "*" if label in best else "",
            _mean(runs, "ncp", 4),
            _mean(runs, "err", 4),
            _mean(runs, "umr", 4),
            _mean(runs, "classes", 0),
            _mean(runs, "candidates", 1),
            ", ".join(str(sum(run.broken[i] for run in runs)) for i in range(4)),
            _mean(runs, "cpu", 1),
        ]
        for label, runs in found.items()
    ]
    rows += [
        [
            f"its program: {m.method}",
            "",
            f"{m.ncp:.3f}",
            f"{m.err:.3f}",
            f"{m.umr:.3f}",
            str(m.classes),
            "",
            "",
            "",
        ]
        for m in MEASURED[name]
    ]
    return report.table(header, rows)


def goals(name: str, found: dict[str, list[Figures]]) -> str:
    """Return what each preset reaches of its goal."""
    rows = []
    for label, goal in GOALS.items():
        runs = found[label]
        for measure, most in (("ncp", goal.ncp[name]), ("err", goal.err[name]), ("umr", goal.umr)):
            value = float(np.mean([getattr(run, measure) for run in runs]))
            met = "met" if value <= most else "not met"
            rows.append([f"{label}: {measure.upper()}", f"{value:.4f}", f"{most:g}", met])
        broken = sum(sum(run.broken) for run in runs)
        rows.append(
            [f"{label}: classes that break the model", str(broken), "0", "met" if not broken else "not met"]
        )
    return report.table(["goal", "reached", "at most", ""], rows)


def as_csv(found: dict[str, dict[str, list[Figures]]]) -> str:
    """Return every run as a line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    broken = [f"break_{what}" for what in ("k", "e", "p_max", "size")]
    writer.writerow(
        ["sample", "point", "seed", "classes", "ncp", "err", "umr", "candidates", *broken, "cpu_s"]
    )
    for name, points in found.items():
        for label, runs in points.items():
            for seed, run in enumerate(runs):
                values = [f"{x:.6f}" for x in (run.ncp, run.err, run.umr, run.candidates)]
                writer.writerow([name, label, seed, run.classes, *values, *run.broken, f"{run.cpu:.3f}"])
    return text.getvalue()


WORDS = """# NCP against ERR and UMR

Our own step beyond AE-LRHMA on the authors' samples, k 8, e 3, p_max 0.8, classes of at most 24: cuts in
latent dimensions and in the original attributes, scored by the NCP that the sides would have; groups of a
planned size; a polish that swaps records between groups. Mean and standard deviation over seeds (a figure
without one is of seed 0), which the training and the polish draw from; attackers know a tenth of the source
(five draws). Every figure is read from the published rows, in which groups of equal cells are one class.

`narrow` and `overlapping` are the methods `ae-narrow` and `ae-overlapping`. Any other point
differs by what its name says from: cuts in both spaces, score blend, leaves of 2,000, metric ncp, groups
of 16, two sweeps of polish, overlap 0.

- **front**: no other point is as good in NCP, ERR and UMR and better in one.
- **candidate classes**: the mean over all people of the classes whose cells contain them.
- **six value sets**: age, duration and campaign published as sets, too, of the same groups, or of groups made
  for that. A set holds only the values of its own group, so that fewer classes contain a person.
- **CPU s**: from the latent space to the groups; training is not counted.
- UMR counts people in *one* class. A polish with an overlap weight looks at that very figure, for the people
  of the table. It says nothing about attackers who know more than the quasi-identifiers."""


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure every point on every sample and return the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curve", description=__doc__)
    parser.add_argument("--samples", nargs="+", choices=sorted(DATASETS), default=sorted(DATASETS))
    parser.add_argument("--points", nargs="+", choices=[*SWEEP], default=[*SWEEP], help="beside the presets")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--sweep-seeds", type=int, default=SEEDS, help="of all points but the presets")
    parser.add_argument("--rows", type=int, help="the samples' first rows only")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument(
        "--write", action="store_true", help="write benchmarks/results/curve.md and curve.csv"
    )
    chosen = parser.parse_args(arguments)
    points = {**PRESETS, **{label: SWEEP[label] for label in chosen.points}}
    shared = points, chosen.seeds, chosen.sweep_seeds, chosen.rows, chosen.epochs
    if len(chosen.samples) == 1:
        found = {chosen.samples[0]: measured(chosen.samples[0], *shared)}
    else:
        with ProcessPoolExecutor(max_workers=len(chosen.samples)) as pool:
            runs = [pool.submit(measured, name, *shared) for name in chosen.samples]
            found = {name: run.result() for name, run in zip(chosen.samples, runs, strict=True)}
    sections = []
    for name, figures_of in found.items():
        sections.append(
            "\n\n".join([f"## {DATASETS[name]}", goals(name, figures_of), curve(name, figures_of)])
        )
        print(sections[-1], flush=True)
    how = f" --seeds {chosen.seeds} --sweep-seeds {chosen.sweep_seeds}"
    command = f"python -m benchmarks.curve --write{how}"
    text = "\n\n".join([WORDS, report.measured_with(command), *sections])
    if chosen.write:
        report.write("curve.md", text)
        report.write("curve.csv", as_csv(found))
    return text


if __name__ == "__main__":
    main()
