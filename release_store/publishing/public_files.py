"""The folders and files that readers see: written beside, synced, and put in place by one rename."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from policy.errors import StoreError, VerificationFailed
from policy.plain_file import open_plain
from release_store.canonical import stream_digest
from release_store.protocol.names import WITHOUT_ROWS
from release_store.records import Release, ReleaseState

MANIFEST = "manifest.json"
CATALOG = "catalog.json"
_CHUNK = 1 << 20


def candidate_folder(root: Path, candidate_id: str) -> Path:
    """Return where the staged files of a candidate lie."""
    return root / "candidates" / candidate_id


def series_folder(root: Path, series: str) -> Path:
    """Return where the releases of a series lie."""
    return root / "releases" / series


def partial_folder(root: Path, series: str, release_id: str) -> Path:
    """Return where a release is put together before it appears."""
    return series_folder(root, series) / f".{release_id}.partial"


def release_folder(root: Path, series: str, release_id: str) -> Path:
    """Return where a release appears."""
    return series_folder(root, series) / release_id


def checkpoint_file(root: Path, series: str, release_id: str) -> Path:
    """Return the signed checkpoint beside a release."""
    return series_folder(root, series) / f"{release_id}.checkpoint.json"


def checkpoint_of(path: Path) -> str:
    """Return what the checkpoint in a file is of: a release's id, or `<release>.withdrawn`."""
    return path.name.removesuffix(".checkpoint.json")


def withdrawn_folder(root: Path, series: str, release_id: str) -> Path:
    """Return where a withdrawn release is kept for the audit; readers do not see it."""
    return root / "withdrawn" / series / release_id


def tombstone_file(root: Path, series: str, release_id: str) -> Path:
    """Return what stands in the public place of a withdrawn release."""
    return series_folder(root, series) / f"{release_id}.withdrawn.json"


def withdrawal_checkpoint_file(root: Path, series: str, release_id: str) -> Path:
    """Return the signed checkpoint of a release's withdrawal."""
    return series_folder(root, series) / f"{release_id}.withdrawn.checkpoint.json"


def superseded_file(root: Path, series: str, release_id: str) -> Path:
    """Return what stands beside a superseded release, and names its successor."""
    return series_folder(root, series) / f"{release_id}.superseded.json"


def checkpoint_files(root: Path, release: Release) -> list[Path]:
    """Return the checkpoints that a release must have: one of its publication, one of its withdrawal."""
    names = (root, release.series, release.release_id)
    withdrawn = release.state is ReleaseState.WITHDRAWN
    return [checkpoint_file(*names), *([withdrawal_checkpoint_file(*names)] if withdrawn else [])]


def kept_folder(root: Path, release: Release) -> Path:
    """Return where the files of a release lie: a withdrawn one leaves the public place."""
    public = release_folder(root, release.series, release.release_id)
    withdrawn = withdrawn_folder(root, release.series, release.release_id)
    if release.state is not ReleaseState.WITHDRAWN:
        return public
    # A withdrawal that was interrupted has not moved it yet.
    return withdrawn if withdrawn.exists() or not public.exists() else public


def without_rows(release: Release) -> dict[str, str]:
    """Return the files of a release that hold no cell of its rows, which are left when these are purged."""
    return {name: digest for name, digest in release.files.items() if name in WITHOUT_ROWS}


def check_places(root: Path, series: str) -> None:
    """Raise VerificationFailed where a folder that releases are written to is a link, or no folder."""
    for path in (root / "releases", series_folder(root, series), root / "withdrawn", root / "candidates"):
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise VerificationFailed(
                "is not the store's own folder; nothing is written through it",
                where=str(path),
                hint="Restore the folder, and run `releasegate verify`.",
            )


