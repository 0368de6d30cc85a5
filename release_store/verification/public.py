"""Is everything in the public place, and in that of withdrawn releases, accounted for by the history?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from release_store.audit.checkpoints import checkpoint_files
from release_store.audit.log import Finding
from release_store.canonical import pretty_json
from release_store.db import queries
from release_store.own_places import LATEST
from release_store.publishing.public_files import (
    CATALOG,
    content_error,
    series_folder,
)
from release_store.publishing.public_index import catalog, latest_release, link_target
from release_store.publishing.tombstones import check_superseded
from release_store.publishing.withdrawal import check_withdrawals
from release_store.records import Release, ReleaseState
from release_store.verification.checkpoints import MISSING, check_checkpoints
from release_store.verification.releases import foreign_files
from release_store.verification.view import VerificationContext

_OTHERS = (".superseded.json", ".withdrawn.json")  # which the checks of tombstones know
_STRANGE = "is not part of the history"
_INTERRUPTED = "was left by an interrupted publication; the next run or `releasegate doctor` completes it"
_LEFT = "was left by an interrupted run; the next run, or `releasegate doctor`, completes it"


def check_folders(view: VerificationContext, releases: list[Release]) -> list[Finding]:
    """The catalog, `latest` and every name in the public place are those of the history."""
    findings = []
    path = view.root / "releases" / CATALOG
    listed = pretty_json(catalog(releases))
    if releases and (what := content_error(path, listed, "does not list the current releases")):
        findings.append(Finding(CATALOG, what))
    for series, group in groupby(releases, key=lambda release: release.series):  # they come by series
        own = list(group)
        if link_target(series_folder(view.root, series) / LATEST) != latest_release(own):
            findings.append(Finding(f"{series}/{LATEST}", "does not point to the latest release"))
    findings += _public(view, releases)
    return findings + list(_withdrawn(view.root, releases))


def check_series_folder(view: VerificationContext, releases: list[Release]) -> list[Finding]:
    """The public place of the view's series holds what the history of all `releases` says, and no more."""
    own = [release for release in releases if release.series == view.series]
    findings = [*check_checkpoints(view, own), *_public(view, releases)]
    findings += [one for release in own for one in foreign_files(view, release)]
    beside = [
        *check_superseded(view.root, view.con, releases),
        *check_withdrawals(view.root, view.con, releases),
    ]
    names = {release.release_id for release in own}
    findings += [one for one in beside if one.where in names or one.where.startswith(f"{view.series}/")]
    # What was left is in nobody's way, and a checkpoint that was lost is never signed again.
    return [one for one in findings if one.what not in (_LEFT, _INTERRUPTED, MISSING)]


def _public(view: VerificationContext, releases: list[Release]) -> Iterator[Finding]:
    top = view.root / "releases"
    known = {release.release_id for release in releases if release.state is not ReleaseState.WITHDRAWN}
    gone = {release.release_id for release in releases} - known
    series = {release.release_id: release.series for release in releases}
    checkpoints = set(checkpoint_files(view.root, series, view.log.announced))
    all_series = {record.series for record in queries.candidates(view.con)}
    for entry in _entries(top):
        if entry.name == CATALOG or (entry.name in all_series and view.series not in (None, entry.name)):
            continue
        if entry.name == f".{CATALOG}.new":
            yield Finding(entry.name, _LEFT)
        elif entry.name not in all_series or not _is_folder(entry):
            yield Finding(f"releases/{entry.name}", _STRANGE)
        else:
            for inner in _entries(entry):
                what = _of_series(view, inner, known, gone, checkpoints)
                if what:
                    yield Finding(f"{entry.name}/{inner.name}", what)


def _of_series(
    view: VerificationContext, path: Path, known: set[str], gone: set[str], checkpoints: set[Path]
) -> str | None:
    """Return what is wrong with an entry in a series' folder, None if nothing is that is looked at here."""
    name = path.name
    if name.startswith("."):
        return _hidden(view, name[1:])
    if name == LATEST or name.endswith(_OTHERS) or name in gone:
        return None  # told already
    if name in known or path in checkpoints:
        fine = _is_folder(path) if name in known else path.is_file() and not path.is_symlink()
        return None if fine else "is a symbolic link, or not the kind of file that was published"
    if not _is_folder(path):
        return _STRANGE
    if name in view.log.started:
        return _INTERRUPTED
    return "is a release folder without a release in the store"


def _hidden(view: VerificationContext, name: str) -> str:
    """Tell a file or folder that was about to take its name from one that is nothing of the store's."""
    whole = name.removesuffix(".partial").removesuffix(".new").removesuffix(".json")
    of = whole.removesuffix(".checkpoint")
    release_id = of.removesuffix(".withdrawn").removesuffix(".superseded")
    known = whole == LATEST or of in view.log.announced or release_id in view.log.started
    return _LEFT if known else _STRANGE


def _withdrawn(root: Path, releases: list[Release]) -> Iterator[Finding]:
    """Below `withdrawn` a folder a series; what is in it and of no release `check_withdrawals` tells.

    The folder stays when a release is restored.
    """
    gone = {(one.series, one.release_id) for one in releases if one.state is ReleaseState.WITHDRAWN}
    all_series = {one.series for one in releases}
    for entry in _entries(root / "withdrawn"):
        if entry.name not in all_series or not _is_folder(entry):
            yield Finding(f"withdrawn/{entry.name}", _STRANGE)
            continue
        for inner in _entries(entry):
            if (entry.name, inner.name) in gone and not _is_folder(inner):
                yield Finding(f"withdrawn/{entry.name}/{inner.name}", "is not a folder")
            elif inner.name.startswith("."):  # which a pattern does not show
                yield Finding(f"withdrawn/{entry.name}/{inner.name}", _STRANGE)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
