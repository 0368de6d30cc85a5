"""Debian's Chromium, opened once for all tests of pages: skipped with a word where there is none."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from tests.e2e.browser import CHROMIUM, DRIVER, OPTIONS, lacking

VARIABLE = "RELEASEGATE_E2E_BROWSER"


@pytest.fixture(scope="session")
def chromium() -> Iterator[webdriver.Chrome]:
    """A browser without a window, which keeps what pages say to its console: `get_log("browser")`."""
    if missing := lacking():
        told = f"no {' and no '.join(missing)} to open pages in (apt-get install chromium chromium-driver)"
        if os.environ.get(VARIABLE) == "required":
            pytest.fail(f"{VARIABLE} is required, and there is {told}")
        pytest.skip(told)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which(CHROMIUM) or CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for option in (*OPTIONS, f"--user-data-dir={folder}"):
            options.add_argument(option)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which(DRIVER)))
        driver.set_script_timeout(120)
        try:
            yield driver
        finally:
            driver.quit()
