"""Commands that help to write a policy and to choose a method; no store is needed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.evaluate_tables import show_evaluation
from cli.method_list import methods_document, show_methods
from cli.options import Input, Json, Period, PolicyFile, store_of
from cli.output import write_json
from cli.progress import progress_reporter
from services.drafting.draft import draft as draft_policy
from services.evaluation.evaluate import evaluate as evaluate_methods
from services.evaluation.evaluate import raise_if_none_succeeded
from services.evaluation.files import check_output_folder, document_of, write
from services.trust import trusted_in

app = typer.Typer()


@app.command()
def draft(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A CSV or Parquet file.")],
) -> int:
    """Draft a commented policy from a table."""
    sys.stdout.write(draft_policy(table))
    return 0


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


@app.command()
def methods(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="METHOD", help="Show this method's parameters.")
    ] = None,
    json: Json = False,
) -> int:
    """List the methods that a policy can name."""
    trusted_in(store_of(context))
    document = methods_document(name)
    if json:
        write_json(document)
    else:
        show_methods(document)
    return 0
