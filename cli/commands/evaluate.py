"""The command that compares methods; no store is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.evaluate_tables import show_evaluation
from cli.options import Input, Json, Period, PolicyFile, store_of
from cli.output import write_json
from cli.progress import progress_reporter
from services.evaluation.evaluate import evaluate as evaluate_methods
from services.evaluation.evaluate import raise_if_none_succeeded
from services.evaluation.files import check_output_folder, document_of, write

app = typer.Typer()


@app.command()
def evaluate(
    context: typer.Context,
    policy: PolicyFile,
    methods: Annotated[str, typer.Option(metavar="A,B,...", help="The methods, by name.")],
    k: Annotated[
        str | None,
        typer.Option("--k", metavar="5,8,...", help="Minimum class sizes (default: the policy's k)."),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of seeds per method, starting at the policy's seed (default: 5).",
            show_default=False,
        ),
    ] = 5,
    measures: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Utility measures (default: the fast ones)."),
    ] = None,
    input_path: Input = None,
    period: Period = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="A new folder (default: ./evaluation).", show_default=False)
    ] = Path("evaluation"),
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Worker processes (default: one a core).")
    ] = None,
    json: Json = False,
) -> int:
    """Compare methods on one table; nothing is published."""
    check_output_folder(out)
    with progress_reporter() as tell:
        evaluation = evaluate_methods(
            policy,
            methods=methods,
            ks=k,
            seeds=seeds,
            measures=measures,
            input_path=input_path,
            period=period,
            jobs=jobs,
            store=store_of(context),
            tell=tell,
        )
        tell(1.0, "figures")
        files = write(evaluation, out)
    document = document_of(evaluation)
    if json:
        write_json(document)
    else:
        show_evaluation(document, files)
    raise_if_none_succeeded(evaluation)
    return 0
