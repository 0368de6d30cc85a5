"""Majeed, Lee and Hwang (2025), figures 6, 7 and 8: what attackers (ii), (iv) and (v) learn over k.

python -m benchmarks.papers.s2_figure6
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import report
from benchmarks.papers import s2
from benchmarks.papers.s2_attacks import attacks
from benchmarks.papers.trial import Figures, Trial, cell, written

NAME = "s2_figure6"
MOST_ROWS = 5_000
SHOWN = ("ii", "iv", "v")
FIGURES = ("sadr ii", "right ii", "row iv", "cells iv", "sadr v", "right v")
HEADER = ("6: SADR ii", "right ii", "7: Pr(DR) iv, row", "cells iv", "8: SADR v", "right v")

WORDS = f"""# Three attackers over k, beside the curriculum scheme's paper (2025, figures 6, 7 and 8)

{s2.DATA_WORDS} At most {MOST_ROWS:,} records of each table, drawn with seed 0. The paper's
seven values of k from 5 to 200 are not listed; here k is 5, 20, 50 and 200.

Figure 6 is of attacker (ii), who knows all quasi-identifiers, figure 7 of (iv), who knows half of
them and the sensitive value, figure 8 of (v), who knows all, a tenth of the cells wrong. Each
attacks 5% of the source, drawn five times. *SADR* (eq. 11) is the largest share of one sensitive
value in the rows that fit, *right* how often that value is the person's own. Of (iv), who knows
that value, *Pr(DR), row* is the chance to draw the person's own row where the release does not
exclude it (for the nearest of noised rows an upper bound), and *cells* the chance to draw all
unknown quasi-identifiers. The paper also exposed "data from both parts (e.g., balanced and
imbalanced)", without saying which; here the people are drawn from the whole table.

{s2.SENSITIVITY_WORDS}

The figures are only plotted, so that there are directions to compare and no numbers. The paper
says: every risk falls with k, for all methods; that of the scheme is lowest, but for figure 6 at
low k, where it is "slightly higher"; in figure 7 no risk is very high; table C has the lowest.

What is seen.

- SADR (figures 6 and 8) is not lowest for the scheme. With the sensitivity of the bounds it is higher
  than that of both rivals on every table at every k (0.93 to 0.99 on Adult and Diabetes), and not
  slightly. With a sensitivity of 1 it is higher too, but for Diabetes at k 200, where it is about
  equal. The nearest of noised rows is mostly a single one, and one row has one value.
- By *right* the paper's order holds with the sensitivity of the bounds, on every table at every k: who
  trusts the nearest noised row is right less often than with either rival, and on Adult and Diabetes
  less often than who always says the majority. With a sensitivity of 1 this holds on Adult and
  Diabetes by little; on Synthea it fails against `mdav` from k 20 on, and against `mondrian` at k 20
  and 200.
- SADR falls with k for every method on Synthea. On Diabetes it falls for the scheme with a
  sensitivity of 1 and for the rivals; on Adult for the rivals alone.
- Figure 7, by rows: the scheme's risk is the highest by far, 0.32 to 0.45 with the sensitivity of the
  bounds and 0.05 to 0.17 with 1, where the rivals have 0.011 at most. Nothing excludes a nearest row,
  so this is an upper bound. It falls with k for all, but for the scheme on Synthea at first.
- Figure 7, by cells: the scheme with the sensitivity of the bounds has the lowest risk, since a
  noised number seldom is the true one. With 1 it has less than both rivals on Diabetes, and on Adult
  up to k 50; on Synthea it has about as much as `mondrian`, which is more than `mdav` from k 20 on.
- Table C has the lowest SADR for every method, as in the paper. In figure 7 it has the lowest risk
  for the scheme by rows, but by cells mostly the highest, and by rows the highest for the rivals.
- A tenth of wrong cells (v) changes SADR by about 0.02 at most."""


def learnt(made: Trial) -> Figures:
    """Return the figures of the three attackers."""
    return attacks(made, SHOWN)


def rows(key: str, *, quick: bool) -> str:
    """Return one data set's section."""
    data = s2.table(key, MOST_ROWS, quick=quick)
    lines: dict[str, list[list[str]]] = {}
    majority = 0.0
    for k in s2.QUICK_KS if quick else s2.KS:
        for label, policies in s2.compared(data.policy, k, s2.seeds(quick=quick)).items():
            found = s2.figures(data.source, policies, learnt)
            cells = [cell(found[name], 4 if name == "row iv" else 3) for name in FIGURES]
            lines.setdefault(label, []).append([f"{label}, k {k}", *cells])
            majority = found["majority"][0] or 0.0
    table = report.table(["", *HEADER], [line for one in lines.values() for line in one])
    return f"## {data.title}\n\nThe most frequent sensitive value has a share of {majority:.3f}.\n\n{table}"


def main(arguments: Sequence[str] | None = None) -> str:
    chosen = s2.asked(__doc__, NAME).parse_args(arguments)
    sections = [rows(key, quick=chosen.quick) for key in chosen.datasets]
    return written(NAME, WORDS, sections, quick=chosen.quick)


if __name__ == "__main__":
    main()