def differing_files(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Return the names in `files` (name to SHA-256) that `folder` lacks or holds with other content."""
    return [name for name, digest in files.items() if _digest_or_none(folder / name) != digest]


def copy_candidate(staged: Path, target: Path, files: Mapping[str, str]) -> None:
    """Copy a candidate's staged files to a new folder for another, and sync it to the disk.

    Raises VerificationFailed if what was copied is not what `files` (name to SHA-256) says.
    """
    remove_folder(target)
    target.mkdir(mode=0o700)
    for name, digest in files.items():
        if _copy(staged / name, target / name) != digest:
            raise VerificationFailed(
                "differs from the assessed file",
                where=str(staged / name),
                hint="Run the period again with `releasegate run`.",
            )
    sync_folder(target)


def build_release(
    partial: Path, staged: Path, files: Mapping[str, str], documents: Mapping[str, bytes]
) -> None:
    """Copy `files` from `staged` to a new folder `partial`, write `documents` there, and sync it to the disk.

    Raises VerificationFailed if what was copied is not what `files` says.
    """
    remove_folder(partial)
    partial.mkdir(parents=True)
    for name, digest in files.items():
        if _copy(staged / name, partial / name) != digest:
            raise VerificationFailed("differs from the assessed file", where=str(staged / name))
    for name, data in documents.items():
        _write_synced(partial / name, data)
    partial.chmod(0o755)
    sync_folder(partial)


def move_into_place(partial: Path, final: Path) -> None:
    """Let a finished release appear under its name, whole, by one rename."""
    partial.rename(final)
    sync_folder(final.parent)


def move_folder(folder: Path, target: Path) -> None:
    """Move a folder out of the public place by one rename, into a folder that opens to its owner only."""
    target.parent.parent.mkdir(exist_ok=True, mode=0o700)
    target.parent.mkdir(exist_ok=True, mode=0o700)
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_folder(folder, target)
        remove_folder(folder)
    sync_folder(target.parent)
    sync_folder(folder.parent)


def _copy_folder(folder: Path, target: Path) -> None:
    """Copy a folder to another file system, where it appears whole. Raises OSError if a copy differs."""
    partial = target.with_name(f".{target.name}.partial")
    remove_folder(partial)
    partial.mkdir(mode=0o700)
    for path in sorted(folder.iterdir()):
        copied = _copy(path, partial / path.name)
        if _digest_or_none(partial / path.name) != copied or _digest_or_none(path) != copied:
            raise OSError(errno.EIO, "the copy differs from its source")
    sync_folder(partial)
    remove_folder(target)  # a copy whose move was interrupted
    partial.rename(target)


def replace_file(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Put `data` in place of the file `path` by one rename."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    _write_synced(beside, data, mode)
    beside.replace(path)
    sync_folder(path.parent)


def replace_link(path: Path, target: str | None) -> None:
    """Let the symbolic link `path` point to `target` by one rename; None takes it away.

    Raises StoreError where a folder has the link's place.
    """
    if path.is_dir() and not path.is_symlink():
        raise StoreError(
            "is a folder where the store has a link",
            where=str(path),
            hint="Copy the store again with its links (`cp -a`), or move the folder away.",
        )
    if target is None:
        path.unlink(missing_ok=True)
        return
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    beside.symlink_to(target)
    beside.replace(path)
    sync_folder(path.parent)


def remove_folder(folder: Path) -> None:
    """Remove a folder that was never public; it need not be there."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _copy(source: Path, target: Path) -> str:
    """Copy a file, and return the SHA-256 of the bytes that were copied."""
    digest = hashlib.sha256()
    with open_plain(source) as reader, target.open("xb") as writer:
        while piece := reader.read(_CHUNK):
            digest.update(piece)
            writer.write(piece)
        writer.flush()
        os.fsync(writer.fileno())
    target.chmod(0o644)
    return digest.hexdigest()


def _write_synced(path: Path, data: bytes, mode: int = 0o644) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as writer:
        writer.write(data)
        writer.flush()
        os.fsync(writer.fileno())
    path.chmod(mode)


def _digest_or_none(path: Path) -> str | None:
    if path.is_symlink():
        return None
    try:
        with open_plain(path) as file:
            return stream_digest(file)
    except OSError:
        return None
