"""Hu et al. (2026), table 4: who is found by linkage in their Adult sample.

python -m benchmarks.papers.s0_table4
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers import runs, s0

NAME = "s0_table4"
DATASET = "adult"

WORDS = f"""# Linkage on the Adult sample (Hu et al., 2026, table 4)

{s0.SETTING}

{s0.LINKAGE}

WORDS
"""


def main(arguments: Sequence[str] | None = None) -> str:
    chosen = runs.parser_of(NAME, __doc__).parse_args(arguments)
    section = s0.section_of_links(DATASET, seeds=chosen.seeds, quick=chosen.quick)
    return runs.told(NAME, WORDS, [section], write=not chosen.quick)


if __name__ == "__main__":
    main()
