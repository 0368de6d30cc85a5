"""What all tests share: the rules of their kinds, profiles of Hypothesis, where the data sets are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.kinds import Rules, limit_of_environment
from tests.support.trusting import trust_test_folders

pytest_plugins = (
    "tests.support.stores",
    "tests.support.strangers",
    "tests.support.s3_server",
    "tests.support.postgres_server",
    "tests.support.pages.fixtures",
)

ROOT = Path(__file__).resolve().parents[1]
DATASETS = Path(os.environ.get("RELEASEGATE_DATASETS", ROOT.parent / "shared" / "datasets"))

# The product keeps Python from looking for modules in the folder where it starts, so children are told.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

trust_test_folders()

# How long an example takes says more of the machine's other work than of ours. `.ci/run` judges every change
# by the same examples; any other run looks for new ones, and the nightly one for many.
PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("search", max_examples=20, **PATIENT)
settings.register_profile("same", max_examples=20, derandomize=True, **PATIENT)
settings.register_profile("nightly", max_examples=500, **PATIENT)
settings.load_profile(os.environ.get("RELEASEGATE_EXAMPLES", "search"))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Rules(limit_of_environment()), "rules of kinds")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if DATASETS.is_dir():
        return
    absent = pytest.mark.skip(reason="the public data sets are not here (docs/datasets.md)")
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(absent)
