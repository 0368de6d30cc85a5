"""What the owner of a store trusts: `trusted.yaml` beside the store, guarded and strict."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.errors import UsageError
from policy.trusted import TRUSTED_FILE, Cluster
from release_store.trusted import load_trusted

FILES = "ca: ca.pem, certificate: node.pem, key: node.key"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a store, with nothing beside it."""
    made = tmp_path / "store"
    made.mkdir()
    return made


def written(root: Path, text: str | bytes) -> Path:
    path = root.with_name(TRUSTED_FILE)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o600)
    return path


def test_without_a_file_nothing_more_is_trusted(root: Path) -> None:
    found = load_trusted(root)
    assert (found.folders, found.packages) == ((), ())
    assert root.resolve() in found.never


def test_an_empty_file_trusts_nothing_more(root: Path) -> None:
    written(root, "# nothing yet\n")
    found = load_trusted(root)
    assert (found.folders, found.packages) == ((), ())


def test_folders_and_packages_are_read(root: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    written(root, f"folders: [{tmp_path}/data/../data]\npackages: [my-methods]\n")
    found = load_trusted(root)
    assert (found.folders, found.packages) == ((tmp_path.resolve() / "data",), ("my-methods",))


@pytest.mark.parametrize(
    ("text", "message", "where"),
    [
        ("folders: [data]", "'data' is not an absolute path", ": folders"),
        ("folders: /data", "should be a list of texts", ": folders"),
        ("packages: [3]", "should be a list of texts", ": packages.0"),
        ("everything: true", "unknown field", ": everything"),
        ("- /data", "should be a list of texts", ""),
        ("folders: [", "", ""),
        ("engine: dask", "should name dask, an address", ": engine"),
        ("engine: {name: dask, address: 'tls://h:1', ca: /ca}", "should name", ": engine.certificate"),
        (f"engine: {{name: spark, address: 'tls://h:1', {FILES}}}", "should name", ": engine.name"),
        (f"engine: {{name: dask, {FILES}}}", "should name dask, an address", ": engine.address"),
        (f"engine: {{name: dask, address: 'tls://h:1', {FILES}}}", "is not an absolute", ": engine.ca"),
        *(
            (f"engine: {{name: dask, address: '{address}', {FILES}}}", "tls://HOST:PORT", ": engine.address")
            for address in ("tcp://127.0.0.1:8786", "tls://h", "tls://h:x", "tls://:1", "tls://h:1/a", "h:1")
        ),
    ],
)
def test_what_it_cannot_say_is_refused_by_field(root: Path, text: str, message: str, where: str) -> None:
    path = written(root, text)
    with pytest.raises(UsageError) as caught:
        load_trusted(root)
    assert message in caught.value.message, caught.value
    assert caught.value.where == f"{path}{where}"
    assert caught.value.hint


@pytest.mark.enemy("other account", "reads a file")
def test_a_file_that_others_can_write_is_refused(root: Path) -> None:
    path = written(root, "folders: [/]\n")
    path.chmod(0o666)
    with pytest.raises(UsageError) as caught:
        load_trusted(root)
    assert caught.value.where == str(path)
    path.chmod(0o600)
    assert load_trusted(root).folders == (Path("/"),)


def test_a_cluster_has_the_files_of_its_tls(root: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.txt" for name in ("ca", "certificate", "key")}
    listed = ", ".join(f"{name}: {path}" for name, path in files.items())
    written(root, f"engine: {{name: dask, address: 'tls://node:8786', {listed}}}")
    with pytest.raises(UsageError) as caught:
        load_trusted(root)
    assert caught.value.where == str(files["ca"])
    for path in files.values():
        path.write_text("PEM")
        path.chmod(0o600)
    assert load_trusted(root).cluster == Cluster("tls://node:8786", **files)


@pytest.mark.enemy("other account", "reads a file")
@pytest.mark.parametrize(
    ("name", "mode", "said"),
    [
        ("key", 0o644, "the key can be read by others"),
        ("ca", 0o666, "can be written by others"),
        ("certificate", 0o666, "can be written by others"),
    ],
)
def test_a_file_of_the_cluster_that_others_reach_is_refused(
    root: Path, tmp_path: Path, name: str, mode: int, said: str
) -> None:
    files = {name: tmp_path / f"{name}.txt" for name in ("ca", "certificate", "key")}
    for path in files.values():
        path.write_text("PEM")
        path.chmod(0o600)
    files[name].chmod(mode)
    listed = ", ".join(f"{name}: {path}" for name, path in files.items())
    written(root, f"engine: {{name: dask, address: 'tls://node:8786', {listed}}}")
    with pytest.raises(UsageError) as caught:
        load_trusted(root)
    assert (caught.value.message, caught.value.where) == (said, str(files[name]))
