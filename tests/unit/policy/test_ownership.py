"""Whose a file is that says what may be done: each folder and link on the way counts, and what was opened."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from policy.accepted import (
    accept,
    accepted_by_environment,
    check_whose,
    forget,
    is_made_or_accepted,
    own_accepted,
    own_stores,
    register,
)
from policy.errors import PolicyError, UsageError
from policy.load import load_policy
from policy.ownership import check_way, steps
from tests.support.front_desk import Desk
from tests.support.strangers import STRANGER, give_away, needs_root


def told(path: Path) -> list[str]:
    with pytest.raises(UsageError) as caught:
        check_whose(path)
    return str(caught.value).splitlines()


def test_the_way_leads_over_every_folder_and_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "real" / "inner" / "rule.yaml").touch()
    (tmp_path / "link").symlink_to("real/inner")
    path = tmp_path / "link" / ".." / "inner" / "rule.yaml"
    passed = [place.relative_to(tmp_path) for place, _ in steps(path) if place.is_relative_to(tmp_path)]
    inner = Path("real/inner")
    assert passed == [Path(), Path("link"), Path("real"), inner, inner, inner / "rule.yaml"]
    assert next(place for place, _ in steps(path)) == Path("/")


def test_links_that_lead_to_one_another_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    assert told(tmp_path / "one")[0].endswith("cannot be found (OSError)")


@pytest.mark.enemy("owner of the folder", "reads a file")
def test_a_file_that_is_another_than_was_opened_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "rule.yaml", tmp_path / "other.yaml"
    path.touch()
    other.touch()
    opened = path.stat()
    check_whose(path, opened)
    other.replace(path)
    with pytest.raises(UsageError, match="was replaced while it was read"):
        check_whose(path, opened)
    path.unlink()
    with pytest.raises(UsageError, match="was replaced while it was read"):
        check_whose(path, opened)


def test_who_is_not_trusted_is_named_with_the_folder_that_holds_all(tmp_path: Path) -> None:
    (tmp_path / "own" / "theirs").mkdir(parents=True)
    theirs = tmp_path / "own" / "theirs"
    (theirs / "rule.yaml").touch()
    with pytest.raises(UsageError) as caught:
        check_way(theirs / "rule.yaml", lambda place, _: not place.is_relative_to(theirs))
    assert caught.value.where == str(theirs / "rule.yaml")
    assert caught.value.hint == f"If you trust them with it, run `releasegate trust {theirs}`."


@needs_root
@pytest.mark.enemy("owner of the folder", "gains a role")
@pytest.mark.parametrize("given", [".", "inner", "inner/rule.yaml"])
def test_a_strangers_file_or_folder_is_refused_until_it_is_accepted(
    tmp_path: Path, accepts_nothing: Path, given: str
) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    rule = folder / "inner" / "rule.yaml"
    rule.touch()
    check_whose(rule)
    os.chown(folder / given, STRANGER, -1)
    assert told(rule) == [
        f"{folder / given}: belongs to user {STRANGER}, who is neither root nor you",
        f"  If you trust them with it, run `releasegate trust {folder / given}`.",
    ]
    accept(folder / given)
    check_whose(rule)
    assert accepts_nothing.stat().st_mode & 0o777 == 0o600
    assert accepts_nothing.parent.stat().st_mode & 0o777 == 0o700
    forget(folder / given)
    told(rule)
    with pytest.raises(UsageError, match="is not accepted"):
        forget(folder / given)


@needs_root
@pytest.mark.enemy("owner of the folder", "gains a role")
def test_a_folder_is_accepted_with_the_owner_that_it_had(tmp_path: Path, accepts_nothing: Path) -> None:
    rule = tmp_path / "folder" / "rule.yaml"
    rule.parent.mkdir()
    rule.touch()
    accept(rule.parent)
    check_whose(rule)
    give_away(rule.parent)
    assert f"belongs to user {STRANGER}" in told(rule)[0]
    assert accepts_nothing.is_file()


@needs_root
@pytest.mark.enemy("owner of the folder", "reads a file")
@pytest.mark.usefixtures("accepts_nothing")
def test_a_link_out_of_an_accepted_folder_accepts_no_more(tmp_path: Path) -> None:
    accepted, theirs = tmp_path / "accepted", tmp_path / "theirs"
    for folder in (accepted, theirs):
        folder.mkdir()
        (folder / "rule.yaml").touch()
    (accepted / "link.yaml").symlink_to(theirs / "rule.yaml")
    os.link(theirs / "rule.yaml", tmp_path / "hard.yaml")
    os.chown(theirs, STRANGER + 1, -1)
    os.chown(theirs / "rule.yaml", STRANGER + 1, -1)
    give_away(accepted)
    accept(accepted)
    check_whose(accepted / "rule.yaml")
    assert f"{theirs / 'rule.yaml'}: belongs to user {STRANGER + 1}" in told(accepted / "link.yaml")[0]
    assert f"belongs to user {STRANGER + 1}" in told(tmp_path / "hard.yaml")[0]
    (tmp_path / "planted").symlink_to(tmp_path / "hard.yaml")
    os.chown(tmp_path / "planted", STRANGER, -1, follow_symlinks=False)
    os.chown(tmp_path / "hard.yaml", 0, -1)
    assert told(tmp_path / "planted")[1] == "  Name what the link leads to."


@needs_root
@pytest.mark.usefixtures("accepts_nothing")
def test_a_group_is_accepted_with_its_members_alone(tmp_path: Path) -> None:
    rule = tmp_path / "folder" / "rule.yaml"
    rule.parent.mkdir()
    rule.touch()
    os.chown(rule, 1, -1)  # daemon, of the group of that name
    assert "belongs to user 1 (daemon)" in told(rule)[0]
    accept(rule.parent, "daemon")
    check_whose(rule)
    os.chown(rule, STRANGER, -1)
    told(rule)
    with pytest.raises(UsageError, match="'nonesuch' is no group of this machine"):
        accept(rule.parent, "nonesuch")


@needs_root
@pytest.mark.usefixtures("accepts_nothing")
def test_the_environment_accepts_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = tmp_path / "folder" / "rule.yaml"
    rule.parent.mkdir()
    rule.touch()
    give_away(rule.parent)
    told(rule)
    monkeypatch.setenv("RELEASEGATE_TRUST", f"{tmp_path}/none::{rule.parent}")
    check_whose(rule)
    assert [one.path for one in accepted_by_environment()] == [str(rule.parent)]
    monkeypatch.setenv("RELEASEGATE_TRUST", "folder")
    with pytest.raises(UsageError, match="'folder' is not an absolute path"):
        check_whose(rule)


def test_stores_are_kept_with_their_ids(tmp_path: Path, accepts_nothing: Path) -> None:
    register(tmp_path / "one", "1")
    register(tmp_path / "two", "2")
    register(tmp_path / "two", "3")
    assert {(Path(one.path).name, one.store_id) for one in own_stores()} == {("one", "1"), ("two", "3")}
    assert is_made_or_accepted(tmp_path / "one", lambda: "1")
    assert not is_made_or_accepted(tmp_path / "two", lambda: "2")
    accept(tmp_path)
    assert is_made_or_accepted(tmp_path / "two", lambda: "2")
    register(tmp_path / "three", "4")  # below an accepted folder there is nothing to keep
    assert len(own_stores()) == 2
    assert [one.path for one in own_accepted()] == [str(tmp_path)]
    accepts_nothing.write_text("{}]")
    with pytest.raises(UsageError, match="does not say what this account accepts"):
        own_stores()


def test_what_is_kept_at_the_same_time_is_all_kept(tmp_path: Path, accepts_nothing: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: register(tmp_path / str(n), str(n)), range(16)))
    assert {one.store_id for one in own_stores()} == {str(n) for n in range(16)}
    assert [one.name for one in accepts_nothing.parent.iterdir()] == ["trust.json"]


@pytest.mark.enemy("other account", "gains a role")
def test_a_configuration_that_others_write_is_refused(tmp_path: Path, accepts_nothing: Path) -> None:
    register(tmp_path / "one", "1")
    accepts_nothing.chmod(0o666)
    with pytest.raises(UsageError, match="can be written by others"):
        is_made_or_accepted(tmp_path / "one", lambda: "1")


@needs_root
@pytest.mark.enemy("other account", "gains a role")
@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_configuration_that_is_a_strangers_is_refused(
    tmp_path: Path, accepts_nothing: Path, above: int
) -> None:
    register(tmp_path / "one", "1")
    given = [accepts_nothing, *accepts_nothing.parents][above]
    os.chown(given, STRANGER, -1)
    for refused in (own_stores, lambda: accept(tmp_path)):
        with pytest.raises(UsageError, match="and would say whom you trust") as caught:
            refused()
        assert caught.value.where == str(given)
    assert accepts_nothing.is_file()


def test_what_cannot_be_kept_is_told(tmp_path: Path, accepts_nothing: Path) -> None:
    with pytest.raises(UsageError, match="is not there"):
        accept(tmp_path / "none")
    accepts_nothing.parents[1].write_text("no folder")
    with pytest.raises(UsageError, match="cannot be written") as caught:
        accept(tmp_path)
    assert "RELEASEGATE_TRUST" in caught.value.hint


def test_what_the_environment_accepts_asks_for_no_configuration(
    tmp_path: Path, accepts_nothing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepts_nothing.parent.mkdir(parents=True)
    accepts_nothing.write_text("damaged")
    monkeypatch.setenv("RELEASEGATE_TRUST", str(tmp_path))
    assert is_made_or_accepted(tmp_path / "store", lambda: "1")


@needs_root
@pytest.mark.enemy("owner of the folder", "publishes a person")
@pytest.mark.usefixtures("accepts_nothing")
def test_a_strangers_policy_or_hierarchy_is_refused(desk: Desk) -> None:
    cities = {"type": "categorical", "hierarchy": "lists/cities.csv"}
    roles = {
        "key": "person",
        "quasi_identifiers": {"city": cities},
        "sensitive": {"disease": {"stability": "stable"}},
    }
    policy = desk.policy(roles=roles)
    hierarchy = desk.folder / "lists" / "cities.csv"
    hierarchy.parent.mkdir()
    hierarchy.write_text("Aix;*\nBrno;*\nCork;*\n")
    load_policy(policy)
    for path in (hierarchy, hierarchy.parent, policy):
        os.chown(path, STRANGER, -1)
        with pytest.raises(UsageError, match=f"belongs to user {STRANGER}") as caught:
            load_policy(policy)
        assert caught.value.where == str(path)
        os.chown(path, 0, -1)
    with pytest.raises(PolicyError, match="no such file"):
        load_policy(desk.folder / "none.yaml")
