"""The routes. All are plain functions, which FastAPI runs in threads: a publication keeps nobody waiting."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from reports.single_report import read_report
from services.observability.logs import log_event
from services.trust import use_memory_of
from web import views
from web.acts import act_on_candidate, act_on_release
from web.forms import Form, check_form_token, field, number_field, read_form
from web.guard import LOGIN
from web.headers import report_policy
from web.pages import asset_response, page
from web.refusals import NoSuchPage
from web.server import Server, Visitor, server_of

router = APIRouter()
Here = Annotated[Server, Depends(server_of)]
Fields = Annotated[Form, Depends(read_form)]


def _visitor(request: Request, server: Here) -> Visitor:
    return server.visitor(request)


Known = Annotated[Visitor, Depends(_visitor)]


@router.get("/assets/{name}")
def assets(name: str) -> Response:
    """Return one of the files that every page takes."""
    found = asset_response(name)
    if found is None:
        raise NoSuchPage
    return found


@router.get(LOGIN)
def login_form(server: Here) -> Response:
    """Show the page to log in, with a new challenge."""
    return page(
        "login.html",
        person=None,
        store_id=server.store.store_id,
        challenge=server.challenges.give(),
        minutes=int(server.settings.challenge_life // 60),
    )


@router.post(LOGIN)
def log_in(request: Request, server: Here, form: Fields) -> Response:
    """Begin a session for the person who signed the challenge."""
    name = server.log_in(field(form, "signed"), request.headers["origin"])
    log_event("session.begun")
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(
        server.settings.cookie,
        name,
        path="/",
        httponly=True,
        samesite="strict",
        secure=server.settings.is_secure,
    )
    return answer


@router.post("/logout")
def log_out(server: Here, visitor: Known, form: Fields) -> Response:
    """End the session."""
    check_form_token(form, visitor.session)
    server.sessions.end(visitor.session_id)
    answer = RedirectResponse(LOGIN, status_code=303)
    answer.delete_cookie(server.settings.cookie, path="/", secure=server.settings.is_secure)
    return answer


@router.get("/")
def home(server: Here, visitor: Known) -> Response:
    """Show what waits, and the releases."""
    releases, n_releases = views.newest_releases(server.store)
    return _page(
        "home.html",
        visitor,
        waiting=views.waiting_lines(server.store),
        releases=releases,
        n_releases=n_releases,
    )


@router.get("/candidates/{name}")
def candidate(name: str, server: Here, visitor: Known) -> Response:
    """Show a candidate, and the acts that the person may do to it."""
    return _page("candidate.html", visitor, view=views.candidate_page(server.store, name, visitor.person))


@router.post("/candidates/{name}")
def act_on(name: str, server: Here, visitor: Known, form: Fields) -> Response:
    """Do to a candidate what the person signed."""
    check_form_token(form, visitor.session)
    views.candidate_page(server.store, name, visitor.person)  # is there such a candidate?
    visitor.session.message = act_on_candidate(
        server.store,
        name,
        visitor.person.name,
        field(form, "act"),
        field(form, "signed"),
        number_field(form, "question"),
    )
    return RedirectResponse(f"/candidates/{name}", status_code=303)


@router.get("/candidates/{name}/report")
def report(name: str, server: Here, visitor: Known) -> Response:
    """Return the report of a candidate, in an origin of its own."""
    views.candidate_page(server.store, name, visitor.person)
    return _report(server, name)


@router.get("/releases/{name}")
def release(name: str, server: Here, visitor: Known) -> Response:
    """Show a release, and its withdrawal or restoration if the person may do that."""
    return _page("release.html", visitor, view=views.release_page(server.store, name, visitor.person))


@router.post("/releases/{name}")
def act_on_a_release(name: str, server: Here, visitor: Known, form: Fields) -> Response:
    """Do to a release what the person signed."""
    check_form_token(form, visitor.session)
    views.release_page(server.store, name, visitor.person)
    visitor.session.message = act_on_release(
        server.store, name, visitor.person.name, field(form, "act"), field(form, "signed")
    )
    return RedirectResponse(f"/releases/{name}", status_code=303)


@router.get("/releases/{name}/report")
def release_report(name: str, server: Here, visitor: Known) -> Response:
    """Return the report of a release, in an origin of its own."""
    views.release_page(server.store, name, visitor.person)
    return _report(server, name)


def _page(template: str, visitor: Visitor, **context: Any) -> Response:
    message, visitor.session.message = visitor.session.message, ""
    return page(
        template,
        person=visitor.person,
        form_token=visitor.session.form_token,
        message=message,
        **context,
    )


def _report(server: Server, name: str) -> Response:
    use_memory_of(server.store.root, reads_only=True)
    content, _ = read_report(server.store, name)
    return Response(content, media_type="text/html", headers={"Content-Security-Policy": report_policy()})
