"""The stores of the tests may be worked with: tests copy them, and no configuration keeps them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def trust_test_folders() -> None:
    """Let this process, and those that it starts, work with stores in temporary folders and the checkout."""
    os.environ["RELEASEGATE_TRUST"] = os.pathsep.join([tempfile.gettempdir(), str(ROOT)])
