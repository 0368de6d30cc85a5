from __future__ import annotations

from tests.desk.chromium import chromium

__all__ = ["chromium"]
