"""What tells readers of a release: its signed checkpoint, `latest` and the catalog.

Each is made from the history alone, so each can be made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy.errors import VerificationFailed
from release_store import audit, keys, merkle, queries
from release_store.canonical import iso, pretty_json, utc_now
from release_store.connection import connect
from release_store.public_files import (
    CATALOG,
    MANIFEST,
    checkpoint_files,
    replace_file,
    replace_link,
    series_folder,
    tombstone_file,
)
from release_store.records import Release, ReleaseState
from release_store.store import ReleaseStore

LATEST = "latest"


def announce(store: ReleaseStore, key: Ed25519PrivateKey, series: str) -> None:
    """Write the missing checkpoints of a series, and bring `latest` and the catalog up to date."""
    for release in store.releases(series):
        for path in checkpoint_files(store.root, release):
            if not path.exists():
                replace_file(path, pretty_json(_checkpoint(store, key)))
    replace_link(series_folder(store.root, series) / LATEST, latest_release(store.releases(series)))
    with store.catalog_lock():
        replace_file(store.root / "releases" / CATALOG, pretty_json(catalog(store.releases())))


def announcements_missing(store: ReleaseStore, series: str) -> list[Path]:
    """Return which of a series' checkpoints, `latest` and catalog are missing or out of date."""
    releases = store.releases(series)
    missing = [
        path for release in releases for path in checkpoint_files(store.root, release) if not path.exists()
    ]
    link = series_folder(store.root, series) / LATEST
    if link_target(link) != latest_release(releases):
        missing.append(link)
    path = store.root / "releases" / CATALOG
    if releases and (not path.is_file() or path.read_bytes() != pretty_json(catalog(store.releases()))):
        missing.append(path)
    return missing


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


def _checkpoint(store: ReleaseStore, key: Ed25519PrivateKey) -> dict[str, Any]:
    with connect(store.root) as con:
        size, head = audit.log_head(con)
        tree = merkle.log_tree(audit.read_hashes(con))
        store_id = queries.store_info(con, "store_id")
    if size != tree.size:
        raise VerificationFailed(
            f"the log has {tree.size} events, and the last is number {size}",
            where=store_id,
            mend="Run `releasegate verify`; nothing is signed until the log is restored.",
        )
    return keys.sign_checkpoint(
        key, store_id=store_id, size=size, head=head, at=iso(utc_now()), root=tree.root(size).hex()
    )
