"""What the owner of a store trusts: `trusted.yaml` beside the store, guarded and strict."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.errors import UsageError
from policy.location import ObjectAddress
from policy.postgres_address import PostgresTable
from policy.trusted import TRUSTED_FILE, Cluster, Memory, ObjectStore
from release_store.trusted import load_trusted
from tests.support.strangers import STRANGER, give_away, needs_root

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
        ("\xa0thing: true", "unknown field", ": \\xa0thing"),
        ("- /data", "should have settings by name", ""),
        ("folders: [", "", ""),
        ("memory_limit: 2", "should be a size, such as 2 GiB", ": memory_limit"),
        ("memory_limit: plenty", "'plenty' is not a size", ": memory_limit"),
        ("memory_limit: -2 GiB", "'-2 GiB' is not a size", ": memory_limit"),
        ("memory_limit: 2 Gib", "'2 Gib' is not a size", ": memory_limit"),
        ("memory_limit: 63 MiB", "'63 MiB' is too little", ": memory_limit"),
        ("memory_limit: 1025 TiB", "'1025 TiB' is too much", ": memory_limit"),
        ("memory_limit: 20000000 TiB", "'20000000 TiB' is too much", ": memory_limit"),
        ("spill_limit: 2 GiB", "there is no folder for them", ": spill_limit"),
        ("{spill: /srv, spill_limit: 2}", "should be a size, such as 50 GiB", ": spill_limit"),
        ("spill: true", "should be the path of a folder", ": spill"),
        ("spill: [/tmp]", "should be the path of a folder", ": spill"),
        ("spill: spilled", "'spilled' is not an absolute path", ": spill"),
        ("spill: /no/such/folder", "'/no/such/folder' cannot be read (FileNotFoundError)", ": spill"),
        ("spill: /dev/null", "'/dev/null' is not a folder, or leads over a link", ": spill"),
        (r'spill: "/a\0b"', "cannot be read (ValueError)", ": spill"),
        ("engine: dask", "should name dask, an address", ": engine"),
        ("engine: {name: dask, address: 'tls://h:1', ca: /ca}", "should name", ": engine.certificate"),
        (f"engine: {{name: spark, address: 'tls://h:1', {FILES}}}", "should name", ": engine.name"),
        (f"engine: {{name: dask, {FILES}}}", "should name dask, an address", ": engine.address"),
        (f"engine: {{name: dask, address: 'tls://h:1', {FILES}}}", "is not an absolute", ": engine.ca"),
        *(
            (f"engine: {{name: dask, address: '{address}', {FILES}}}", "tls://HOST:PORT", ": engine.address")
            for address in (
                *(
                    "tcp://127.0.0.1:8786",
                    "tls://h",
                    "tls://h:x",
                    "tls://h:0",
                    "tls://:1",
                    "tls://h:1/a",
                    "h:1",
                ),
                *("tls://ada:word@h:1", "tls://a b:1", "tls://[a b]:1"),
            )
        ),
        ("s3: s3://tables", "should have a list of prefixes", ": s3"),
        ("s3: {prefixes: s3://tables}", "should have a list of prefixes", ": s3.prefixes"),
        ("s3: {key: x}", "unknown field", ": s3.key"),
        ("s3: {prefixes: [tables]}", "is an address that is not of S3", ": s3.prefixes"),
        ("s3: {prefixes: ['s3:///x']}", "has no valid name of a bucket", ": s3.prefixes"),
        ("s3: {prefixes: ['s3://tables/*']}", "has a key that is not read", ": s3.prefixes"),
        ("s3: {region: 'a b'}", "is not the name of a region", ": s3.region"),
        ("postgres: postgresql://h/d", "should be a list of texts", ": postgres"),
        ("postgres: [clinic]", "is not an address of a database", ": postgres"),
        ("postgres: ['postgresql://h/d?table=t']", "is not an address of a database", ": postgres"),
        ("postgres: ['postgresql://u:p@h/d']", "holds a password", ": postgres"),
        ("postgres: ['postgresql://h/d?sslmode=disable']", "has an sslmode", ": postgres"),
        *(
            (f"s3: {{endpoint: '{address}'}}", "is not https://HOST", ": s3.endpoint")
            for address in (
                "http://10.0.0.1",
                "http://127.0.0.1.example.org",
                "ftp://h",
                "h",
                "https://",
                "https://h/x",
                "https://u:p@h",
                "https://h:x",
                "https://h?x",
                "http://u@localhost:1",
                "https://h#x",
            )
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


def test_objects_are_below_addresses_and_come_from_an_endpoint(root: Path) -> None:
    assert load_trusted(root).objects == ObjectStore()
    written(root, "s3: {prefixes: ['s3://tables', 's3://people/new/']}\n")
    prefixes = (ObjectAddress("tables", ""), ObjectAddress("people", "new"))
    assert load_trusted(root).objects == ObjectStore(prefixes)
    for endpoint in ("https://h", "https://h:9000/", "http://127.0.0.1:9000", "http://[::1]:9000"):
        written(root, f"s3: {{endpoint: '{endpoint}', region: eu-central-1}}\n")
        assert load_trusted(root).objects == ObjectStore((), endpoint, "eu-central-1")


def test_databases_are_listed_by_their_addresses(root: Path) -> None:
    written(root, "postgres: ['postgres://reader@h:5433/clinic?sslmode=require']\n")
    (found,) = load_trusted(root).databases
    assert found == PostgresTable("h", "clinic", user="reader", port=5433, sslmode="require")


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


@pytest.mark.parametrize(
    ("text", "size"),
    [("2 GiB", 2 << 30), ("2GiB", 2 << 30), ("1.5 GiB", 3 << 29), ("64 MiB", 64 << 20), ("1 GB", 10**9)],
)
def test_a_limit_of_memory_is_a_size(root: Path, text: str, size: int) -> None:
    written(root, f"memory_limit: {text}\n")
    assert load_trusted(root).memory == Memory(size)


def test_a_folder_to_spill_is_named_by_itself(root: Path, tmp_path: Path) -> None:
    spill = tmp_path / "spill"
    spill.mkdir(mode=0o700)
    written(root, f"spill: {spill}\n")
    assert load_trusted(root).memory == Memory(None, spill)
    written(root, f"spill: {spill}\nspill_limit: 50 GiB\n")
    assert load_trusted(root).memory == Memory(None, spill, 50 << 30)
    path = written(root, f"spill: {spill}\nspill_limit: much\n")
    with pytest.raises(UsageError, match="'much' is not a size") as caught:
        load_trusted(root)
    assert caught.value.where == f"{path}: spill_limit"


@pytest.mark.enemy("other account", "reads a file")
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("open", "can be written by others"),
        ("link", "is not a folder, or leads over a link"),
        ("link/inner", "is not a folder, or leads over a link"),
        ("store/releases", "holds the store, or is in it"),
        ("store", "holds the store, or is in it"),
        (".", "holds the store, or is in it"),
    ],
)
def test_a_folder_that_others_reach_or_read_is_none_to_spill(
    root: Path, tmp_path: Path, place: str, said: str
) -> None:
    for name, mode in (("open", 0o777), ("real", 0o700), ("real/inner", 0o700), ("store/releases", 0o700)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    named = tmp_path / place
    path = written(root, f"spill: {named}\n")
    with pytest.raises(UsageError) as caught:
        load_trusted(root)
    assert (caught.value.message, caught.value.where) == (f"'{named}' {said}", f"{path}: spill")
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.enemy("other account", "reads a file")
def test_a_folder_to_spill_stands_where_nobody_else_can_replace_it(root: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    (outer / "spill").mkdir(parents=True)
    (outer / "spill").chmod(0o700)
    outer.chmod(0o777)
    written(root, f"spill: {outer}/spill\n")
    with pytest.raises(UsageError) as caught:
        load_trusted(root)
    assert caught.value.where == str(outer)


@needs_root
@pytest.mark.enemy("other account", "reads a file")
@pytest.mark.parametrize("name", ["ca.txt", "certificate.txt", "key.txt", "spill", "trusted.yaml"])
def test_what_the_file_names_and_the_file_itself_are_no_strangers(
    root: Path, tmp_path: Path, name: str
) -> None:
    files = {name: tmp_path / f"{name}.txt" for name in ("ca", "certificate", "key")}
    for path in files.values():
        path.write_text("PEM")
        path.chmod(0o600)
    (tmp_path / "spill").mkdir(mode=0o700)
    listed = ", ".join(f"{name}: {path}" for name, path in files.items())
    written(root, f"engine: {{name: dask, address: 'tls://n:1', {listed}}}\nspill: {tmp_path}/spill\n")
    load_trusted(root)
    give_away(tmp_path / name)
    with pytest.raises(UsageError, match=f"belongs to user {STRANGER}") as caught:
        load_trusted(root)
    assert caught.value.where == str(tmp_path / name)
