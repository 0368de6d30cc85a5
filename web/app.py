"""The web application: its routes behind the guard, and one clear sentence for whatever goes wrong."""

from __future__ import annotations

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from policy.errors import ReleaseGateError, StoreError
from reports.text import sanitize_text
from services.observability.logs import log_event
from web.guard import LOGIN, SAFE_METHODS, Guard
from web.pages import error_page
from web.refusals import NotLoggedIn, Refused
from web.routes import router
from web.server import Server
from web.settings import Settings

_SENTENCES = {
    404: "There is no such page.",
    405: "This page cannot be asked for in that way.",
}


def make_app(settings: Settings) -> Guard:
    """Return the application for a store. Raises as `ReleaseStore.open`."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    for kind in (Refused, ReleaseGateError, HTTPException, Exception):
        app.add_exception_handler(kind, _answer_to)
    app.state.server = Server(settings)
    app.include_router(router)
    return Guard(app, settings, refusal_page)


def refusal_page(refused: Refused) -> Response:
    """Log that a request is refused, by its kind, and return the page that says so."""
    log_event("request.refused", level="warning", error=type(refused).__name__, status=refused.status)
    return error_page(refused.status, refused.sentence)


async def _answer_to(request: Request, error: Exception) -> Response:
    """Return the page that says what went wrong."""
    match error:
        case NotLoggedIn() if request.method in SAFE_METHODS:
            refusal_page(error)
            return RedirectResponse(LOGIN, status_code=303)
        case Refused():
            return refusal_page(error)
        case ReleaseGateError():
            return _not_done(error)
        case HTTPException():
            return _no_page(error)
    log_event("request.failed", level="error", error=type(error).__name__, status=500)
    return error_page(
        500, f"There was an unexpected error ({type(error).__name__}). Nothing else is known here."
    )


def _not_done(error: ReleaseGateError) -> Response:
    """Return what the store or a service says; a refused decision is in the audit log by then."""
    status = 503 if isinstance(error, StoreError) else 409
    log_event("request.refused", level="warning", error=type(error).__name__, status=status)
    where = f"{error.where}: " if error.where else ""
    return error_page(status, sanitize_text(f"{where}{error.message}."), sanitize_text(error.hint))


def _no_page(error: HTTPException) -> Response:
    log_event("request.refused", level="warning", error="HTTPException", status=error.status_code)
    sentence = _SENTENCES.get(error.status_code, "The request cannot be answered.")
    answer = error_page(error.status_code, sentence)
    answer.headers.update(error.headers or {})  # which methods there are
    return answer
