"""Pages as HTML: templates that escape everything, and no script or style in the page."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from reports.pages import asset, environment

_HERE = Path(__file__).parent
_ASSETS = {
    "style.css": "text/css; charset=utf-8",
    "serve.css": "text/css; charset=utf-8",
    "sign.js": "text/javascript; charset=utf-8",
}


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= environment().filters
    return made


def page(template: str, *, status: int = 200, **context: Any) -> Response:
    """Return a page. Whatever the context holds is escaped."""
    return HTMLResponse(_templates().get_template(template).render(**context), status_code=status)


def error_page(status: int, sentence: str, hint: str = "") -> Response:
    """Return a plain page that says in a sentence what is wrong."""
    return page("error.html", status=status, person=None, sentence=sentence, hint=hint, code=status)


def asset_response(name: str) -> Response | None:
    """Return a style sheet or a script of the pages; None for any other name."""
    kind = _ASSETS.get(name)
    if kind is None:
        return None
    shared = name == "style.css"  # with the pages of the store
    content = asset(name) if shared else (_HERE / "assets" / name).read_text(encoding="utf-8")
    return Response(content, headers={"Content-Type": kind, "Cache-Control": "no-cache"})
