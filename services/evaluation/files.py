"""What an evaluation writes: results.csv with a line a run, results.json with means, and the figures."""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from policy.errors import UsageError
from release_store.canonical import indented_json
from reports.documents import Document
from reports.export import png_of, svg_of
from services.evaluation.evaluate import Evaluation
from services.evaluation.run import SIZE_QUANTILES, Run, Value
from tasks.utility.measures import MEASURES

WHO = ("method", "k", "seed", "finding")
GATES = ("passes", "gates")
BEFORE = ("classes", "suppressed", "size_min", "size_median", "size_mean", "size_max", "ncp", "loss")
HOLDS = ("k_holds", "e_holds", "p_max_holds", "h_min_holds")
TIMES = ("seconds", "cpu_seconds")


def check_output_folder(out: Path) -> None:
    """Raise UsageError where the folder cannot be made, or holds anything: nothing is written over."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError("exists already and is not empty", where=str(out), hint="Give another with --out.")
    above = out.resolve().parent
    if not above.is_dir():
        raise UsageError("has no parent folder", where=str(out), hint="Create its parent folder first.")
    try:
        with tempfile.TemporaryDirectory(dir=above, prefix=".releasegate-"):
            pass
    except OSError as error:
        raise UsageError(
            f"cannot be made ({type(error).__name__})",
            where=str(out),
            hint="Give a writable folder.",
        ) from None


def columns_of(evaluation: Evaluation) -> list[str]:
    """Return the columns of figures, in their order, whichever runs failed."""
    linked = [f"{what}_{f:g}" for f in evaluation.policy.linkage.ext_frac for what in ("err", "umr")]
    by_name = [f"ncp:{name}" for name in evaluation.policy.roles.quasi_identifiers]
    measured = [figure for name in evaluation.measures for figure in MEASURES[name].figures]
    return [*BEFORE, *linked, "sadr", *HOLDS, *measured, *by_name, *TIMES]


def csv_text(evaluation: Evaluation) -> str:
    """Return one line a run; a figure without a meaning is an empty cell."""
    columns = columns_of(evaluation)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*WHO, *GATES, *columns])
    for run in evaluation.runs:
        gates = ["", ""] if run.failing is None else [cell_text(run.passes), " ".join(run.failing)]
        cells = [cell_text(run.figures.get(name)) for name in columns]
        writer.writerow([run.label, run.k, run.seed, run.finding, *gates, *cells])
    return text.getvalue()


def cell_text(value: Value) -> str:
    """Return a figure as a cell of a CSV file."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else repr(value)


def document_of(evaluation: Evaluation) -> Document:
    """Return all runs, and for each method and k mean and standard deviation (ddof 1) over the seeds."""
    columns = columns_of(evaluation)
    return {
        "series": evaluation.policy.series,
        "rows": len(evaluation.source.frame),
        "methods": list(evaluation.methods),
        "k": list(evaluation.ks),
        "seeds": list(evaluation.seeds),
        "measures": list(evaluation.measures),
        "ext_frac": list(evaluation.policy.linkage.ext_frac),
        "size_quantiles": list(SIZE_QUANTILES),
        "summary": [
            {
                "method": method,
                "k": k,
                "runs": len(runs),
                "failed": sum(bool(run.finding) for run in runs),
                "passing": sum(run.passes for run in runs),
                "gates": dict(Counter(gate for run in runs for gate in run.failing or ())),
                "mean": {name: _mean(_known(runs, name)) for name in columns},
                "sd": {name: _deviation(_known(runs, name)) for name in columns},
            }
            for (method, k), runs in by_method_and_k(evaluation).items()
        ],
        "runs": [
            {
                "method": run.label,
                "k": run.k,
                "seed": run.seed,
                "finding": run.finding,
                "passes": None if run.failing is None else run.passes,
                "gates": None if run.failing is None else list(run.failing),
                **{name: run.figures.get(name) for name in columns},
                "sizes": list(run.sizes),
            }
            for run in evaluation.runs
        ],
    }


def by_method_and_k(evaluation: Evaluation) -> dict[tuple[str, int], list[Run]]:
    """Return the runs of each method and k, one a seed."""
    found: dict[tuple[str, int], list[Run]] = {}
    for run in evaluation.runs:
        found.setdefault((run.label, run.k), []).append(run)
    return found


def _known(runs: Sequence[Run], name: str) -> list[float]:
    """Return a figure of the runs that succeeded; nothing where it has no meaning in one of them."""
    values = [run.figures.get(name) for run in runs if not run.finding]
    known = [float(value) for value in values if value is not None]
    return known if len(known) == len(values) else []


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _deviation(values: list[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def write(evaluation: Evaluation, out: Path) -> list[Path]:
    """Write all files into `out`, which appears whole or not at all; return them in their order."""
    from services.evaluation.figures import figures_of  # what draws takes a second to import

    with new_folder(out) as made:
        (made / "results.csv").write_text(csv_text(evaluation), encoding="utf-8")
        document = document_of(evaluation)
        text = indented_json(document, allow_nan=False)
        (made / "results.json").write_text(text + "\n", encoding="utf-8")
        for name, figure in figures_of(document, evaluation.runs):
            (made / f"{name}.svg").write_bytes(svg_of(figure))
            (made / f"{name}.png").write_bytes(png_of(figure))
    return sorted(out.iterdir())


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Give a folder to write into, which takes its place as `out` once all is written."""
    check_output_folder(out)
    made = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.resolve().parent))
    try:
        yield made
        made.chmod(0o755)
        made.replace(out)
    finally:
        shutil.rmtree(made, ignore_errors=True)
