"""Pictures as files for papers and slides: SVG or PNG, light on white, as wide as a page of text.

The same data give the same bytes: nothing of the time or of the machine is in them. The letters are those of
Liberation Sans, which the program that draws them brings along; nothing is asked for from anywhere.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from typing import Any

from reports.picture import Picture
from reports.text import sanitize_text
from reports.theme import PALETTES, vega_config

WIDTH = 640
FORMATS = ("svg", "png")
# The first is within the program that draws; the others have letters of the same width.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
_NO_SIGNS = dict.fromkeys(map(ord, "✓✗"))  # they stand beside the words that say the same
_SIGN = "sign"
_LINE = 95  # signs of a title that fit into one line


def specification(picture: Picture, *, titles: bool = True, width: int = WIDTH) -> dict[str, Any]:
    """Return the whole specification of a picture for a file."""
    config = vega_config("light") | {"font": FONT, "background": PALETTES["light"]["paper"]}
    made = {**picture.whole(), "data": {"name": "rows", "values": [_cells(row) for row in picture.rows]}}
    made |= {"width": width, "padding": 8, "config": config}
    return made | {"title": {"text": _lines(sanitize_text(picture.title)), "offset": 12}} if titles else made


def _cells(row: Any) -> dict[str, Any]:
    """Return a row with texts that may stand in XML, and without signs that its letters do not have."""
    return {name: _text(name, cell) if isinstance(cell, str) else cell for name, cell in row.items()}


def _text(name: str, cell: str) -> str:
    return sanitize_text(cell).translate(_NO_SIGNS).strip() if name == _SIGN else sanitize_text(cell)


def _lines(title: str) -> Sequence[str]:
    return [title[at : at + _LINE] for at in range(0, min(len(title), 3 * _LINE), _LINE)]


def svg(picture: Picture, *, titles: bool = True) -> bytes:
    """Return a picture as SVG; its title and words are in it for whoever hears it read."""
    text = svg_of(specification(picture, titles=titles)).decode()
    at = text.index(">", text.index("<svg")) + 1
    title, description = escape(sanitize_text(picture.title)), escape(sanitize_text(picture.words))
    return f"{text[:at]}<title>{title}</title><desc>{description}</desc>{text[at:]}\n".encode()


def png(
    picture: Picture,
    *,
    titles: bool = True,
    scale: float = 2.0,
    width: int = WIDTH,
    colours: int | None = None,
) -> bytes:
    """Return a picture as PNG of `scale` times `width` pixels; of few colours if asked for."""
    return png_of(specification(picture, titles=titles, width=width), scale=scale, colours=colours)


def svg_of(spec: dict[str, Any]) -> bytes:
    """Return a Vega-Lite specification that has its data as SVG; nothing is fetched for it."""
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    return text.encode()


def png_of(spec: dict[str, Any], *, scale: float = 2.0, colours: int | None = None) -> bytes:
    """Return a Vega-Lite specification that has its data as PNG; of few colours if asked for."""
    import vl_convert

    return _smaller(vl_convert.vegalite_to_png(spec, scale=scale, allowed_base_urls=[]), colours)


def _smaller(png: bytes, colours: int | None) -> bytes:
    """Return the same pixels without their transparency, which they have none of, in a third of the bytes."""
    from PIL import Image

    made = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        plain = image.convert("RGB")
        few = plain if colours is None else plain.quantize(colours, dither=Image.Dither.NONE)
        few.save(made, "PNG", optimize=True)
    return made.getvalue()
