"""What a running server holds: its store, the challenges that it gave, and who is logged in."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from release_store.approval.login import person_of_key, read_login
from release_store.approval.reviewers import Reviewer, needed_reviewers
from release_store.store import ReleaseStore
from web.challenges import Challenges
from web.refusals import BadLogin, ForgedSignature, NotLoggedIn, UnknownKey, UsedChallenge
from web.sessions import Session, Sessions
from web.settings import Settings


@dataclass(frozen=True)
class Visitor:
    """Who sends a request: a session, and the person as the file of people has them now."""

    session_id: str
    session: Session
    person: Reviewer


class Server:
    """The state of one server. It holds nobody's key, token or password."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = ReleaseStore.open_to_work(settings.root)
        self.challenges = Challenges(settings.challenge_life, settings.clock)
        self.sessions = Sessions(settings.idle_life, settings.session_life, settings.clock)

    def log_in(self, text: str, origin: str) -> str:
        """Return the id of a new session for who signed a login. Raises Refused for any other text.

        The challenge is used up before the signature is checked, whatever comes of it.
        """
        login = read_login(text)
        if login is None or not login.is_for(self.store.store_id, origin):
            raise BadLogin
        if not self.challenges.use(login.challenge):
            raise UsedChallenge
        if not login.is_signed():
            raise ForgedSignature
        if login.person(needed_reviewers(self.store.root)) is None:
            raise UnknownKey
        return self.sessions.begin(login.public_key)

    def visitor(self, request: Request) -> Visitor:
        """Return who sends a request. Raises NotLoggedIn if that is nobody who may read now."""
        name = request.cookies.get(self.settings.cookie, "")
        session = self.sessions.find(name)
        if session is None:
            raise NotLoggedIn
        person = person_of_key(needed_reviewers(self.store.root), session.public_key)
        if person is None:
            self.sessions.end(name)
            raise NotLoggedIn
        return Visitor(name, session, person)


def server_of(request: Request) -> Server:
    """Return the server that a request came to."""
    found: Server = request.app.state.server
    return found
