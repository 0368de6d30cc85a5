"""What a store's owner trusts beyond a policy's own folder, and lets a run use: `trusted.yaml`, beside it.

    folders: [/data/registry]       # policies may name files below these
    packages: [my-methods]          # distributions whose methods and privacy models may be loaded
    engine: {name: dask, ...}       # the cluster that decides fragments of large tables: docs/scale.md
    s3: {prefixes: [s3://tables/]}  # policies may name objects below these
    postgres: ["postgresql://reader@db.example.org/clinic"]  # and tables of these databases
    memory_limit: 2 GiB             # of DuckDB in each process: docs/scale.md
    spill: /var/spill/releasegate   # a folder for its encrypted temporary files
    spill_limit: 50 GiB             # of these files

The file is guarded as that of the people is. Without it, nothing more is trusted.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from policy.accepted import check_whose, is_made_or_accepted, real_path
from policy.errors import UsageError
from policy.findings import display_name
from policy.location import address_of
from policy.ownership import trust_command
from policy.postgres_address import PostgresTable, is_postgres, postgres_database
from policy.trusted import TRUSTED_FILE, Cluster, Memory, ObjectStore, Trusted
from policy.yaml_text import load_yaml, yaml_finding
from release_store.acceptance import check_accepted
from release_store.approval.reviewers import people_path
from release_store.audit.keys import key_path
from release_store.db.connection import DATABASE, connect
from release_store.db.queries import store_info
from release_store.guarded_files import check_file, check_folder, read_plain, read_secret, resolved
from release_store.person_key import person_key_path

_HINT = "See docs/security.md for what is allowed."


_TEXTS = "should be a list of texts"
_FINDINGS = {
    "engine": "should name dask, an address, ca, certificate and key",
    "s3": "should have a list of prefixes, and may name an endpoint and a region",
    "memory_limit": "should be a size, such as 2 GiB",
    "spill": "should be the path of a folder",
    "spill_limit": "should be a size, such as 50 GiB",
}
_REGION = re.compile(r"[a-z0-9-]{1,63}")
_HOST = re.compile(r"[A-Za-z0-9_.:%-]+")  # a name, or an address of IPv4 or IPv6
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
LEAST_MEMORY = 64 << 20  # bytes: with less, DuckDB cannot even read a file in two threads
MOST_MEMORY = 1 << 50  # bytes: more than a machine has; DuckDB refuses what is not below 2 ** 64
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([KMGT])(i?)B")


class _Engine(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    name: Literal["dask"]
    address: str
    ca: str
    certificate: str
    key: str


class _ObjectStore(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    prefixes: list[str] = Field(default=[], max_length=1000)
    endpoint: str | None = None
    region: str | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    engine: _Engine | None = None
    folders: list[str] = Field(default=[], max_length=1000)
    memory_limit: str | None = None
    packages: list[str] = Field(default=[], max_length=1000)
    postgres: list[str] = Field(default=[], max_length=1000)
    s3: _ObjectStore = _ObjectStore()
    spill: str | None = None
    spill_limit: str | None = None


def load_trusted(root: Path) -> Trusted:
    """Return what the owner of the store in `root` trusts, and what no policy may read there.

    Raises UsageError where `trusted.yaml` is not a regular file, others can write or replace it, it says
    something unknown, or the store is neither made nor accepted by this account.
    """
    store = resolved(root)
    path = store.with_name(TRUSTED_FILE)
    never = (store, *map(real_path, (key_path(root), person_key_path(root), people_path(root))))
    try:
        path.lstat()
    except FileNotFoundError:
        return Trusted(never=never)
    found = _File() if (document := _document(root, path)) is None else _validated(document, path)
    folders = [resolved(_absolute(written, f"{path}: folders")) for written in found.folders]
    cluster = None if found.engine is None else _cluster(found.engine, f"{path}: engine")
    objects = _object_store(found.s3, f"{path}: s3")
    memory = _memory(found, path, store)
    databases = tuple(_database(written, f"{path}: postgres") for written in found.postgres)
    return Trusted(tuple(folders), tuple(found.packages), never, cluster, objects, memory, databases)


def _memory(found: _File, path: Path, store: Path) -> Memory:
    if found.spill is None and found.spill_limit is not None:
        raise UsageError(
            "limits temporary files, and there is no folder for them",
            where=f"{path}: spill_limit",
            hint="Name the folder as spill, or leave spill_limit out.",
        )
    return Memory(
        None if found.memory_limit is None else _size(found.memory_limit, f"{path}: memory_limit"),
        None if found.spill is None else _spill(found.spill, f"{path}: spill", store),
        None if found.spill_limit is None else _size(found.spill_limit, f"{path}: spill_limit"),
    )


def _size(written: str, where: str) -> int:
    """Return a size in bytes."""
    parts = _SIZE.fullmatch(written.strip())
    if parts is None:
        raise UsageError(
            f"'{written}' is not a size",
            where=where,
            hint="Write a number and KiB, MiB, GiB or TiB, such as 2 GiB.",
        )
    found = int(float(parts[1]) * (1024 if parts[3] else 1000) ** ("KMGT".index(parts[2]) + 1))
    if found < LEAST_MEMORY:
        raise UsageError(
            f"'{written}' is too little", where=where, hint=f"Give at least {LEAST_MEMORY >> 20} MiB."
        )
    if found > MOST_MEMORY:
        raise UsageError(
            f"'{written}' is too much", where=where, hint=f"Give at most {MOST_MEMORY >> 40} TiB."
        )
    return found


def _spill(written: str, where: str, store: Path) -> Path:
    """Return the folder for temporary files, which nobody may write or replace who is not to be trusted."""
    path = _absolute(written, where)
    try:
        status = path.lstat()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"'{written}' cannot be read ({type(error).__name__})",
            where=where,
            hint=f"Make the folder: `mkdir -m 700 {written}`.",
        ) from None
    if not stat.S_ISDIR(status.st_mode) or path.resolve() != path:
        raise UsageError(
            f"'{written}' is not a folder, or leads over a link",
            where=where,
            hint="Name the folder itself.",
        )
    if path.is_relative_to(store) or store.is_relative_to(path):
        raise UsageError(
            f"'{written}' holds the store, or is in it",
            where=where,
            hint="Name a folder of its own, outside the store.",
        )
    if stat.S_IMODE(status.st_mode) & 0o022:
        raise UsageError(
            f"'{written}' can be written by others", where=where, hint=f"Run `chmod 700 {written}`."
        )
    check_whose(path, status)
    check_folder(path.parent)
    if not os.access(path, os.W_OK | os.X_OK):
        raise UsageError(
            f"'{written}' cannot be written by this account",
            where=where,
            hint="Run the command as the owner of the store.",
        )
    return path


def _absolute(written: str, where: str) -> Path:
    path = Path(written)
    if not path.is_absolute():
        raise UsageError(f"'{written}' is not an absolute path", where=where, hint="Begin it with /.")
    return path


def _cluster(engine: _Engine, where: str) -> Cluster:
    """Return the cluster, to which rows go under TLS alone: on one machine too, other accounts could join."""
    if not _is_host_and_port(engine.address):
        raise UsageError(
            "is not tls://HOST:PORT",
            where=f"{where}.address",
            hint="Only TLS keeps others out of the cluster: docs/scale.md says how to make its files.",
        )
    paths = {}
    for name in ("ca", "certificate", "key"):
        field, hint = f"{where}.{name}", f"Correct {where}.{name}."
        paths[name] = path = _absolute(getattr(engine, name), field)
        if name == "key":
            read_secret(path, "the key", hint=hint)
        check_file(path, read_plain(path, hint=hint)[1])
        check_folder(path.parent)
    return Cluster(engine.address, **paths)


def _object_store(written: _ObjectStore, where: str) -> ObjectStore:
    """Return the S3 store. Rows come from it under TLS alone, but where it answers on this machine."""
    prefixes = []
    for one in written.prefixes:
        found = address_of(one.removesuffix("/"), f"{where}.prefixes")
        prefixes.append(found)
    if written.endpoint is not None and not _is_endpoint(written.endpoint):
        raise UsageError(
            "is not https://HOST or https://HOST:PORT",
            where=f"{where}.endpoint",
            hint="Rows travel from there: without TLS, http://127.0.0.1:PORT alone is allowed.",
        )
    if written.region is not None and not _REGION.fullmatch(written.region):
        raise UsageError(
            "is not the name of a region", where=f"{where}.region", hint="Write one such as eu-central-1."
        )
    return ObjectStore(tuple(prefixes), written.endpoint, written.region)


def _database(written: str, where: str) -> PostgresTable:
    """Return the database of an address that names no table."""
    found = postgres_database(written, where) if is_postgres(written) else None
    if found is None or found.table:
        raise UsageError(
            "is not an address of a database",
            where=where,
            hint="Write postgresql://USER@HOST/DATABASE; a policy names the table.",
        )
    return found


def _is_endpoint(address: str) -> bool:
    try:
        parts = urlsplit(address)
        host = parts.hostname and (parts.scheme == "https" or parts.hostname in _LOOPBACK)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return False
    shown = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    written = address.removesuffix("/").casefold()
    return bool(host) and written in (f"https://{shown}{port}", f"http://{shown}{port}")


def _is_host_and_port(address: str) -> bool:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    shown = f"[{host}]" if ":" in host else host
    written = address.startswith("tls://") and address.casefold() == f"tls://{shown}:{port}"
    return bool(_HOST.fullmatch(host) and port and written)


def _document(root: Path, path: Path) -> Any:
    data, status = read_plain(path, hint="Restore it, or remove it.")
    check_file(path, status)
    check_folder(path.parent)
    check_whose(root)
    _check_accepted(root, path)
    try:
        return load_yaml(data.decode())
    except yaml.YAMLError as error:
        raise UsageError(yaml_finding(error), where=str(path), hint="Fix the YAML.") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is not valid YAML ({type(error).__name__})", where=str(path), hint=_HINT) from None


def _check_accepted(root: Path, path: Path) -> None:
    """Raise UsageError unless it lies beside a store that this account made, or in an accepted place."""
    if (root / DATABASE).is_file():
        with connect(root) as con:
            check_accepted(root, lambda: store_info(con, "store_id"))
    elif not is_made_or_accepted(root, str):
        raise UsageError(
            "is there and no store, and this account did not accept its folder",
            where=str(path),
            hint=f"Look at it; if you trust what it says, run `{trust_command(path.parent)}`.",
        )


def _validated(document: Any, path: Path) -> _File:
    try:
        return _File.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(display_name(str(part)) for part in first["loc"])
        known = _FINDINGS.get(field.split(".", maxsplit=1)[0], _TEXTS)
        finding = "unknown field" if first["type"] == "extra_forbidden" else known
        if not field:
            finding = "should have settings by name, such as memory_limit: 2 GiB"
        raise UsageError(finding, where=f"{path}: {field}" if field else str(path), hint=_HINT) from None
