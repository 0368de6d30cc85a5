"""Debian's Chromium, headless, before pages that are files: what they say, ask for and look like to axe."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service

from tests.e2e.browser import CHROMIUM, DRIVER, OPTIONS
from tests.support.timeouts import HANG_TIMEOUT

A4 = 718  # CSS pixels between its margins
# Widths and dark or not: both of both, not each with each, which the nightly tests look at.
VIEWS = ((1280, False), (390, True))
EVERY_VIEW = tuple((width, dark) for width in (1280, 390) for dark in (False, True))
_AXE = "axe_playwright_python"  # only for the axe.min.js that it brings along
_RUN_AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(
  (found) => done(found.violations), (error) => done(String(error)));
"""
_PAINTED = "requestAnimationFrame(() => requestAnimationFrame(arguments[arguments.length - 1]))"


class Chromium:
    """One window, in which one page after the other is opened."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver
        self._axe = resources.files(_AXE).joinpath("axe.min.js").read_text(encoding="utf-8")

    def window(self, width: int, *, dark: bool = False) -> None:
        """Set the width of the page, a telephone's under 500, and what the system says of light and dark."""
        height, mobile = (844, True) if width < 500 else (900, False)
        self._devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=mobile,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._devtools("Emulation.setEmulatedMedia", features=[scheme])

    def paper(self) -> None:
        """Show pages as they are printed on A4, until the window is set again."""
        self.window(A4)
        self._devtools("Emulation.setEmulatedMedia", media="print")

    def printed(self) -> bytes:
        """Return the page as a PDF, as the browser's own command to print makes it."""
        made = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        return base64.b64decode(made["data"])

    def scripts(self, run: bool) -> None:
        """Let the scripts of the pages that are opened from now on run, or not."""
        self._devtools("Emulation.setScriptExecutionDisabled", value=not run)

    def open(self, page: Path) -> None:
        """Open a file, and forget what others said and asked for."""
        self.driver.get("about:blank")
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)
        self.driver.get(page.resolve().as_uri())
        # Under load the driver was seen to return while the page was still read.
        self.until(
            f"{page.name} read",
            lambda: self.run("return location.protocol === 'file:' && document.readyState === 'complete'"),
        )

    def forget(self) -> None:
        """Forget what pages kept in the browser, such as the choice of dark; all files share it."""
        # The open page's process forgets at once here; what the browser clears reaches it later, under load
        # after the next page was read.
        self.run("try { localStorage.clear(); } catch { /* not a file's page */ }")
        self._devtools("DOMStorage.enable")
        for origin in ("file://", "file:///"):
            where = {"isLocalStorage": True, "securityOrigin": origin, "storageKey": "file:///"}
            self._devtools("DOMStorage.clear", storageId=where)

    def said(self) -> list[str]:
        """Return what is on the console since the page was opened: errors, warnings and all else."""
        return [f"{line['level']}: {line['message']}" for line in self.driver.get_log("browser")]

    def asked_for(self) -> list[str]:
        """Return the address of every request since the page was opened."""
        told = (json.loads(line["message"])["message"] for line in self.driver.get_log("performance"))
        return [
            str(one["params"]["request"]["url"])
            for one in told
            if one["method"] == "Network.requestWillBeSent"
        ]

    def run(self, code: str, *given: Any) -> Any:
        """Return what a function's body returns in the page."""
        return self.driver.execute_script(code, *given)  # type: ignore[no-untyped-call]

    def until(self, what: str, condition: Callable[[], Any]) -> Any:
        """Return the first true answer; fail where none comes."""
        end = time.monotonic() + HANG_TIMEOUT
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.02)
        raise AssertionError(f"{what} did not happen in {HANG_TIMEOUT:g} s; the console: {self.said()}")

    def draw_all(self) -> int:
        """Open what holds pictures, scroll to each, wait until it is drawn, and return how many there are."""
        folded = "document.querySelectorAll('details:has([data-picture])')"
        self.run(f"{folded}.forEach((one) => {{ one.open = true; }})")
        n: int = self.run("return document.querySelectorAll('[data-picture]').length")
        for i in range(n):
            # What is still laid out can move it away again: it is scrolled to until it is drawn.
            self.until(
                f"picture {i}",
                lambda i=i: self.run(
                    "const at = document.querySelectorAll('[data-picture]')[arguments[0]];"
                    "const drawn = at.dataset.drawn && at.querySelector('svg, canvas') !== null;"
                    "if (!drawn) at.scrollIntoView({block: 'center'});"
                    "return drawn",
                    i,
                ),
            )
        # Keys would go on from the last picture.
        self.run(
            "document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')"
        )
        self.run("scrollTo(0, 0)")
        return n

    def violations(self) -> list[str]:
        """Return what axe finds that is serious or critical: rule, impact, and where."""
        self.run(self._axe)
        found = self.driver.execute_async_script(_RUN_AXE)  # type: ignore[no-untyped-call]
        assert isinstance(found, list), found
        return [
            f"{one['id']} ({one['impact']}): {[node['html'][:200] for node in one['nodes'][:3]]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]

    def whole_page(self, path: Path) -> None:
        """Write the whole page to a PNG, as wide as the window."""
        made = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "fromSurface": True}
        )
        path.write_bytes(base64.b64decode(made["data"]))

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, in a page that was painted: what comes earlier is dropped."""
        self.driver.execute_async_script(_PAINTED)  # type: ignore[no-untyped-call]
        ActionChains(self.driver, duration=0).send_keys(*keys).perform()

    def _devtools(self, command: str, **given: Any) -> None:
        self.driver.execute_cdp_cmd(command, given)


@contextmanager
def opened() -> Iterator[Chromium]:
    """Open a browser in a new folder of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which(CHROMIUM) or CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for option in (*OPTIONS, f"--user-data-dir={folder}"):
            options.add_argument(option)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which(DRIVER)))
        driver.set_script_timeout(HANG_TIMEOUT)
        driver.command_executor.client_config.timeout = HANG_TIMEOUT  # of an answer: 120 by itself
        try:
            yield Chromium(driver)
        finally:
            driver.quit()
