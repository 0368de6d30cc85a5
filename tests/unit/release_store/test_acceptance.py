"""A store from elsewhere can be read; who works with it has made or accepted it. A stranger's is refused."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from policy.accepted import accept, forget
from policy.errors import UsageError
from release_store.checkup import Condition, check_store
from release_store.db.connection import connect, transaction
from release_store.store import ReleaseStore
from release_store.trusted import load_trusted
from services.trust import use_memory_of
from tests.support.strangers import STRANGER, give_away, needs_root

NOT_ACCEPTED = "is a store that this account neither made nor accepted"


def told(refused: Callable[[], object]) -> UsageError:
    with pytest.raises(UsageError) as caught:
        refused()
    assert len(str(caught.value).splitlines()) == 2
    return caught.value


def change(root: Path) -> None:
    with transaction(root) as con:
        con.execute("SELECT 1")


def test_who_makes_a_store_works_with_it(tmp_path: Path, accepts_nothing: Path) -> None:
    root = tmp_path / "store"
    made = ReleaseStore.create(root)
    assert made.is_accepted
    change(root)
    assert ReleaseStore.open_to_work(root).store_id == made.store_id
    assert accepts_nothing.is_file()


@pytest.mark.enemy("owner of the folder", "changes history")
@pytest.mark.usefixtures("accepts_nothing")
def test_a_store_from_elsewhere_is_read_and_nothing_more(store: ReleaseStore) -> None:
    root = store.root
    before = (root / "history.duckdb").read_bytes()
    assert ReleaseStore.open(root).releases() == []
    assert not store.is_accepted
    for refused in (lambda: ReleaseStore.open_to_work(root), lambda: change(root)):
        error = told(refused)
        assert (error.message, error.where) == (NOT_ACCEPTED, str(root))
        assert error.hint == f"If you know where it is from, run `releasegate trust {root}`."
    assert (root / "history.duckdb").read_bytes() == before
    accept(root)
    change(root)
    forget(root)
    accept(root.parent)
    ReleaseStore.open_to_work(root)


@pytest.mark.enemy("owner of the folder", "changes history")
@pytest.mark.usefixtures("accepts_nothing")
def test_another_store_in_place_of_ones_own_is_asked_about(tmp_path: Path) -> None:
    own, other = ReleaseStore.create(tmp_path / "own"), ReleaseStore.create(tmp_path / "other")
    shutil.rmtree(own.root)
    shutil.copytree(other.root, own.root)
    assert told(lambda: ReleaseStore.open_to_work(own.root)).message == NOT_ACCEPTED


@pytest.mark.enemy("owner of the folder", "runs code")
@pytest.mark.usefixtures("accepts_nothing")
@pytest.mark.parametrize("has_store", [True, False])
def test_what_lies_beside_a_store_from_elsewhere_trusts_nothing(store: ReleaseStore, has_store: bool) -> None:
    path = store.root.with_name("trusted.yaml")
    path.write_text("packages: [evil]\n")
    path.chmod(0o600)
    if not has_store:
        shutil.rmtree(store.root)
    found = told(lambda: load_trusted(store.root))
    assert found.message == (
        NOT_ACCEPTED if has_store else "is there and no store, and this account did not accept its folder"
    )
    use_memory_of(store.root, reads_only=True)  # who only reads needs none of it
    accept(store.root if has_store else store.root.parent)
    assert load_trusted(store.root).packages == ("evil",)


@needs_root
@pytest.mark.enemy("owner of the folder", "runs code")
@pytest.mark.usefixtures("accepts_nothing")
def test_a_strangers_store_is_not_even_read(store: ReleaseStore) -> None:
    root = store.root
    for path in (root.parent, root, root / "history.duckdb", root / "locks", root / "releases"):
        os.chown(path, STRANGER, -1)
        for refused in (lambda: ReleaseStore.open(root), lambda: connect(root).__enter__()):
            assert f"belongs to user {STRANGER}" in told(refused).message
        os.chown(path, 0, -1)
    ReleaseStore.open(root)
    give_away(root.parent)
    for _ in range(2):
        error = told(lambda: ReleaseStore.open(root))
    assert error.hint == f"If you trust them with it, run `releasegate trust {root.parent}`."
    accept(root.parent)
    ReleaseStore.open_to_work(root)


@needs_root
@pytest.mark.enemy("owner of the folder", "gains a role")
@pytest.mark.usefixtures("accepts_nothing")
def test_a_strangers_link_to_ones_own_store_is_refused(store: ReleaseStore, tmp_path: Path) -> None:
    (tmp_path / "planted").symlink_to(store.root)
    os.chown(tmp_path / "planted", STRANGER, -1, follow_symlinks=False)
    assert f"belongs to user {STRANGER}" in told(lambda: ReleaseStore.open(tmp_path / "planted")).message


@needs_root
@pytest.mark.enemy("owner of the folder", "gains a role")
@pytest.mark.usefixtures("accepts_nothing")
def test_no_store_is_made_in_a_strangers_folder(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    give_away(folder)
    assert f"belongs to user {STRANGER}" in told(lambda: ReleaseStore.create(folder / "store")).message
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("accepts_nothing")
def test_doctor_repairs_no_store_from_elsewhere(store: ReleaseStore) -> None:
    (check,) = [one for one in check_store(store.root) if one.condition is not Condition.FINE]
    assert (check.name, check.found) == ("trust", f"{store.root}: {NOT_ACCEPTED}")
    assert check.hint.endswith(f"`releasegate trust {store.root}`.")
