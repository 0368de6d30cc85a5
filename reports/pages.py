"""How every page is put together: templates that escape all, styles, scripts, and a word against requests."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from policy.text import number_of
from release_store.evidence.known import EARLIER_SCRIPTS, READMES
from release_store.evidence.script import script
from release_store.protocol.demanded_gates import LIMITED_GATES, MODEL_GATES
from reports.picture import Picture
from reports.symbols import MOODS, VERDICTS
from reports.text import decided, minute, sanitize_text
from reports.theme import style_variables, vega_config
from reports.vega import bundle

_HERE = Path(__file__).parent
ASSETS = _HERE / "assets"
_SHARES = ("share", "ncp")  # fields of pictures that are shares, and told in percent
_KINDS = {"pass": "good", "fail": "bad", "unknown": "open", "error": "bad", "not_run": "open"}


@dataclass(frozen=True)
class Head:
    """What a page's head holds: its policy against requests, its styles, and its scripts at the end."""

    policy: str
    styles: Markup
    scripts: Markup


def render(template: str, head: Head, **context: Any) -> str:
    """Return a page. Whatever the context holds is escaped; what the template misses is an error."""
    return environment().get_template(template).render(head=head, **context)


@cache
def environment() -> Environment:
    """Return the templates, which escape everything and take no name that they are not given."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "said": escape_text,
        "breakable": escape_set,
        "plain": sanitize_text,
        "minute": minute,
        "decided": decided,
        "number": number,
        "number_of": number_of,
        "share": share,
        "data": embedded,
        "table_rows": table_rows,
        "sign": lambda verdict: VERDICTS.get(str(verdict), "?"),
        "mood_sign": MOODS.__getitem__,
        "kind": lambda verdict: _KINDS.get(str(verdict), "open"),
    }
    return made


def escape_text(text: object) -> Markup:
    """Return a text that somebody gave: escaped, apart from the direction of what stands around it."""
    return _said(str(text))


def escape_set(text: object) -> Markup:
    """Return a set's text that may go on in the next line after each value: it is written without blanks."""
    return escape_text(text).replace("|", Markup("|<wbr>"))


@lru_cache(maxsize=16_384)
def _said(text: str) -> Markup:
    return Markup(f"<bdi>{escape(sanitize_text(text))}</bdi>")  # noqa: S704 -- escaped; format takes ten times as long


@lru_cache(maxsize=65_536)  # a site has millions of them, and most are there again and again
def number(value: float | None, digits: int = 4) -> str:
    """Return a number as people read it: whole ones with separators, others to so many digits."""
    if value is None:
        return "-"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:,.{digits}g}"


def share(value: float | None) -> str:
    """Return a share in percent, to one decimal, or to 2 digits under 1%; "-" for None."""
    if value is None:
        return "-"
    told = f"{100 * value:.2g}" if 0 < abs(value) < 0.01 else f"{100 * value:.1f}".removesuffix(".0")
    return f"{told}%"


def table_rows(picture: Picture) -> Markup:
    """Return the rows of a picture's table: a site has millions of cells, too many for a template."""
    rows = picture.rows
    columns = [_cells([row.get(field) for row in rows], field in _SHARES) for field, _ in picture.columns]
    lines = map("</td><td>".join, zip(*columns, strict=True))
    return Markup("\n".join([f"<tr><td>{line}</td></tr>" for line in lines]))  # noqa: S704 -- each is escaped


def _cells(values: list[Any], in_percent: bool) -> list[str]:
    if in_percent:
        return [share(value) for value in values]
    return [
        number(value) if (kind := type(value)) is float or kind is int or value is None else _told(str(value))
        for value in values
    ]


@lru_cache(maxsize=16_384)
def _told(text: str) -> str:
    return str.__str__(escape_text(text))  # no longer marked: joining such texts again and again is slow


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def embedded(value: Any) -> Markup:
    """Return JSON that may stand inside a script element: nothing in it ends it, or begins a comment."""
    text = _JSON.encode(value)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 -- escaped on the lines above


@cache
def asset(name: str) -> str:
    """Return a file of `assets`: some begin with what the code knows, such as colours or Vega's options."""
    if name == "vega.js":
        # A script element ends at the first of these, wherever it stands.
        return bundle().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    text = (ASSETS / name).read_text(encoding="utf-8")
    if name == "style.css":
        return style_variables() + text
    if name == "charts.js":
        fixed = {"actions": False, "defaultStyle": False, "hover": False}
        kinds = ("light", "dark")
        options = {kind: fixed | {"config": vega_config(kind), "tooltip": {"theme": kind}} for kind in kinds}
        return f"const OPTIONS = {json.dumps(options)};\n{text}"
    if name == "verify.js":
        own = hashlib.sha256(script()).hexdigest()
        written = {"script": own, "earlier": sorted(EARLIER_SCRIPTS), "readmes": sorted(READMES)}
        gates = {"limited": LIMITED_GATES, "models": MODEL_GATES}
        known = f"const WRITTEN = {json.dumps(written)};\nconst GATES_BY_FIELD = {json.dumps(gates)};\n"
        return text.replace('"use strict";\n', f'"use strict";\n{known}', 1)
    return text


@cache
def inline_head(*scripts: str) -> Head:
    """Return a head that holds everything itself; only these scripts run: the policy names their digests."""
    codes = [asset(name) for name in scripts]
    digests = " ".join(f"'sha256-{_digest(code)}'" for code in codes)
    # Vega makes functions out of its own expressions, hence 'unsafe-eval'; nothing can be fetched.
    policy = (
        f"default-src 'none'; script-src {digests} 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    styles = Markup("<style>{}</style>").format(Markup(asset("style.css")))  # noqa: S704 -- ours
    code = Markup("\n").join(Markup("<script>{}</script>").format(Markup(one)) for one in codes)  # noqa: S704
    return Head(policy, styles, code)


def linked_head(root: str, *scripts: str) -> Head:
    """Return a head that takes `assets/` under `root` (such as "../"), as the pages of the site do."""
    policy = (
        "default-src 'none'; script-src 'self' file: 'unsafe-eval'; style-src 'self' file: 'unsafe-inline'; "
        "img-src 'self' file: data:; base-uri 'none'; form-action 'none'"
    )
    styles = Markup('<link rel="stylesheet" href="{}assets/style.css">').format(root)
    code = Markup("\n").join(
        Markup('<script src="{}assets/{}" defer></script>').format(root, name) for name in scripts
    )
    return Head(policy, styles, code)


def _digest(code: str) -> str:
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
