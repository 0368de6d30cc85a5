"""What the owner of a store trusts: `trusted.yaml` beside the store, guarded and strict."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.errors import UsageError
from policy.trusted import TRUSTED_FILE, Cluster
from release_store.trusted import load_trusted


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
        ("engine: dask", "should be {name: dask, address: ...}", ": engine"),
        ("engine: {name: spark, address: 'tcp://127.0.0.1:1'}", "should be {name: dask", ": engine.name"),
        ("engine: {name: dask}", "should be {name: dask, address: ...}", ": engine.address"),
        ("engine: {name: dask, address: 'tls://h:1', key: /key}", "is missing", ": engine.ca"),
        ("engine: {name: dask, address: 'tls://h:1', ca: ca}", "is not an absolute path", ": engine.ca"),
        *(
            (f"engine: {{name: dask, address: '{address}'}}", "without encryption", ": engine.address")
            for address in ("tcp://10.0.0.7:8786", "tcp://scheduler:8786", "ucx://127.0.0.1:1", "127.0.0.1:1")
        ),
        (b"folders: [\xff]", "is not valid YAML (UnicodeDecodeError)", ""),
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


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://localhost:8786", "tcp://[::1]:8786"])
def test_a_cluster_on_this_machine_is_read(root: Path, address: str) -> None:
    written(root, f"engine: {{name: dask, address: '{address}'}}")
    assert load_trusted(root).cluster == Cluster(address)


def test_a_cluster_over_a_network_has_the_files_of_its_tls(root: Path, tmp_path: Path) -> None:
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
    files["key"].chmod(0o644)
    with pytest.raises(UsageError) as caught:
        load_trusted(root)
    assert (caught.value.message, caught.value.where) == ("the key can be read by others", str(files["key"]))
