"""The examples are no installed package: they are imported from the repository's root."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[3])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
