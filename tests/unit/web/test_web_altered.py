"""The page of a candidate whose files or report were altered says so before anybody decides."""

from __future__ import annotations

import pytest

from release_store.publishing.public_files import candidate_folder
from release_store.store import ReleaseStore
from tests.support.web_clients import WebClient


@pytest.mark.enemy("store writer", "publishes a person")
@pytest.mark.parametrize("name", ["data.csv", "report.html"])
def test_the_page_of_a_candidate_tells_what_was_altered(
    store: ReleaseStore, waiting: str, web: WebClient, name: str
) -> None:
    store.keep_report(waiting, b"<p>all is well", actor="ann")
    page = f"/candidates/{waiting}"
    web.log_in("bob")
    assert "Altered" not in web.get(page).text
    (candidate_folder(store.root, waiting) / name).write_text("<p>better still")
    text = web.get(page).text
    assert name in text.partition("Altered")[2].partition("differs from the")[0]
    assert "It cannot be approved before the files are restored." in text
