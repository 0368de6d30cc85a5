"""The flow that lays methods side by side on one table; nothing is published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.states import Completed

from flows.decision import Text
from flows.runtime.prefect_runtime import PrefectRuntime
from policy.location import location_of
from policy.rounding import measured_share
from policy.text import number_of
from reports.documents import Document
from services.evaluation.evaluate import evaluate, raise_if_none_succeeded
from services.evaluation.files import check_output_folder, document_of, write
from services.runtime import Stage
from services.sanitized import sanitize_errors
from tasks.types import Progress

EVALUATION = Stage("evaluation", "run the methods, and write the figures", long=True)


@flow(
    name="evaluate-methods",
    description="Compare methods on one table, risk against utility. Nothing is published.",
    persist_result=False,
    retries=0,
)
def evaluate_methods(
    policy: Text,
    methods: Text,
    out: Text,
    k: str | None = None,
    seeds: int = 5,
    measures: str | None = None,
    input_path: str | None = None,
    period: str | None = None,
    jobs: int | None = None,
    store: str = "store",
) -> Any:
    """Run every method at every k and seed, and write the figures to a new folder.

    Args:
        policy: path of the policy file.
        methods: the methods by name, with a comma between them, such as mondrian,ae-lrhma.
        out: the folder for the figures; it must not exist, or be empty.
        k: minimum class sizes, such as 5,8,16; if empty, the policy's k.
        seeds: number of seeds per method, starting at the policy's seed.
        measures: utility measures, by name; if empty, the fast ones.
        input_path: the input table; if empty, the source in the policy.
        period: the table's period; if empty, it follows from the policy and the date.
        jobs: worker processes; if empty, one per core.
        store: folder of the release store, whose owner may trust further folders and packages.
    """
    return sanitize_errors(_evaluate_methods, "the evaluation")(
        policy, methods, out, k, seeds, measures, input_path, period, jobs, store
    )


def _evaluate(out: Path, policy_path: Path, asked: dict[str, Any], progress: Progress) -> Document:
    """Carry out what was asked, write the files to `out`, and return the figures."""
    check_output_folder(out)
    evaluation = evaluate(policy_path, **asked, tell=progress)
    write(evaluation, out)
    document = document_of(evaluation)
    create_table_artifact(
        key="evaluation", table=evaluation_rows(document), description="Means over the seeds"
    )
    raise_if_none_succeeded(evaluation)
    return document


def evaluation_rows(document: Document) -> list[dict[str, str]]:
    """Return one row a method and k: means over the seeds, and how many runs failed."""
    risk = [f"{what}_{max(document['ext_frac']):g}" for what in ("err", "umr")]
    shares = {"NCP": "ncp", "ERR": risk[0], "UMR": risk[1], "SADR": "sadr"}
    return [
        {
            "method": one["method"],
            "k": str(one["k"]),
            **{name: _share(one["mean"][figure]) for name, figure in shares.items()},
            "classes": _number(one["mean"]["classes"]),
            "runs": str(one["runs"]),
            "failed": str(one["failed"]),
        }
        for one in document["summary"]
    ]


def _share(mean: float | None) -> str:
    return "-" if mean is None else measured_share(mean, "<=")


def _number(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.4g}"


def _evaluate_methods(
    policy_path: str,
    methods: str,
    out: str,
    k: str | None,
    seeds: int,
    measures: str | None,
    input_path: str | None,
    period: str | None,
    jobs: int | None,
    store: str,
) -> Any:
    asked = {
        "methods": methods,
        "ks": k,
        "seeds": seeds,
        "measures": measures,
        "input_path": location_of(input_path, "input_path") if input_path else None,
        "period": period,
        "jobs": jobs,
        "store": Path(store),
    }
    document = PrefectRuntime().stage(
        EVALUATION, lambda tell: _evaluate(Path(out), Path(policy_path), asked, tell)
    )
    n_failed = sum(one["failed"] for one in document["summary"])
    runs = number_of(len(document["runs"]), "run")
    return Completed(message=f"{runs}, {n_failed} failed; figures in {out}/")
