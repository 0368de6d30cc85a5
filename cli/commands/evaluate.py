"""The command that compares methods, or searches their parameters for a goal; no store is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.evaluate_tables import show_evaluation
from cli.options import Input, Json, PolicyFile, store_of
from cli.output import write_json
from cli.progress import progress_reporter
from policy.errors import UsageError
from services.evaluation.evaluate import evaluate as evaluate_methods
from services.evaluation.evaluate import raise_if_none_succeeded
from services.evaluation.files import check_output_folder, document_of, write

app = typer.Typer()


@app.command()
def evaluate(
    context: typer.Context,
    policy: PolicyFile,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...", help="The methods, by name; needed without --goal (default: the policy's)."
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option("--k", metavar="5,8,...", help="Minimum class sizes (default: the policy's k)."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of seeds per method, starting at the policy's seed (default: 5; with --goal: 1).",
        ),
    ] = None,
    measures: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Utility measures (default: the fast ones)."),
    ] = None,
    goal: Annotated[
        str | None,
        typer.Option(metavar="GOAL", help="Search parameters, such as 'umr <= 0.05, ncp lowest'."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(metavar="N", help="With --goal: trials at most (default: 20).")
    ] = None,
    cpu_seconds: Annotated[
        float | None,
        typer.Option(metavar="S", help="With --goal: no new trial after so many CPU seconds."),
    ] = None,
    raise_k: Annotated[
        int | None, typer.Option(metavar="UPTO", help="With --goal: search k too, from the policy's k up.")
    ] = None,
    input_path: Input = None,
    period: Annotated[
        str | None,
        typer.Option(
            metavar="PERIOD",
            help="For example 2026Q1, or several with --goal (default: from the policy and the date).",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="A new folder (default: ./evaluation).", show_default=False)
    ] = Path("evaluation"),
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Worker processes (default: one a core).")
    ] = None,
    json: Json = False,
) -> int:
    """Compare methods, or search their parameters for a goal; publishes nothing."""
    asked = {
        "methods": methods,
        "seeds": seeds,
        "measures": measures,
        "input_path": input_path,
        "period": period,
        "jobs": jobs,
        "store": store_of(context),
    }
    if goal is not None:
        if k is not None:
            raise UsageError(
                "is not for a search", where="--k", hint="Let --raise-k search above the policy's k."
            )
        budget = {"trials": trials, "cpu_seconds": cpu_seconds, "raise_k": raise_k}
        return _search(policy, goal, out, json, {**asked, **budget})
    for option, value in (("--trials", trials), ("--cpu-seconds", cpu_seconds), ("--raise-k", raise_k)):
        if value is not None:
            raise UsageError("is for a search alone", where=option, hint="Give a --goal, or leave it out.")
    if methods is None:
        raise UsageError(
            "is missing", where="--methods", hint="Name the methods to compare, or give a --goal."
        )
    return _compare(policy, k, out, json, {**asked, "seeds": 5 if seeds is None else seeds})


def _compare(policy: Path, k: str | None, out: Path, json: bool, asked: dict[str, Any]) -> int:
    """Run each method at each k and seed, and show what came of them."""
    check_output_folder(out)
    with progress_reporter() as tell:
        evaluation = evaluate_methods(policy, ks=k, **asked, tell=tell)
        tell(1.0, "figures")
        files = write(evaluation, out)
    document = document_of(evaluation)
    if json:
        write_json(document)
    else:
        show_evaluation(document, files)
    raise_if_none_succeeded(evaluation)
    return 0


def _search(policy: Path, goal: str, out: Path, json: bool, asked: dict[str, Any]) -> int:
    """Search the parameters of methods for a goal, and show the best."""
    from cli.search_tables import show_search
    from services.evaluation.search import files as search_files
    from services.evaluation.search.run import raise_if_no_trial_succeeded, search_parameters

    check_output_folder(out)
    with progress_reporter() as tell:
        found = search_parameters(policy, goal=goal, **asked, tell=tell)
    written = search_files.write(found, out)
    document = search_files.document_of(found)
    if json:
        write_json(document)
    else:
        show_search(document, written)
    raise_if_no_trial_succeeded(found)
    return 0
