"""What a search writes: results.csv with a line a run, and results.json with the trials and the best."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from release_store.canonical import indented_json
from release_store.records import Verdict
from reports.documents import Document
from services.evaluation.files import BEFORE, HOLDS, cell_text, new_folder
from services.evaluation.search.goal import WORST
from services.evaluation.search.ranking import TableRun
from services.evaluation.search.run import Search, Trial
from tasks.utility.measures import MEASURES

WHO = ("trial", "method", "k", "parameters", "period", "seed", "finding", "gates")


def columns_of(search: Search) -> list[str]:
    """Return the columns of figures, in their order, whichever runs failed."""
    policy = search.policy
    linked = [f"{what}_{share:g}" for share in policy.linkage.ext_frac for what in WORST]
    by_name = [f"ncp:{name}" for name in policy.roles.quasi_identifiers]
    measured = [figure for name in search.measures for figure in MEASURES[name].figures]
    return [*BEFORE, *linked, *WORST, "sadr", *HOLDS, *measured, *by_name, "cpu_seconds"]


def csv_text(search: Search) -> str:
    """Return one line a run; a figure without a meaning is an empty cell."""
    columns = columns_of(search)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*WHO, *columns])
    for number, trial in enumerate(search.trials, 1):
        for run in trial.runs:
            cells = [cell_text(value) for value in _figures(run, columns).values()]
            parameters = json.dumps(trial.policy.method.parameters, ensure_ascii=False)
            who = [number, trial.label, trial.policy.privacy.k, parameters, run.period, run.seed, run.finding]
            writer.writerow([*who, " ".join(_failing(run)), *cells])
    return text.getvalue()


def _figures(run: TableRun, columns: list[str]) -> Document:
    known = {**run.figures, "cpu_seconds": run.cpu_seconds}
    return {name: known.get(name) for name in columns}


def _failing(run: TableRun) -> list[str]:
    return [gate.gate for gate in run.gates if gate.verdict is not Verdict.PASS]


def document_of(search: Search) -> Document:
    """Return what was searched, the best trial, the front, and all trials, as JSON values."""
    return {
        "series": search.policy.series,
        "goal": str(search.goal),
        "met": search.met,
        "best": search.best + 1,
        "policy": search.lines,
        "front": [place + 1 for place in search.front],
        "interrupted": search.interrupted,
        "budget": {"trials": search.budget.trials, "cpu_seconds": search.budget.cpu_seconds},
        "cpu_seconds": search.budget.used_seconds,
        "periods": list(search.periods),
        "rows": list(search.rows),
        "seeds": list(search.seeds),
        "measures": list(search.measures),
        "searched": [
            {"method": each.label, "parameters": {axis.name: list(axis.values) for axis in each.grid.axes}}
            for each in search.grids
        ],
        "trials": [_trial(number, trial, search) for number, trial in enumerate(search.trials, 1)],
    }


def _trial(number: int, trial: Trial, search: Search) -> Document:
    columns, ranked = columns_of(search), trial.ranked
    return {
        "trial": number,
        "method": trial.label,
        "k": trial.policy.privacy.k,
        "parameters": trial.policy.method.parameters,
        "changes": trial.changes,
        "standing": ranked.standing.name.lower(),
        "objective": ranked.objective,
        "limits": [
            {"limit": str(limit), "worst": worst, "beyond": ranked.beyond.get(limit, 0.0)}
            for limit, worst in ranked.worst.items()
        ],
        "gates": list(ranked.failing),
        "cpu_seconds": trial.cpu_seconds,
        "runs": [
            {
                "period": run.period,
                "seed": run.seed,
                "finding": run.finding,
                "gates": _failing(run),
                **_figures(run, columns),
            }
            for run in trial.runs
        ],
    }


def write(search: Search, out: Path) -> list[Path]:
    """Write both files into `out`, which appears whole or not at all; return them in their order."""
    with new_folder(out) as made:
        (made / "results.csv").write_text(csv_text(search), encoding="utf-8")
        text = indented_json(document_of(search), allow_nan=False)
        (made / "results.json").write_text(text + "\n", encoding="utf-8")
    return sorted(out.iterdir())
