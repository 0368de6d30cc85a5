"""What the benchmarks import at their first measurement is no test's own time."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import scale
from tasks.representation.autoencoder import encode


@pytest.fixture(scope="session", autouse=True)
def libraries() -> None:
    scale._load_libraries()
    encode(np.zeros((200, 2)), epochs=1)  # PyTorch imports most of itself at the first training
