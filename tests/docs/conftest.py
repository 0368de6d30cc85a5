"""The docs' helpers are modules beside the tests; flows run on one Prefect server of this folder's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flows import settings
from tests.timeouts import HANG_TIMEOUT


@pytest.fixture(scope="module")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Prefect in a folder of the tests' own, with the settings of the command line."""
    home = tmp_path_factory.mktemp("prefect")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**settings.DEFAULTS, **settings.REQUIRED, "PREFECT_HOME": str(home)}.items():
            patch.setenv(name, value)
        from prefect.context import refresh_global_settings_context
        from prefect.testing.utilities import prefect_test_harness

        refresh_global_settings_context()
        with prefect_test_harness(server_startup_timeout=int(HANG_TIMEOUT)):
            yield
    refresh_global_settings_context()
