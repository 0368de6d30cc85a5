"""The exact attacker of the registers of `benchmarks/registers.py`.

    python -m tests.reference.registers [--people N] [--periods N] [--only WORD] [--seconds 10] [--jobs 1]

makes each sticky series, judged by no gate, and says after its last release of how many people all
releases together leave a value for certain: by the solver near each person (`near_worlds`), from what was
published, who is in which class, and what everybody has.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.registers import (
    KEY,
    PEOPLE,
    PERIODS,
    POPULATIONS,
    Series,
    every_register,
    named,
    periods_of,
)
from tests.kinds import cpu_seconds
from tests.reference.exact import judged
from tests.reference.published_series import Published, Verdict, published


def attacked(
    population: str,
    turnover: float,
    method: str,
    people: int,
    n_periods: int,
    *,
    history: str = "sticky",
    seconds: float = 10.0,
    jobs: int = 1,
) -> Verdict:
    """Release one register and return of whom the attacker is certain after the last release."""
    tables, policy = POPULATIONS[population]
    periods = periods_of(n_periods)
    with tempfile.TemporaryDirectory(prefix="releasegate-attacked-") as name:
        series = Series(policy(method, history), Path(name))
        for period, table in zip(periods, tables(people, periods, turnover), strict=True):
            series.release(period, table, [])
        releases: list[Published] = [
            published(series.file(period), period, series.policy, known, KEY)
            for period, known in zip(periods, series.people, strict=True)
        ]
        return judged(releases, series.policy.privacy.l, seconds, jobs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Attack the registers and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.reference.registers", description=__doc__)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--periods", type=int, default=PERIODS)
    parser.add_argument("--only", default="", help="registers and methods whose names hold this word")
    parser.add_argument("--seconds", type=float, default=10.0, help="of the solver, for one question")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the people")
    args = parser.parse_args(arguments)
    for each in every_register():
        if args.only in named(*each):
            begun = cpu_seconds()
            found = attacked(*each, args.people, args.periods, seconds=args.seconds, jobs=args.jobs)
            print(f"{named(*each)}: {found} ({cpu_seconds() - begun:.0f} CPU s)", flush=True)


if __name__ == "__main__":
    main()
