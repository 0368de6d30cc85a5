"""The page that verifies a bundle, as a file that a browser opens, and what it says of bundles."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from release_store.evidence.examine import examine
from release_store.evidence.findings import Report
from reports.pages import asset
from reports.site.build import VERIFY_SCRIPTS
from tests.support.timeouts import HANG_TIMEOUT

DESK = Path(__file__).resolve().parents[3] / "reports"
KEPT = "kept.json"
AT_ONCE = 40  # bundles in one message to the browser
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{{ digest }}'">
<title>Verify</title>
</head>
<body>
<main>{{ body }}</main>
<button type="button" id="theme" hidden></button>
<script>{{ script }}</script>
</body>
</html>
"""
_MANY = """
const done = arguments[arguments.length - 1];
const bytes = (text) => text === null ? null : Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
(async () => {
  const told = [];
  for (const {name, bundle, key, checkpoint} of arguments[0]) {
    told.push(await verifyBundle(bytes(bundle), key, {name, checkpoint: bytes(checkpoint)}));
  }
  return told;
})().then(done, (error) => done(String(error)));
"""


def element(driver: webdriver.Chrome, name: str) -> WebElement:
    return driver.find_element(By.ID, f"verify-{name}")


def result(driver: webdriver.Chrome) -> str:
    """Return what stands on the page when the verdict is there."""
    WebDriverWait(driver, HANG_TIMEOUT).until(lambda _: element(driver, "result").is_displayed())
    return element(driver, "result").text


@dataclass(frozen=True)
class Case:
    """A bundle to be judged, and what the reader kept."""

    name: str
    bundle: bytes
    key: str | None = None
    checkpoint: bytes | None = None


def written(folder: Path) -> Path:
    """Write the page with its script in it, under a policy that lets it ask for nothing."""
    script = "".join(map(asset, VERIFY_SCRIPTS))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    pages = jinja2.Environment(loader=jinja2.FileSystemLoader(DESK / "templates"), autoescape=True)
    body = pages.get_template("verify_body.html").render()
    page = folder / "verify.html"
    whole = jinja2.Template(_PAGE, autoescape=False).render(digest=digest, body=body, script=script)
    page.write_text(whole)
    return page


def opened(driver: webdriver.Chrome, page: Path) -> webdriver.Chrome:
    """Open the page anew, with nothing said to the console yet."""
    driver.get(page.as_uri())
    driver.get_log("browser")
    return driver


def in_base64(several: Sequence[bytes]) -> list[str]:
    """Return bytes as a message to the browser can hold them."""
    return [base64.b64encode(one).decode() for one in several]


def judged(driver: webdriver.Chrome, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Return what the open page says of bundles, in their order."""

    def text(data: bytes | None) -> str | None:
        return None if data is None else in_base64([data])[0]

    told: list[dict[str, Any]] = []
    for at in range(0, len(cases), AT_ONCE):
        given = [
            {"name": one.name, "bundle": text(one.bundle), "key": one.key, "checkpoint": text(one.checkpoint)}
            for one in cases[at : at + AT_ONCE]
        ]
        found = driver.execute_async_script(_MANY, given)
        assert isinstance(found, list), found
        told += found
    return told


def by_the_script(case: Case, folder: Path) -> Report:
    """Return what the script says of a bundle."""
    bundle, checkpoint = folder / case.name, None
    bundle.write_bytes(case.bundle)
    if case.checkpoint is not None:
        checkpoint = folder / KEPT
        checkpoint.write_bytes(case.checkpoint)
    return examine(bundle, case.key, checkpoint)


def agree(driver: webdriver.Chrome, cases: Sequence[Case], folder: Path) -> list[dict[str, Any]]:
    """Return what the page says of bundles: it accepts and refuses what the script does."""
    told = judged(driver, cases)
    assert len(told) == len(cases)
    for case, page in zip(cases, told, strict=True):
        script = by_the_script(case, folder)
        assert page["verified"] is (not script.findings), (case.name, page["findings"], script.findings)
        assert page["verified"] is bool(page["summary"]) is not bool(page["findings"]), case.name
        if page["verified"]:
            assert len(page["notes"]) == len(script.notes), case.name
    return told
