"""Eight quarters of a household survey, judged by exact reasoning, and what passing costs.

    python -m benchmarks.survey [--quarters N] [--history repair|sticky] [--k K] [--sweeps N] [--write]

The survey's panel rotates: about 43% of a quarter's people are in the next one, none two quarters on,
about 40% four quarters on. *Held*: everybody's health insurance is that of their first answer, so that
`stable` is true. *As answered*: answers change, and `gates.worlds.changes` is that of the policy. Both
are judged by all gates of examples/policies/eph.yaml; NCP is laid beside that of the same quarter made
blind. The policy repairs and has k = 5; `--history sticky` measures signatures in its place, `--k` another
size of classes. `--sweeps 0` decides what is possible and samples no worlds; its rows are printed alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pandas as pd

from benchmarks import report
from benchmarks.panel import POLICY, QUARTERS
from benchmarks.registers import Series, people_of_point
from policy.load import load_policy
from policy.model import ReleasePolicy

WAYS = ("held", "as answered")
HISTORIES = ("repair", "sticky")
K = 5  # of the policy


def quarters(n: int, way: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the survey's quarters."""
    first: pd.Series[str] = pd.Series(dtype=object)
    with duckdb.connect() as con:
        for period in QUARTERS[:n]:
            table = con.execute(
                """SELECT person_id, agglomeration, age, sex, marital, education, health_cover
                   FROM read_parquet(?) WHERE period = ? ORDER BY person_id""",
                [str(report.datasets() / "eph" / "eph_panel_2003q3_2014q2.parquet"), period],
            ).df()
            if way == "held":
                new = table.set_index("person_id")["health_cover"]
                first = pd.concat([first, new[~new.index.isin(first.index)]])
                table = table.assign(health_cover=first[table["person_id"]].to_numpy())
            yield period, table


def policy(way: str, history: str, k: int = K, sweeps: int | None = None) -> ReleasePolicy:
    """Return the survey's policy for tables that are given quarter by quarter."""
    document = load_policy(POLICY).model_dump()
    document["method"]["history"] = history
    document["privacy"]["k"] = k
    if sweeps is not None:
        document["gates"]["worlds"]["sweeps"] = sweeps
    document["source"] = {"path": "survey.csv"}
    document["expectations"] = {"rows": {"min": 1}}
    document["period"] = "quarterly"
    if way == "held":
        document["gates"]["worlds"]["changes"] = 0.0
    return ReleasePolicy.model_validate(document)


HEADER = (
    "answers", "history", "k", "quarter", "gates", "pinned + undecided", "left out", "NCP", "blind", "ratio",
    "CPU seconds", "of these `worlds`",
)  # fmt: skip


def measured(way: str, n: int, history: str, k: int = K, sweeps: int | None = None) -> Iterator[list[str]]:
    """Release the quarters beside their history, and make each of them blind; yield the row of each."""
    with tempfile.TemporaryDirectory(prefix="releasegate-survey-") as name:
        aware, blind = (
            _series(Path(name) / side, policy(way, side, k, sweeps)) for side in (history, "blind")
        )
        for period, table in quarters(n, way):
            point, alone = aware.release(period, table), blind.release(period, table, [])
            print(way, history, k, period, point.failing, f"{point.ncp:.4f}", file=sys.stderr, flush=True)
            yield [
                way,
                history,
                str(k),
                point.period,
                "pass" if not point.failing else ", ".join(point.failing),
                people_of_point(point, "pinned", "undecided"),
                f"{100 * point.left_out:.2f}%",
                f"{point.ncp:.4f}",
                f"{alone.ncp:.4f}",
                f"{point.ncp / alone.ncp:.2f}",
                f"{point.seconds:.0f}",
                f"{point.worlds_seconds:.0f}" if point.worlds else "",
            ]


def _series(folder: Path, own: ReleasePolicy) -> Series:
    folder.mkdir()
    return Series(own, folder)


def page(rows: Sequence[Sequence[str]], command: str) -> str:
    """Return the page: a table for each way, history and k."""
    series = sorted({(WAYS.index(row[0]), HISTORIES.index(row[1]), int(row[2])) for row in rows})
    parts = []
    for way, history, k in series:
        key = [WAYS[way], HISTORIES[history], str(k)]
        own = sorted([*row[3:]] for row in rows if [*row[:3]] == key)
        title = f"## {WAYS[way].capitalize()}, k = {k}, `method.history: {HISTORIES[history]}`"
        parts.append(f"{title}\n\n{report.table([*HEADER[3:], report.DAY], own)}\n")
    tables = "\n".join(parts)
    return f"""# Eight quarters of a survey by exact reasoning

Argentina's household survey (INDEC, public use files), policy `examples/policies/eph.yaml`: l = 2,
Mondrian, sensitive health insurance. *Held*: the answers that people gave first. *As answered*: people
change their answers, and attackers must allow for a quarter of them. *Pinned* are people of this quarter or
an earlier one whom all releases together leave with one value, *undecided* those of whom the gate `worlds`
cannot tell. The ratio is that of NCP to a blind quarter's.

{tables}
Larger classes cost more detail alone, and less beside a history. Where a table has fewer than eight
quarters, the last in it, or the next, was not published: its gates say why, or the repair did not end.

{report.measured_with(command)}
Each row was measured on its own day.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Release the quarters and print, or write, the page."""
    parser = argparse.ArgumentParser(description="Publish a panel survey under exact reasoning.")
    parser.add_argument("--quarters", type=int, default=len(QUARTERS))
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/survey.md")
    parser.add_argument("--history", choices=HISTORIES, default="repair")
    parser.add_argument("--k", type=int, default=K, help="records that a class has at least")
    parser.add_argument("--sweeps", type=int, help="of sampled worlds, in place of the policy's")
    parser.add_argument("--way", choices=WAYS, action="append", help="one of the two ways only")
    args = parser.parse_args(arguments)
    if args.write and args.sweeps is not None:
        parser.error("rows with other sweeps are not written")
    command, rows = "python -m benchmarks.survey --write", []
    for way in args.way or WAYS:
        for row in measured(way, args.quarters, args.history, args.k, args.sweeps):
            rows.append([*row, "now"])
            if args.write:  # what is measured is not lost if the next is not
                known = report.kept_rows("survey.csv", HEADER, [row], keys=4)
                report.write("survey.md", page(known, command))
    print(page(rows, command))
    return 0


if __name__ == "__main__":
    sys.exit(main())
