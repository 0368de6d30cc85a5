"""What the owner of a store trusts beyond a policy's own folder: `trusted.yaml`, beside the store.

    folders: [/data/registry]       # policies may name files below these
    packages: [my-methods]          # distributions whose methods may be loaded
    engine: {name: dask, address: "tcp://127.0.0.1:8786"}   # the cluster that decides fragments of tables

The file is guarded as that of the people is. Without it, nothing more is trusted.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from policy.errors import UsageError
from policy.trusted import TRUSTED_FILE, Cluster, Trusted
from policy.yaml_text import load_yaml, yaml_finding
from release_store.approval.reviewers import people_path
from release_store.audit.keys import key_path
from release_store.guarded_files import (
    check_file,
    check_folder,
    read_plain,
    read_secret,
    resolved,
    trusted_owners,
)
from release_store.person_key import person_key_path

_HINT = "See docs/security.md for what is allowed."


_TEXTS = "should be a list of texts"
_FINDINGS = {"folders": _TEXTS, "packages": _TEXTS, "engine": "should be {name: dask, address: ...}"}


class _Engine(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    name: Literal["dask"]
    address: str
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    engine: _Engine | None = None
    folders: list[str] = Field(default=[], max_length=1000)
    packages: list[str] = Field(default=[], max_length=1000)


def load_trusted(root: Path) -> Trusted:
    """Return what the owner of the store in `root` trusts, and what no policy may read there.

    Raises UsageError where `trusted.yaml` is not a regular file, others can write or replace it, or it says
    something unknown.
    """
    store = resolved(root)
    path = store.with_name(TRUSTED_FILE)
    never = (store, key_path(root), person_key_path(root), people_path(root))
    try:
        path.lstat()
    except FileNotFoundError:
        return Trusted(never=never)
    found = _File() if (document := _document(root, path)) is None else _validated(document, path)
    folders = [resolved(_absolute(written, f"{path}: folders")) for written in found.folders]
    cluster = None if found.engine is None else _cluster(found.engine, f"{path}: engine")
    return Trusted(tuple(folders), tuple(found.packages), never, cluster)


def _absolute(written: str, where: str) -> Path:
    path = Path(written)
    if not path.is_absolute():
        raise UsageError(f"'{written}' is not an absolute path", where=where, hint="Begin it with /.")
    return path


def _cluster(engine: _Engine, where: str) -> Cluster:
    """Return the cluster, to which rows go: over a network under TLS alone."""
    files = {name: getattr(engine, name) for name in ("ca", "certificate", "key")}
    if engine.address.startswith("tls://"):
        paths = {}
        for name, file in files.items():
            if file is None:
                raise UsageError(
                    "is missing", where=f"{where}.{name}", hint=f"Name a file in PEM form. {_HINT}"
                )
            paths[name] = _absolute(file, f"{where}.{name}")
            hint = f"Correct {where}.{name}."
            if name == "key":
                read_secret(paths[name], "the key", hint=hint)
            else:
                read_plain(paths[name], hint=hint)
        return Cluster(engine.address, **paths)
    if not engine.address.startswith("tcp://") or not _is_this_machine(engine.address):
        raise UsageError(
            "would send rows over a network without encryption",
            where=f"{where}.address",
            hint="Use tls://HOST:PORT with ca, certificate and key, or tcp:// on this machine.",
        )
    return Cluster(engine.address)


def _is_this_machine(address: str) -> bool:
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _document(root: Path, path: Path) -> Any:
    data, status = read_plain(path, hint="Restore it, or remove it.")
    owners = trusted_owners(root)
    check_file(path, status, owners)
    check_folder(path.parent, owners)
    try:
        return load_yaml(data.decode())
    except yaml.YAMLError as error:
        raise UsageError(yaml_finding(error), where=str(path), hint="Fix the YAML.") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is not valid YAML ({type(error).__name__})", where=str(path), hint=_HINT) from None


def _validated(document: Any, path: Path) -> _File:
    try:
        return _File.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        known = _FINDINGS.get(field.split(".", maxsplit=1)[0], _TEXTS)
        finding = "unknown field" if first["type"] == "extra_forbidden" else known
        raise UsageError(finding, where=f"{path}: {field}" if field else str(path), hint=_HINT) from None
