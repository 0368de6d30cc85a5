"""What tells readers of a release: its signed checkpoint, its successor, `latest` and the catalog.

All but a checkpoint are made from the history alone, and can be made again; a lost checkpoint is not
signed anew.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy.errors import UsageError
from release_store.audit import keys
from release_store.audit.checkpoints import (
    CheckpointStatus,
    check_goes_on,
    check_kept,
    check_may_sign,
    checkpoint_files,
    checkpoint_status,
    expected_checkpoints,
    keep,
    kept_file,
    sign,
)
from release_store.canonical import pretty_json
from release_store.db import queries
from release_store.db.connection import connect
from release_store.own_places import LATEST
from release_store.publishing.public_files import (
    CATALOG,
    MANIFEST,
    checkpoint_of,
    replace_file,
    replace_link,
    series_folder,
    tombstone_file,
)
from release_store.publishing.tombstones import has_content, superseded_tombstones
from release_store.records import Release, ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.rows_and_log import listed_releases


def update_public_index(store: ReleaseStore, key: Ed25519PrivateKey, series: str) -> list[Path]:
    """Write a series' missing checkpoints and tombstones, and bring `latest` and the catalog up to date.

    Returns the checkpoints that were written. Raises VerificationFailed, and signs nothing, where the log
    does not continue the newest checkpoint; what readers see is brought up to date all the same, where the
    releases are as the log left them.
    """
    try:
        return _write_checkpoints(store, key, series)
    finally:
        for path, content in _tombstones(store, series).items():
            if not has_content(path, content):
                replace_file(path, content)
        own = [one for one in _listed(store) if one.series == series]
        link, latest = series_folder(store.root, series) / LATEST, latest_release(own)
        if link_target(link) != latest or latest is None:
            replace_link(link, latest)
        with store.catalog_lock():  # under which others write checkpoints that were interrupted, here too
            for left in _half_written(store, series):
                left.unlink()
        write_catalog(store)


def write_catalog(store: ReleaseStore) -> None:
    """Bring the catalog, which all series share, up to date."""
    path = store.root / "releases" / CATALOG
    with store.catalog_lock():
        listed = pretty_json(catalog(_listed(store)))
        if not has_content(path, listed):
            replace_file(path, listed)


def outdated_catalog(store: ReleaseStore) -> Path | None:
    """Return the catalog's path where it is missing or out of date."""
    path, releases = store.root / "releases" / CATALOG, _listed(store)
    current = not releases or has_content(path, pretty_json(catalog(releases)))
    return None if current else path


def _listed(store: ReleaseStore) -> list[Release]:
    with connect(store.root) as con:
        return listed_releases(con, store.root)


def announcements_missing(store: ReleaseStore, series: str) -> list[Path]:
    """Return which of a series' checkpoints, tombstones and `latest` are missing or out of date.

    A checkpoint that was lost is not among them: it is never signed anew.
    """
    releases = store.releases(series)
    with connect(store.root) as con:
        due = expected_checkpoints(con)
    own = checkpoint_files(store.root, {one.release_id: one.series for one in releases}, due)
    missing: list[Path] = []
    if not all(map(os.path.lexists, own)):
        with connect(store.root) as con:
            found = checkpoint_status(con, store.root, keys.read_public_hex(store.root))
        missing = [path for path in own if path in found.unwritten or path in found.unsigned]
    missing += [
        path for path, content in _tombstones(store, series).items() if not has_content(path, content)
    ]
    link = series_folder(store.root, series) / LATEST
    if link_target(link) != latest_release(releases):
        missing.append(link)
    half = [path.with_name(path.name[1:].removesuffix(".new")) for path in _half_written(store, series)]
    return missing + [path for path in half if path not in missing]


def _half_written(store: ReleaseStore, series: str) -> list[Path]:
    """Return what an interrupted `replace_file` or `replace_link` left beside a name of a series' folder."""
    return sorted(series_folder(store.root, series).glob(".*.new"))


def check_log(store: ReleaseStore) -> None:
    """Raise VerificationFailed unless the log goes on from the newest checkpoint, as `check_kept`."""
    with connect(store.root) as con:
        check_kept(con, store.root)


def lost_checkpoints(store: ReleaseStore) -> list[Path]:
    """Return the checkpoints that are gone though a later state of the log was signed."""
    with connect(store.root) as con:
        found = _look(store, con)
    return found.lost if found else []


def _look(store: ReleaseStore, con: duckdb.DuckDBPyConnection) -> CheckpointStatus | None:
    """Look without the signing key; None where its place or the public key is wrong: no key then signs."""
    public_key = keys.read_public_hex(store.root)
    try:
        keys.key_path(store.root)
    except UsageError:
        return None
    return checkpoint_status(con, store.root, public_key) if public_key else None


def _write_checkpoints(store: ReleaseStore, key: Ed25519PrivateKey, series: str) -> list[Path]:
    """Sign what a series lacks, and with it what others that were interrupted lack: it would be lost else.

    First beside the key, then beside the release: if this dies in between, the next one puts it in place.
    """
    with store.catalog_lock():
        with connect(store.root) as con:
            missing = checkpoint_status(con, store.root, keys.public_hex(key))
            written = dict(missing.unwritten)
            folder = series_folder(store.root, series)
            if any(path.parent == folder for path in missing.unsigned):
                check_may_sign(con, missing, queries.releases(con))
                signed = sign(con, key, [checkpoint_of(path) for path in missing.unsigned])
                place = kept_file(store.root, queries.store_info(con, "store_id"))
            else:
                signed = []
                if written:
                    check_goes_on(con, missing.newest, by_root=True)
        # What was kept and not put in place comes first: `keep` takes it away.
        for path, one in missing.unwritten.items():
            replace_file(path, pretty_json(one))
        if signed:
            keep(place, signed)
        for path, one in zip(missing.unsigned if signed else (), signed, strict=True):
            replace_file(path, pretty_json(one))
            written[path] = one
    return list(written)


def _tombstones(store: ReleaseStore, series: str) -> dict[Path, bytes]:
    with connect(store.root) as con:
        return superseded_tombstones(store.root, con, queries.releases(con, series))


def catalog(releases: Sequence[Release]) -> dict[str, Any]:
    """Return the list of all releases, withdrawn ones too, by series and in order of publication."""
    by_series: dict[str, list[dict[str, Any]]] = {}
    for release in releases:
        by_series.setdefault(release.series, []).append(
            {
                "release_id": release.release_id,
                "period": release.period,
                "number": release.number,
                "state": release.state,
                "published_at": release.published_at,
                "path": f"{release.series}/{_public_name(release)}",
                "manifest_sha256": release.files.get(MANIFEST),
                **({"override": True} if release.overridden else {}),
            }
        )
    return {"series": by_series}


def _public_name(release: Release) -> str:
    """Return what stands in the public place of a release: its folder, or the tombstone."""
    if release.state is ReleaseState.WITHDRAWN:
        return tombstone_file(Path(), release.series, release.release_id).name
    return release.release_id


def latest_release(releases: Sequence[Release]) -> str | None:
    """Return the id of the last release of a series that stands published."""
    standing = [one.release_id for one in releases if one.state is ReleaseState.PUBLISHED]
    return standing[-1] if standing else None


def link_target(link: Path) -> str | None:
    """Return where a symbolic link points to, or None if it is none."""
    return str(link.readlink()) if link.is_symlink() else None
