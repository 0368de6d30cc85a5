"""Majeed, Lee and Hwang (2025), table 5: 95% confidence intervals of SADR and Pr(DR) over five attackers.

python -m benchmarks.papers.s2_table5
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks import report
from benchmarks.papers import s2
from benchmarks.papers.s2_attacks import ATTACKERS, GUESS, one_draw
from benchmarks.papers.trial import Figures, trial, written
from policy.model import ReleasePolicy
from tasks.risk.attacks.intervals import interval
from tasks.types import FloatArray, SourceTable

NAME = "s2_table5"
MOST_ROWS = 5_000
RUNS = 5

PRINTED = {
    "A": ((0.42, 0.67), (0.55, 0.66), (0.60, 0.69), (0.63, 0.73), (0.65, 0.76), (0.69, 0.81), (0.73, 0.86)),
    "C": ((0.43, 0.58), (0.52, 0.60), (0.57, 0.64), (0.60, 0.69), (0.63, 0.73), (0.67, 0.77), (0.71, 0.81)),
    "D": ((0.51, 0.67), (0.55, 0.70), (0.58, 0.72), (0.61, 0.75), (0.64, 0.78), (0.67, 0.83), (0.70, 0.86)),
}
TOGETHER = tuple(f"sadr {n}" if n in GUESS else f"row {n}" for n in ATTACKERS)
KINDS = {
    "SADR": tuple(f"sadr {n}" for n in GUESS),
    "Pr(DR), row": tuple(f"row {n}" for n in ATTACKERS),
    "together": TOGETHER,
}

WORDS = f"""# 95% intervals of SADR and Pr(DR), beside the curriculum scheme's paper (2025, table 5)

{s2.DATA_WORDS} At most {MOST_ROWS:,} records of each table, drawn with seed 0. The paper's
seven values of k from 5 to 200 are not listed; here k is 5, 20, 50 and 200, and every figure is
over all four.

The attackers are those of `s2_table4.md`. The paper prints one interval a scheme, of "SADR /
Pr(DR) for five attack scenarios", and says neither over what it is taken nor how; its middles
are the means of table 4 to 0.01. Two readings stand here, by Student's t:

- *over attackers*: a value is one attacker's mean over k and five runs.
- *over five runs*: a value is one run's mean over k and attackers. Run r has the noise of seed r
  and attacks the r-th draw of 5% of the source; the paper repeats its experiments five times.

*SADR* is of the three attackers who do not know the sensitive value; *Pr(DR), row* of all five;
*together* has SADR of those three and Pr(DR), row of the other two, one value an attacker, which
is nearest to what the paper describes (section 5.4). Intervals are not cut off at 0 and 1.

{s2.SENSITIVITY_WORDS}

Where the paper contradicts itself: it says that its scheme "yielded a narrower gap than most
baselines across datasets". By its own table its interval is the widest on Adult (0.25, others at
most 0.13) and on Careplans (0.15, others at most 0.10), and on Diabetes as wide as the widest two
(0.16).

What is seen.

- Over attackers the intervals say little. *together* is 0.5 to 1.1 wide for every method, since SADR is
  a half at least (on Synthea a quarter) and Pr(DR) of (iii) near 0; all these intervals overlap. The
  printed widths of 0.07 to 0.25 are not those of five attackers like these.
- Over five runs *together* is 0.02 wide at most, narrower than any printed interval, and no interval
  of the scheme meets one of a rival: the scheme's risk is higher on every table with either
  sensitivity. That is worse than both plain methods. By SADR alone the same holds, but for Diabetes
  with a sensitivity of 1, whose interval holds those of both.
- A narrower gap of the scheme is not seen either. Over attackers its SADR and Pr(DR) have wider
  intervals than those of both rivals on every table; over runs its Pr(DR) has, and on Synthea and
  Diabetes its SADR.
- The mean of *together* is above the printed one with the sensitivity of the bounds on Adult (0.65,
  printed 0.55) and Diabetes (0.62, 0.59), and under it elsewhere."""


def matrix(source: SourceTable, policies: Sequence[ReleasePolicy], runs: int) -> dict[str, FloatArray]:
    """Return the figures (runs,) of each attacker: run r has the r-th draw of the noise, if there is any, and
    of the people attacked.
    """
    found: list[Figures] = []
    if len(policies) == 1:
        with trial(source, policies[0]) as made:
            found = [one_draw(made, draw) for draw in range(runs)]
    else:
        for draw, policy in enumerate(policies):
            with trial(source, policy) as made:
                found.append(one_draw(made, draw))
    return {name: np.array([run[name] for run in found], dtype=np.float64) for name in found[0]}


def ends(values: FloatArray) -> tuple[str, str]:
    """Return the 95% interval of a mean and its width, as texts; nothing of a single value."""
    mean, half = interval(values)
    if np.isnan(half):
        return "", ""
    return f"{mean - half:.3f} to {mean + half:.3f}", f"{2 * half:.3f}"


def over_attackers(by_k: Sequence[dict[str, FloatArray]], names: Sequence[str]) -> FloatArray:
    """Return each attacker's mean over runs and k, (attackers,)."""
    return np.array([np.mean([one[name].mean() for one in by_k]) for name in names])


def over_runs(by_k: Sequence[dict[str, FloatArray]], names: Sequence[str]) -> FloatArray:
    """Return each run's mean over attackers and k, (runs,)."""
    return np.asarray(np.mean([np.mean([one[name] for name in names], axis=0) for one in by_k], axis=0))


def rows(key: str, *, quick: bool) -> str:
    """Return one data set's section."""
    data = s2.table(key, MOST_ROWS, quick=quick)
    by_label: dict[str, list[dict[str, FloatArray]]] = {}
    for k in s2.QUICK_KS if quick else s2.KS:
        for label, policies in s2.compared(data.policy, k, range(RUNS)).items():
            by_label.setdefault(label, []).append(matrix(data.source, policies, RUNS))
    attackers = [
        [f"paper: {scheme}", f"{low:.2f} to {high:.2f}", f"{high - low:.2f}", *[""] * 9]
        for scheme, (low, high) in zip(s2.SCHEMES, PRINTED[key], strict=True)
    ]
    runs: list[list[str]] = []
    for label, by_k in by_label.items():
        line, second = [f"ours: {label}", "", ""], [f"ours: {label}"]
        for names in KINDS.values():
            values = over_attackers(by_k, names)
            line += [f"{values.mean():.3f}", *ends(values)]
            second += ends(over_runs(by_k, names))
        attackers.append(line)
        runs.append(second)
    header = ["95% interval over attackers", "SADR/Pr(DR)", "width"]
    header += [text for kind in KINDS for text in (f"{kind}, mean", kind, "width")]
    again = ["95% interval over five runs", *(text for kind in KINDS for text in (kind, "width"))]
    return "\n\n".join([f"## {data.title}", report.table(header, attackers), report.table(again, runs)])


def main(arguments: Sequence[str] | None = None) -> str:
    chosen = s2.asked(__doc__, NAME).parse_args(arguments)
    sections = [rows(key, quick=chosen.quick) for key in chosen.datasets]
    return written(NAME, WORDS, sections, quick=chosen.quick)


if __name__ == "__main__":
    main()
