"""Hu et al. (2026), table 2: classes, distributions, seconds and NCP of three methods on their samples.

python -m benchmarks.papers.s0_table2
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers import runs, s0

NAME = "s0_table2"
PRINTED = ("MDAV", "APMCA", "AE-LRHMA")
VARIANTS = s0.COMPARED

WORDS = f"""# AE-LRHMA beside MDAV and APMCA (Hu et al., 2026, table 2)

{s0.SETTING}

Why the columns do not compare one to one:

- **NCP.** The published release has an NCP of 0.3023 by intervals on Adult, above the printed 0.2808,
  and of 0.1789 on Bank, far below the printed 0.3373: the measures differ in both directions. Ours have
  less in either measure: compare our intervals with the published release, our value sets with the
  reruns.
- **MDAV.** The printed loss, the highest of the three, has the index mistake in it: the program's MDAV
  with that mended loses far less than its AE-LRHMA, and so does ours. Its order of the methods by NCP is
  not what the data say. The printed 1,251 classes of at most 8 rows on Bank cannot all hold k = 8 either:
  the sample has 10,001 rows (the paper says 10,000), and 1,251 times 8 is 10,008.
- **APMCA.** The paper says little of it, so ours is a reading. The program's leaves classes under k. The
  printed mean size of 25 on Adult is 24.3 by the printed 411 classes.
- **AE-LRHMA.** The program cuts one latent dimension at its median and sends nodes of small variance or
  unequal cuts, 56 to 60% of the records, to a remainder that joins the nearest centroids, which fills
  classes up to 24. Ours cuts by the score of eq. 7 under the constraints, then groups each leaf by
  (k,e)-MDAV: classes lie near k, and NCP is much lower, in either measure. At k 16, with twice the class
  size, it is still lower. On both samples our mdav, held to the same model, loses less than our
  ae-lrhma: in NCP the autoencoder costs (table 3), what it buys is in tables 4 and 5.
- **Entropy.** The paper's column mixes bases: natural logarithm for AE-LRHMA, base 2 for MDAV and APMCA.
  They stand here in the column of their base; the printed remark that AE-LRHMA's entropy is lower than
  APMCA's compares nats with bits (1.7690 nats are 2.552 bits, more than APMCA's 2.4973; 1.5064 nats are
  2.173 bits, more than APMCA's 2.1501). Mean p_max and mean H are over classes, so smaller classes have a
  higher p_max and a lower H whatever the method.
- **Constraints.** The program checks neither p_max nor entropy at a split and tries p_max by swaps only;
  its Bank result has 3 classes over p_max. It publishes one row a class with its first record's sensitive
  value, ours one row a record. The second table of each sample counts the classes of ours that break the
  model, k and max_group_size being the row's own. "k alone" classes may break e and p_max. The largest
  size is kept where it can be: Mondrian never cuts equal records apart, groups of equal cells are one
  class, and a group that breaks e or p_max is merged whatever the size.
- **Seconds** are of different machines (the paper: one desktop with 6 cores). Ours ran beside much other
  work, so read the CPU seconds, and even those with care: waiting threads count.
"""


def main(arguments: Sequence[str] | None = None) -> str:
    chosen = runs.parser_of(NAME, __doc__).parse_args(arguments)
    sections = s0.sections_of_classes(PRINTED, VARIANTS, seeds=chosen.seeds, quick=chosen.quick)
    return runs.told(NAME, WORDS, sections, write=not chosen.quick)


if __name__ == "__main__":
    main()
