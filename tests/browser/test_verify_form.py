"""The page that verifies a bundle, as somebody uses it: a file, a key, a verdict in plain words."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from release_store.audit import keys
from release_store.publishing.public_files import checkpoint_file
from tests.support.pages import verify_page
from tests.support.pages.large_bundles import large_bundle
from tests.support.pages.verify_page import element, result
from tests.support.store.bundle_alterations import NAME
from tests.support.store.bundles import Members, put_together
from tests.support.timeouts import HANG_TIMEOUT


def test_a_chosen_file_is_judged_in_plain_words(
    opened: webdriver.Chrome, bundle: Path, key: str, members: Members, tmp_path: Path
) -> None:
    element(opened, "file").send_keys(str(bundle))
    told = result(opened)
    assert told.startswith("Verified by the bundle\u2019s own key only\n")
    assert "Only the key in the bundle was used: no public key was given, so the bundle's own key was" in told
    assert f"Compare it with a copy that you kept: {key}" in told
    element(opened, "key").send_keys(key, Keys.TAB)  # and it is judged again by itself
    WebDriverWait(opened, HANG_TIMEOUT).until(
        lambda _: element(opened, "result").text.startswith("Verified\n")
    )
    told = result(opened)
    assert f"{NAME}: 3 files and 15 of 32 events in the log verified; no tampering found" in told
    assert f"File: bundle.zip. Release that it names: {NAME}." in told
    assert f"{NAME} was published, and is superseded now" in told
    assert "\u2713 held: The files are the published files." in told
    assert told.index("What was not checked") < told.index("The checkpoint that you kept is of the same log.")
    status = element(opened, "status")
    assert (status.get_attribute("aria-live"), status.get_attribute("role")) == ("polite", "status")
    assert status.text.startswith("Verified. ")
    members["release/data.csv"] = b"age_min,age_max\n20,28\n"
    element(opened, "file").send_keys(str(put_together(tmp_path / "altered.zip", members)))
    WebDriverWait(opened, HANG_TIMEOUT).until(lambda _: "Not verified" in element(opened, "status").text)
    told = result(opened)
    found = "release/data.csv: differs from the published file"
    assert told.startswith(f"Not verified\n{found}")
    assert "\u2717 failed: The files are the published files." in told
    assert "Verified" not in told
    assert opened.get_log("browser") == []


def test_a_checkpoint_that_was_kept_is_asked_for_and_checked(
    opened: webdriver.Chrome, bundle: Path, three_releases: Path
) -> None:
    kept = checkpoint_file(three_releases / "store", "clinic", "clinic-2024-r1")
    element(opened, "checkpoint").send_keys(str(kept))
    element(opened, "file").send_keys(str(bundle))
    told = result(opened)
    assert "\u2713 held: The checkpoint that you kept is of the same log." in told
    assert "What was not checked" not in told


def test_another_key_takes_the_verdict_back(opened: webdriver.Chrome, bundle: Path, key: str) -> None:
    element(opened, "key").send_keys(key)
    element(opened, "file").send_keys(str(bundle))
    assert result(opened).startswith("Verified\n")
    element(opened, "key").send_keys(Keys.BACKSPACE)
    assert not element(opened, "result").is_displayed()
    assert element(opened, "status").text == (
        "The key changed, so the previous result no longer applies. Press Verify."
    )
    opened.find_element(By.CSS_SELECTOR, "#verify button").click()
    assert result(opened).startswith("Not verified\n")


def test_a_verdict_on_its_way_is_not_told_of_another_key(
    opened: webdriver.Chrome, bundle: Path, key: str
) -> None:
    slow = """
    const real = Blob.prototype.slice;
    window.let_go = null;
    const wait = new Promise((done) => { window.let_go = done; });
    Blob.prototype.slice = function (...given) {
      const part = real.apply(this, given);
      part.arrayBuffer = () => wait.then(() => Blob.prototype.arrayBuffer.call(part));
      return part;
    };
    window.verdicts = [];
    const told = document.getElementById("verify-result");
    const seen = new MutationObserver(() => told.hidden || verdicts.push(told.innerText.split("\\n")[0]));
    seen.observe(told, {attributes: true, childList: true});"""
    opened.execute_script(slow)
    element(opened, "file").send_keys(str(bundle))
    assert element(opened, "progress").is_displayed()
    element(opened, "key").send_keys(key)
    assert not element(opened, "progress").is_displayed()
    opened.execute_script("let_go()")
    assert not element(opened, "result").is_displayed()
    element(opened, "key").send_keys(Keys.TAB)  # the next is judged after it
    assert result(opened).startswith("Verified\n")
    assert opened.execute_script("return verdicts") == ["Verified"]


def test_what_was_given_is_forgotten_with_its_verdict(
    opened: webdriver.Chrome, bundle: Path, key: str, page: Path
) -> None:
    element(opened, "key").send_keys(key)
    element(opened, "file").send_keys(str(bundle))
    result(opened)
    opened.get("about:blank")
    opened.back()
    WebDriverWait(opened, HANG_TIMEOUT).until(lambda _: opened.current_url == page.as_uri())
    WebDriverWait(opened, HANG_TIMEOUT).until(
        lambda _: opened.execute_script("return document.readyState") == "complete"
    )
    assert [element(opened, name).get_attribute("value") for name in ("file", "key")] == ["", ""]
    assert not element(opened, "result").is_displayed()


def test_a_file_may_be_dropped_anywhere(opened: webdriver.Chrome, bundle: Path) -> None:
    drop = """
    const data = new DataTransfer();
    for (const [name, text] of arguments[0]) {
      data.items.add(new File([Uint8Array.from(atob(text), (one) => one.charCodeAt(0))], name));
    }
    const told = new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true});
    return !document.querySelector("h1").dispatchEvent(told);"""
    (text,) = verify_page.in_base64([bundle.read_bytes()])
    assert opened.execute_script(drop, [["one.zip", text], ["two.zip", text]])
    assert element(opened, "status").text == "Drop one file at a time."
    assert not element(opened, "result").is_displayed()
    assert opened.execute_script(drop, [["<b>one</b>.zip", text]])  # and the browser does not open it
    assert f"File: <b>one</b>.zip. Release that it names: {NAME}." in result(opened)
    assert opened.current_url.endswith("/verify.html")


def test_names_in_a_bundle_stay_texts(opened: webdriver.Chrome, members: Members, tmp_path: Path) -> None:
    """They are shown where a file is read, and where an event or the manifest names them."""
    manifest = json.loads(members["release/manifest.json"])
    names = ["<img src=x onerror=alert(1)>", "\u202egnihton", "x\nVerified", "a" * 3000, "&amp;"]
    manifest["files"].update(dict.fromkeys(names, ""))
    members["release/manifest.json"] = json.dumps(manifest).encode()
    element(opened, "file").send_keys(str(put_together(tmp_path / "b.zip", members)))
    told = result(opened)
    assert told.startswith("Not verified\n")
    for shown in ("<img src=x onerror=alert(1)>", "?gnihton", "x?Verified", "a" * 3000, "&amp;"):
        assert f"release/{shown}: is missing" in told
    other = put_together(tmp_path / "c.zip", {**members, "<img src=x onerror=alert(1)>": b""})
    element(opened, "file").send_keys(str(other))
    WebDriverWait(opened, HANG_TIMEOUT).until(
        lambda _: "alert(1)> is not a name that a bundle may hold" in element(opened, "result").text
    )
    assert opened.find_elements(By.CSS_SELECTOR, "#verify-result img") == []
    assert opened.get_log("browser") == []


def test_without_cryptography_nothing_is_checked(opened: webdriver.Chrome, bundle: Path) -> None:
    opened.execute_script("Object.defineProperty(crypto, 'subtle', {value: undefined})")
    element(opened, "file").send_keys(str(bundle))
    told = result(opened)
    assert told.startswith("Not verified\nbundle.zip: cannot be checked here: this browser has no Ed25519")
    assert "\u2013 not checked: The files are the published files." in told
    assert "held:" not in told


def test_without_ed25519_nothing_is_verified(opened: webdriver.Chrome, bundle: Path) -> None:
    refuse = "() => Promise.reject(new DOMException('no', 'NotSupportedError'))"
    opened.execute_script(f"crypto.subtle.importKey = {refuse}")
    element(opened, "file").send_keys(str(bundle))
    told = result(opened)
    assert told.startswith(
        "Not verified\ncheckpoint.json: cannot be checked here: this browser has no Ed25519"
    )
    assert "\u2013 not checked: The trusted key signed both checkpoints" in told
    assert "\u2013 not checked: Every decision is proven to be by a person whose role allowed it." in told
    assert "\u2713 held: The files are the published files." in told


def test_whatever_breaks_the_page_s_own_work_is_not_verified(opened: webdriver.Chrome, bundle: Path) -> None:
    opened.execute_script("crypto.subtle.verify = () => Promise.resolve('yes')")
    element(opened, "file").send_keys(str(bundle))
    assert result(opened).startswith("Not verified\ncheckpoint.json: is not signed by the trusted key")
    opened.refresh()
    opened.execute_script("Blob.prototype.slice = () => { throw new RangeError(); }")
    element(opened, "file").send_keys(str(bundle))
    assert result(opened).startswith("Not verified\nbundle.zip: cannot be read (RangeError)")


def test_every_field_has_a_label_and_is_reached_by_the_keyboard(opened: webdriver.Chrome) -> None:
    fields = ["file", "key", "checkpoint"]
    reached = []
    for _ in range(8):
        webdriver.ActionChains(opened).send_keys(Keys.TAB).perform()
        active = opened.switch_to.active_element
        reached.append(active.get_attribute("id") or active.text)
    assert [one for one in dict.fromkeys(reached) if one][:4] == [
        *(f"verify-{one}" for one in fields),
        "Verify",
    ]
    for name in fields:
        labels = opened.execute_script(
            "return [...arguments[0].labels].map((one) => one.textContent)", element(opened, name)
        )
        assert len(labels) == 1
        described = element(opened, name).get_attribute("aria-describedby")
        assert described
        assert opened.find_element(By.ID, described).text
    opened.find_element(By.CSS_SELECTOR, "#verify button").send_keys(Keys.ENTER)
    assert element(opened, "status").text == "Choose an evidence bundle first."


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_bundle_of_many_pieces_is_judged(
    opened: webdriver.Chrome, members: Members, three_releases: Path, tmp_path: Path, method: int
) -> None:
    large = large_bundle(members, keys.load_key(three_releases / "store"), 5_000_000, method, tmp_path)
    element(opened, "file").send_keys(str(large))
    assert result(opened).startswith("Verified by")
