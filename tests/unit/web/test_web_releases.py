"""The page of a release: it is withdrawn and restored by what a person signed there."""

from __future__ import annotations

from release_store.records import ReleaseState
from release_store.store import ReleaseStore
from tests.support.at_work import member, write_people
from tests.support.store.hand_made import approved, publish_one
from tests.support.web_clients import WebClient


def test_a_release_is_withdrawn_and_restored(store: ReleaseStore, web: WebClient) -> None:
    release = publish_one(store, approved(store, period="2020")).release_id
    path = f"/releases/{release}"
    web.log_in("bob")
    for act, says, state in (
        ("withdraw", "is withdrawn; a tombstone", ReleaseState.WITHDRAWN),
        ("restore", "is restored: it is public again", ReleaseState.PUBLISHED),
    ):
        assert f'value="{act}"' in web.get(path).text
        assert web.post(path, web.form(path, act, "bob")).status_code == 303
        assert f"{release} {says}" in web.get(path).text
        assert store.release(release).state is state
    assert web.get(path).text.index("withdrawn by") < web.get(path).text.index("restored by")


def test_who_may_not_restore_is_told_so(store: ReleaseStore, web: WebClient) -> None:
    release = publish_one(store, approved(store, period="2020")).release_id
    path = f"/releases/{release}"
    web.log_in("bob")
    assert web.post(path, web.form(path, "withdraw", "bob")).status_code == 303
    write_people(store.root, member("bob", ["auditor"]))
    text = web.get(path).text
    assert "Your roles allow you to read, not to restore a release." in text
    assert 'value="restore"' not in text
