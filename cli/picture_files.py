"""`releasegate pictures`: the pictures of a release, a candidate or a series as files."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from policy.errors import UsageError, did_you_mean
from release_store.db.changes import gate_json
from release_store.guarded_files import resolved
from release_store.store import ReleaseStore
from reports.documents import Document
from reports.export import FORMATS, png, svg
from reports.picture import Picture
from reports.pictures import pictures_of
from reports.series import assessed_releases
from reports.series_pictures import series_pictures
from reports.withheld import withholding_reason, without_content
from services.evaluation.evaluate import parse_list

GREATEST_SCALE = 8.0


@dataclass(frozen=True)
class PictureOptions:
    """Which files: formats, names (none: all), whether with titles, and a PNG's pixels a unit."""

    formats: tuple[str, ...] = ("svg",)
    only: tuple[str, ...] = ()
    titles: bool = True
    scale: float = 2.0


def picture_options(formats: str, only: str | None, titles: bool, scale: float) -> PictureOptions:
    """Check what was asked for on the command line. Raises UsageError."""
    chosen = parse_list("--format", formats)
    for name in chosen:
        if name not in FORMATS:
            raise UsageError(
                f"unknown format '{name}'", where="--format", hint=f"Known: {', '.join(FORMATS)}."
            )
    if not 0 < scale <= GREATEST_SCALE:
        raise UsageError(
            f"is {scale:g}", where="--scale", hint=f"Give a number above 0, up to {GREATEST_SCALE:g}."
        )
    return PictureOptions(chosen, () if only is None else parse_list("--only", only), titles, scale)


def pictures_for(store: ReleaseStore, identifier: str) -> list[Picture]:
    """Return the pictures of a release, a candidate or a series, whose name is given.

    Raises UsageError where there is none of that name, or where it has nothing to draw.
    """
    releases = {one.release_id: one.candidate_id for one in store.releases()}
    candidates = {one.candidate_id: one.series for one in store.candidates()}
    series = dict.fromkeys(candidates.values())
    if (candidate := releases.get(identifier, identifier)) in candidates:
        gates = [gate_json(result) for result in store.gates(candidate)]
        release = store.release(identifier) if identifier in releases else None
        figures = store.figures(candidate)
        spread = not withholding_reason(store.candidate(candidate), release)
        found = pictures_of(gates, figures if spread else without_content(figures)).all()
    elif identifier in series:
        found = series_pictures(assessed_releases(store, identifier)).all()
    else:
        known = [*releases, *candidates, *series]
        raise UsageError(
            f"no release, candidate or series '{identifier}'{did_you_mean(identifier, known)}",
            hint="Run `releasegate history` to list them.",
        )
    if not found:
        raise UsageError(
            "has nothing to draw", where=identifier, hint="Give an assessed candidate, or a release."
        )
    return found


def select_pictures(pictures: Sequence[Picture], only: Sequence[str]) -> list[Picture]:
    """Return the pictures of these names, or of these groups, as `values` is of `values-0` and `values-1`.

    Raises UsageError for a name that none has.
    """
    if not only:
        return list(pictures)
    for name in only:
        if not any(_is(one, name) for one in pictures):
            names = [one.name for one in pictures]
            raise UsageError(
                f"there is no picture '{name}'{did_you_mean(name, names)}",
                where="--only",
                hint=f"There are {', '.join(names)}.",
            )
    return [one for one in pictures if any(_is(one, name) for name in only)]


def _is(picture: Picture, name: str) -> bool:
    return name in (picture.name, picture.name.rpartition("-")[0])


def write(pictures: Sequence[Picture], asked: PictureOptions, out: Path, root: Path) -> list[Document]:
    """Write the pictures into `out`, outside the store `root`; return name, title, words, path and SHA-256.

    A file that is there and holds the same is left; where one holds anything else, nothing is written, and
    UsageError raised. A new folder appears whole or not at all.
    """
    if resolved(out).is_relative_to(root.resolve()):
        raise UsageError("is inside the store", where=str(out), hint="Choose another folder with --out.")
    if out.is_symlink():
        raise UsageError("is a link", where=str(out), hint="Give the folder itself with --out.")
    if out.exists() and not out.is_dir():
        raise UsageError("is not a folder", where=str(out), hint="Give a folder with --out.")
    if not out.resolve().parent.is_dir():
        raise UsageError("has no parent folder", where=str(out), hint="Create its parent folder first.")
    made = [(one, f"{one.name}.{kind}", draw(one, kind, asked)) for one in pictures for kind in asked.formats]
    for _, name, data in made:
        there = out / name
        if os.path.lexists(there) and not (there.is_file() and there.read_bytes() == data):
            raise UsageError(
                "exists already and is a different picture",
                where=str(there),
                hint="Give another folder with --out.",
            )
    try:
        _put([(name, data) for _, name, data in made], out)
    except OSError as error:
        raise UsageError(
            f"cannot be written ({type(error).__name__})",
            where=str(out),
            hint="Give a writable folder.",
        ) from None
    return [
        {
            "name": one.name,
            "title": one.title,
            "words": one.words,
            "path": str(out / name),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        for one, name, data in made
    ]


def draw(picture: Picture, kind: str, asked: PictureOptions) -> bytes:
    """Return one picture as a file of `svg` or `png`."""
    if kind == "svg":
        return svg(picture, titles=asked.titles)
    return png(picture, titles=asked.titles, scale=asked.scale)


def _put(files: Sequence[tuple[str, bytes]], out: Path) -> None:
    there = out.exists()
    beside = Path(tempfile.mkdtemp(prefix=".releasegate-", dir=out if there else out.resolve().parent))
    try:
        for name, data in files:
            (beside / name).write_bytes(data)
        if not there:
            beside.chmod(0o755)
            beside.replace(out)
            return
        for name, _ in files:
            if not (out / name).exists():
                (beside / name).replace(out / name)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
