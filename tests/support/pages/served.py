"""`releasegate serve` as a process of its own, and a browser before its pages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from selenium.webdriver.common.by import By

from tests.support.at_work import key_file
from tests.support.pages.chromium import Chromium

Stored = TypeVar("Stored")


@contextmanager
def served(root: Path) -> Iterator[str]:
    """Serve a store on a free port of this machine, and give the address."""
    command = [sys.executable, "-m", "cli", "--store", str(root), "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            address = line.partition(" at ")[2].partition(" ")[0].rstrip("/")
            assert address.startswith("http://127.0.0.1:"), line
            yield address
        finally:
            process.terminate()
            process.wait()


class Reviewer:
    """Somebody at a browser, with the file of their key."""

    def __init__(self, chromium: Chromium, address: str, folder: Path, name: str) -> None:
        self.chromium, self.address, self.name = chromium, address, name
        self.key = key_file(folder, name)

    def open(self, path: str) -> None:
        """Open a page of the server."""
        self.chromium.driver.get(f"{self.address}{path}")

    def log_in(self) -> None:
        """Log in, from whatever page is open."""
        self.open("/login")
        self.sign("form.signed", "login")
        self.chromium.until("the overview", lambda: self.heading() == "What waits")

    def log_out(self) -> None:
        """Log out."""
        self.chromium.driver.find_element(By.CSS_SELECTOR, ".person button").click()
        self.chromium.until("the page to log in", lambda: self.heading() == "Log in")

    def sign(self, form: str, act: str, text: str | None = None) -> None:
        """Fill in a form, choose the file of the key, and press a button of the form."""
        found = self.chromium.driver.find_element(By.CSS_SELECTOR, form)
        if text is not None:
            field = found.find_element(By.TAG_NAME, "textarea")
            field.clear()
            field.send_keys(text)
        found.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(str(self.key))
        found.find_element(By.CSS_SELECTOR, f"button[value={act}]").click()

    def told(self, text: str) -> None:
        """Wait until the page says what came of an act."""

        def is_told() -> bool:
            assert self.heading() != "Not done", self.text("main")
            return text in self.text("[role=status]")

        self.chromium.until(text, is_told)

    def heading(self) -> str:
        """Return the page's heading, or nothing while it is being loaded."""
        return self.text("h1")

    def text(self, selector: str) -> str:
        """Return the text of the first element of a selector, or nothing if there is none."""
        code = "return document.querySelector(arguments[0])?.textContent ?? ''"
        return str(self.chromium.run(code, selector)).strip()

    def until_stored(self, read: Callable[[], list[Stored]]) -> list[Stored]:
        """Return what a store has as soon as it has something."""
        found: list[Stored] = self.chromium.until("something in the store", read)
        return found
