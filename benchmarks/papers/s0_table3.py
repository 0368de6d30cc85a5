"""Hu et al. (2026), table 3: their method without diversity and without the autoencoder.

python -m benchmarks.papers.s0_table3
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.papers import runs, s0
from benchmarks.papers.runs import Variant


def _original(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": "ae-lrhma", "representation": "original", "parameters": parameters}


NAME = "s0_table3"
PRINTED = ("AE-LRHMA", "AE-LRHMA without diversity", "AE-LRHMA without the autoencoder")
VARIANTS = (
    s0.AE,
    Variant("ae-lrhma without diversity", privacy=s0.K_ALONE, drawn=True),
    Variant("ae-lrhma without the autoencoder", method=_original(s0.CAP)),
    s0.AE_AS_PAPER,
    Variant(f"{s0.AE_AS_PAPER.name}, without diversity", None, s0.AS_PAPER, s0.K_ALONE, drawn=True),
    Variant(f"{s0.AE_AS_PAPER.name}, without the autoencoder", method=_original({**s0.CAP, **s0.AS_PAPER})),
)

WORDS = f"""# AE-LRHMA without its parts (Hu et al., 2026, table 3)

{s0.SETTING}

TABLE3
"""


def main(arguments: Sequence[str] | None = None) -> str:
    chosen = runs.parser_of(NAME, __doc__).parse_args(arguments)
    sections = s0.sections_of_classes(PRINTED, VARIANTS, seeds=chosen.seeds, quick=chosen.quick)
    return runs.told(NAME, WORDS, sections, write=not chosen.quick)


if __name__ == "__main__":
    main()
