"""What pycanon measures of published tables; run by `benchmarks.peers` in an environment of its own.

    python peers_pycanon.py < QUESTION > ANSWER

The question is JSON: a list of tables with `file` (CSV), `quasi_identifiers` and `sensitive`. The answer is a
list with one mapping a table, of each sensitive attribute's measures by name. It knows nothing of the rest.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pandas as pd
from pycanon import anonymity


def measures(table: dict[str, Any]) -> dict[str, dict[str, float | None]]:
    """Return every measure of each sensitive attribute by itself."""
    frame = pd.read_csv(table["file"], keep_default_na=False)
    known = table["quasi_identifiers"]
    found = {}
    for name in table["sensitive"]:
        alpha, k = anonymity.alpha_k_anonymity(frame, known, [name])
        c, l_least = anonymity.recursive_c_l_diversity(frame, known, [name])
        found[name] = {
            "k": int(anonymity.k_anonymity(frame, known)),
            "alpha of (alpha,k)": float(alpha),
            "k of (alpha,k)": int(k),
            "distinct l": int(anonymity.l_diversity(frame, known, [name])),
            "entropy l": float(anonymity.entropy_l_diversity(frame, known, [name])),
            "l of recursive (c,l)": int(l_least),
            "c of recursive (c,l)": None if np.isnan(c) else float(c),
            "t": float(anonymity.t_closeness(frame, known, [name])),
        }
    return found


if __name__ == "__main__":
    json.dump([measures(table) for table in json.load(sys.stdin)], sys.stdout)
