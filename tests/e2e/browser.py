"""A real Chromium before Prefect's pages: the log-in, the form of a deployment, the pages of a run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.wait import WebDriverWait

from tests.support.timeouts import HANG_TIMEOUT

CHROMIUM, DRIVER = "chromium", "chromedriver"
WIDTH, HEIGHT = 1200, 1180
TRIES = 5
BUSY = "Unknown error while creating flow run"
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--window-size={WIDTH},{HEIGHT}",
)


def lacking() -> list[str]:
    """Return the programs that are not here and must be, for a form to be filled in."""
    return [name for name in (CHROMIUM, DRIVER) if shutil.which(name) is None]


@contextmanager
def browser(address: str, password: str, pictures: Path) -> Iterator[Browser]:
    """Open Chromium in a new folder of its own, and log in; what it shows at a failure goes to `pictures`."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which(CHROMIUM) or CHROMIUM
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for option in (*OPTIONS, f"--user-data-dir={folder}"):
            options.add_argument(option)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which(DRIVER)))
        made = Browser(driver, address)
        try:
            made.log_in(password)
            yield made
        except BaseException:
            made.picture(pictures / "failed.png")
            raise
        finally:
            driver.quit()


class Browser:
    """Prefect's pages, by what a person sees of them."""

    def __init__(self, driver: webdriver.Chrome, address: str) -> None:
        self.driver, self.address = driver, address
        self.wait = WebDriverWait(driver, HANG_TIMEOUT)

    def log_in(self, password: str) -> None:
        """Give the password that the pages ask for."""
        self.driver.get(f"{self.address}/v2/login")
        field = self.wait.until(
            expected_conditions.element_to_be_clickable((By.CSS_SELECTOR, "input[type=password]"))
        )
        field.send_keys(password, Keys.ENTER)
        self.wait.until(lambda driver: "/login" not in driver.current_url)

    def open_form(self, deployment_id: str) -> None:
        """Open the form of a deployment's run."""
        self.driver.get(f"{self.address}/v2/deployments/deployment/{deployment_id}/run")
        self.wait.until(expected_conditions.element_to_be_clickable((By.XPATH, "//button[.='Submit']")))

    def fill_in(self, texts: Mapping[str, str], choices: Mapping[str, str]) -> None:
        """Write into the fields named, and choose from the lists named."""
        for name, text in texts.items():
            field = self._field(name)
            field.clear()
            field.send_keys(text)
        for name, choice in choices.items():
            self._field(name).click()
            option = (By.XPATH, f"//*[@role='option'][.='{choice}']")
            self.wait.until(expected_conditions.element_to_be_clickable(option)).click()

    def submit(self) -> None:
        """Send the form; it goes away when the server has made a run of it.

        Where the server was busy, the page says so and makes none; a person sends the form again.
        """
        for _ in range(TRIES):
            self.driver.find_element(By.XPATH, "//button[.='Submit']").click()
            if self.wait.until(lambda _: self._is_sent() or self._busy()) is True:
                return
            # What it says goes away by itself, unless the pointer is on it.
            for heading in self.driver.find_elements(By.TAG_NAME, "h2")[:1]:
                ActionChains(self.driver).move_to_element(heading).perform()
            self.wait.until_not(lambda _: self._busy())
            if self._is_sent():  # it was taken after all
                return
        raise AssertionError(f"the form was not taken in {TRIES} tries")

    def complaints(self) -> list[str]:
        """Send the form, and return what it says of fields that may not stay as they are."""
        self.driver.find_element(By.XPATH, "//button[.='Submit']").click()
        told = (By.CSS_SELECTOR, "p.text-destructive, [data-slot=form-message]")
        return [
            one.text for one in self.wait.until(expected_conditions.presence_of_all_elements_located(told))
        ]

    def open_run(self, run_id: str) -> None:
        """Open the page of a run, and on it the runs of its stages."""
        self.driver.get(f"{self.address}/v2/runs/flow-run/{run_id}")
        tab = (By.XPATH, "//button[@role='tab'][.='Task Runs']")
        self.wait.until(expected_conditions.element_to_be_clickable(tab)).click()

    def open_artifact(self, artifact_id: str) -> None:
        """Open the page of an artifact, such as a table."""
        self.driver.get(f"{self.address}/v2/artifacts/artifact/{artifact_id}")

    def artifact_text(self, artifact_id: str, awaited: str) -> str:
        """Return what the page of an artifact says, once it says what is awaited."""
        self.open_artifact(artifact_id)
        self.wait.until(lambda driver: awaited in driver.find_element(By.TAG_NAME, "body").text)
        return self.driver.find_element(By.TAG_NAME, "body").text

    def artifact_picture(self, artifact_id: str) -> tuple[int, int]:
        """Return width and height of the picture that the page of an artifact shows, as it was decoded."""
        self.open_artifact(artifact_id)
        size = "const one = [...document.images].find((at) => at.src.startsWith('data:image/png'));"
        size += "return one && one.naturalWidth ? [one.naturalWidth, one.naturalHeight] : null"
        width, height = self.wait.until(lambda driver: driver.execute_script(size))
        return int(width), int(height)

    def picture(self, path: Path) -> None:
        """Write what is seen to a PNG."""
        self.driver.save_screenshot(str(path))

    def _is_sent(self) -> bool:
        return not self.driver.current_url.endswith("/run")

    def _busy(self) -> list[WebElement]:
        return self.driver.find_elements(By.XPATH, f"//*[contains(text(), '{BUSY}')]")

    def _field(self, name: str) -> WebElement:
        """Return the field under a label; a list's field is its button."""
        label = self.wait.until(
            expected_conditions.presence_of_element_located(
                (
                    By.XPATH,
                    f"//label[normalize-space(.)='{name}' or starts-with(normalize-space(.), '{name} ')]",
                )
            )
        )
        return self.driver.find_element(By.ID, str(label.get_attribute("for")))
