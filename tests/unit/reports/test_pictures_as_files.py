"""Pictures as files: what is in them, the same bytes again, and what exists already stays."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from cli.__main__ import main
from release_store.store import ReleaseStore
from reports.export import FONT, png, specification, svg
from reports.picture import Picture
from reports.pictures import pictures_of
from tests.support.pages.sheets import HOSTILE, figures, gate

SVG = "{http://www.w3.org/2000/svg}"
GATES = [gate("k", value=3.0, threshold=2.0, relation=">="), gate("person", "fail", value=4.0)]
NAMES = [
    "narrowing-0", "ncp", "class-sizes", "values-0", "values-1", "latent-before", "latent-after", "gates",
]  # fmt: skip


def pictures(label: str = "20 to 24") -> dict[str, Picture]:
    return {one.name: one for one in pictures_of(GATES, figures(label)).all()}


def words(data: bytes) -> list[str]:
    """Return the texts of an SVG, in their order."""
    return [text for one in ET.fromstring(data).iter(f"{SVG}text") if (text := "".join(one.itertext()))]  # noqa: S314


def test_every_picture_is_drawn_with_its_words_and_axes() -> None:
    made = pictures()
    assert list(made) == NAMES
    for one in made.values():
        told = words(svg(one))
        assert one.title in told
        root = ET.fromstring(svg(one))  # noqa: S314
        assert root.findtext(f"{SVG}title") == one.title
        assert root.findtext(f"{SVG}desc") == one.words
        assert len(told) > 4, one.name
    assert {"share of people", "this release alone", "possible values remaining", "6 and more"} <= set(
        words(svg(made["narrowing-0"]))
    )
    assert {"pass", "fail", "person"} <= set(words(svg(made["gates"])))


@pytest.mark.integration
def test_the_same_data_give_the_same_bytes_whatever_was_drawn_before() -> None:
    made = pictures()
    first = {name: (svg(one), png(one)) for name, one in made.items()}
    assert {name: (svg(made[name]), png(made[name])) for name in reversed(made)} == first


def test_a_png_is_640_units_wide_at_its_scale_and_white() -> None:
    one = pictures()["ncp"]
    for scale in (1.0, 2.0):
        image = Image.open(io.BytesIO(png(one, scale=scale))).convert("RGBA")
        assert image.width == 640 * scale
        assert image.getpixel((1, 1)) == (255, 255, 255, 255)
        assert len(image.getcolors(1 << 24) or ()) > 10


def test_letters_are_drawn_with_the_font_that_is_always_there() -> None:
    one = pictures()["ncp"]
    spec = specification(one)
    assert FONT.startswith("Liberation Sans")
    assert f'font-family="{FONT}"' in svg(one).decode()
    assert spec["config"]["font"] == FONT


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_text_breaks_a_picture(hostile: str) -> None:
    for one in pictures(hostile).values():
        root = ET.fromstring(svg(one))  # noqa: S314
        assert {child.tag for child in root.iter()} <= {
            f"{SVG}{tag}" for tag in ("svg", "title", "desc", "g", "path", "text", "tspan", "line", "rect")
        } | {f"{SVG}defs", f"{SVG}clipPath"}


def test_without_titles_the_picture_says_the_rest() -> None:
    one = pictures()["ncp"]
    assert set(words(svg(one))) - set(words(svg(one, titles=False))) == {one.title}


# The command ----------------------------------------------------------------------------------------------


def run(store: ReleaseStore, *given: str) -> int:
    return main(["--store", str(store.root), "pictures", *given])


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir()}


@pytest.mark.integration
def test_a_releases_pictures(
    clinic: ReleaseStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(clinic, "clinic-2024-r1", "--format", "svg,png", "--out", str(out), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {Path(one["path"]).name for one in told["files"]} == {
        f"{name}.{kind}" for name in NAMES for kind in ("svg", "png")
    }
    assert sorted(one["path"] for one in told["files"]) == sorted(map(str, out.iterdir()))
    assert run(clinic, "clinic-2024-c1", "--format", "svg,png", "--out", str(out)) == 0


def test_a_series_pictures(clinic: ReleaseStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(clinic, "clinic") == 0
    assert contents(Path("clinic.pictures")).keys() == {"trend-k.svg", "headroom-0.svg"}
    assert "2025-r1" in (tmp_path / "clinic.pictures" / "trend-k.svg").read_text()


def test_a_candidate_without_figures_has_its_gates(clinic: ReleaseStore, tmp_path: Path) -> None:
    assert run(clinic, "clinic-2026-c1", "--out", str(tmp_path / "out")) == 0
    assert contents(tmp_path / "out").keys() == {"gates.svg"}


def test_some_by_name_or_by_group(clinic: ReleaseStore, tmp_path: Path) -> None:
    assert run(clinic, "clinic-2024-r1", "--only", "values,ncp", "--out", str(tmp_path / "out")) == 0
    assert contents(tmp_path / "out").keys() == {"values-0.svg", "values-1.svg", "ncp.svg"}


def test_what_is_there_stays_and_other_pictures_beside_it(
    clinic: ReleaseStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(clinic, "clinic-2024-r1", "--only", "ncp", "--out", str(out)) == 0
    first = (out / "ncp.svg").stat().st_mtime_ns
    (out / "mine.txt").write_text("notes")
    assert run(clinic, "clinic-2024-r1", "--out", str(out)) == 0
    assert contents(out).keys() == {f"{name}.svg" for name in NAMES} | {"mine.txt"}
    assert (out / "ncp.svg").stat().st_mtime_ns == first

    link = tmp_path / "link"
    link.symlink_to(out)
    assert run(clinic, "clinic-2024-r1", "--out", str(link)) == 2
    assert "link: is a link" in capsys.readouterr().err

    before = contents(out)
    (out / "gates.svg").write_text("drawn by hand")
    (out / "class-sizes.svg").unlink()
    assert run(clinic, "clinic-2024-r1", "--out", str(out)) == 2
    assert "gates.svg: exists already and is a different picture" in capsys.readouterr().err
    after = contents(out)
    assert after == {
        **{k: v for k, v in before.items() if k != "class-sizes.svg"},
        "gates.svg": b"drawn by hand",
    }


@pytest.mark.parametrize(
    ("given", "finding"),
    [
        (["clinic-2024"], "no release, candidate or series 'clinic-2024'"),
        (["clinic", "--only", "trend-x"], "there is no picture 'trend-x'"),
        (["clinic", "--format", "pdf"], "unknown format 'pdf'"),
        (["clinic", "--scale", "0"], "--scale: is 0"),
        (["clinic", "--scale", "nan"], "--scale: is nan"),
        (["clinic", "--out", "no/such/folder"], "has no parent folder"),
        (["clinic", "--out", "a" * 300], "has too long a name"),
    ],
)
def test_a_slip_is_told_and_nothing_written(
    clinic: ReleaseStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    finding: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert run(clinic, *given) == 2
    told: Any = capsys.readouterr().err.splitlines()
    assert finding in told[0]
    assert len(told) == 2
    assert sorted(tmp_path.rglob("*")) == before
