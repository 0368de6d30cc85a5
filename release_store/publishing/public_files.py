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
from policy.plain_file import not_read, open_plain
from release_store.canonical import sha256_hex, stream_digest
from release_store.own_places import LINK, file_error
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


def checkpoint_file(root: Path, series: str, of: str) -> Path:
    """Return the signed checkpoint beside a release: `of` is its id, or what `checkpoint_of` returns."""
    return series_folder(root, series) / f"{of}.checkpoint.json"


def checkpoint_of(path: Path) -> str:
    """Return what the checkpoint in a file is of: the name before its ending, which begins with a release."""
    return path.name.removesuffix(".checkpoint.json")


def withdrawn_folder(root: Path, series: str, release_id: str) -> Path:
    """Return where a withdrawn release is kept for the audit; readers do not see it."""
    return root / "withdrawn" / series / release_id


def tombstone_file(root: Path, series: str, release_id: str) -> Path:
    """Return what stands in the public place of a withdrawn release."""
    return series_folder(root, series) / f"{release_id}.withdrawn.json"


def superseded_file(root: Path, series: str, release_id: str) -> Path:
    """Return what stands beside a superseded release, and names its successor."""
    return series_folder(root, series) / f"{release_id}.superseded.json"


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


def differing_files(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Return the names in `files` (name to SHA-256) that `folder` lacks or holds with other content."""
    return list(file_errors(folder, files))


def file_errors(
    folder: Path, files: Mapping[str, str], *, than: str = "the published file"
) -> dict[str, str]:
    """Return what is wrong with each of `files` (name to SHA-256) in `folder`, by name, in a few words.

    `than` is what a file with other content differs from.
    """
    wrong = {}
    for name, digest in files.items():
        found, what = _digest(folder / name)
        if found != digest:
            wrong[name] = what or f"differs from {than}"
    return wrong


def content_error(path: Path, content: bytes, differs: str) -> str | None:
    """Return what is wrong with a file that is to hold just `content`, in words: `differs` if it does."""
    found, what = _digest(path)
    return None if found == sha256_hex(content) else what or differs


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
        if _digest(partial / path.name)[0] != copied or _digest(path)[0] != copied:
            raise OSError(errno.EIO, "the copy differs from its source")
    sync_folder(partial)
    remove_folder(target)  # a copy whose move was interrupted
    partial.rename(target)


def replace_file(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Put `data` in place of the file `path` by one rename; raises as `replace_link`."""
    beside = path.with_name(f".{path.name}.new")
    _make_room(path, beside, "a file")
    _write_synced(beside, data, mode)
    beside.replace(path)
    sync_folder(path.parent)


def replace_link(path: Path, target: str | None) -> None:
    """Let the symbolic link `path` point to `target` by one rename; None takes it away.

    Raises StoreError where a folder has the link's place.
    """
    beside = path.with_name(f".{path.name}.new")
    _make_room(path, beside, "a link")
    if target is None:
        path.unlink(missing_ok=True)
        return
    beside.symlink_to(target)
    beside.replace(path)
    sync_folder(path.parent)


def _make_room(path: Path, beside: Path, kind: str) -> None:
    """Remove what was left, or planted, at the name that a file has before it takes its own.

    Raises StoreError where a folder stands there, or in the place of the file.
    """
    for one in (path, beside):
        if one.is_dir() and not one.is_symlink():
            raise StoreError(
                f"is a folder where the store has {kind}",
                where=str(one),
                hint="Copy the store again with its links (`cp -a`), or move the folder away.",
            )
    beside.unlink(missing_ok=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder; it need not be there."""
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


def _digest(path: Path) -> tuple[str | None, str]:
    """Return the SHA-256 of a file that is no link; or None, and why there is none."""
    if path.is_symlink():
        return None, LINK
    try:
        with open_plain(path) as file:
            return stream_digest(file), ""
    except (FileNotFoundError, NotADirectoryError):
        return None, "is missing"
    except OSError as error:
        return None, file_error(path) or not_read(error)
