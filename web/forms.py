"""Forms as they are sent: a few fields, each once."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from web.refusals import BadForm, WrongFormToken
from web.sessions import Session

_KIND = "application/x-www-form-urlencoded"
_MOST_FIELDS = 8
Form = Mapping[str, str]


async def read_form(request: Request) -> Form:
    """Return the fields of a form. Raises BadForm for another kind of body, or a field that comes twice."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _KIND:
        raise BadForm
    try:
        pairs = parse_qsl(
            (await request.body()).decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise BadForm from None
    if len(dict(pairs)) != len(pairs):
        raise BadForm
    return dict(pairs)


def field(form: Form, name: str) -> str:
    """Return a field that the form must have. Raises BadForm if it has none."""
    if name not in form:
        raise BadForm
    return form[name]


def number_field(form: Form, name: str) -> int | None:
    """Return a field that is a whole number, None where there is none. Raises BadForm for another text."""
    text = form.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise BadForm
    return int(text)


def check_form_token(form: Form, session: Session) -> None:
    """Raise WrongFormToken unless the form was made for this session."""
    given = field(form, "form_token").encode(errors="replace")
    if not hmac.compare_digest(given, session.form_token.encode()):
        raise WrongFormToken
