"""Why a request is refused: a kind each, with the status and the sentence that the page shows.

The log has the kind's name and the status, and nothing of the request.
"""

from __future__ import annotations


class Refused(Exception):
    """A request that is not carried out."""

    status = 403
    sentence = "This request is refused."


class NotLoggedIn(Refused):
    """No session, one that is over, or one of somebody who is no longer in the file of people."""

    status = 401
    sentence = "You are not logged in, or your session is over. Log in again."


class ForeignHost(Refused):
    """The header Host names another server: a page of another site may have led the browser here."""

    status = 400
    sentence = "This server does not answer to that name. Use the address that `releasegate serve` printed."


class ForeignOrigin(Refused):
    """The form was not on a page of this server."""

    sentence = "This form was not sent from a page of this server."


class WrongFormToken(Refused):
    """The form was not of this session."""

    sentence = "This form is not of your session. Open the page again."


class TooLarge(Refused):
    """The body of the request has more bytes than any form of ours."""

    status = 413
    sentence = "The request is too large."


class HeadTooLarge(Refused):
    """The line and the headers of the request have more bytes than those of any browser."""

    status = 431
    sentence = "The headers of the request are too large. Delete the cookies of this address, and try again."


class BadRequest(Refused):
    """What came is no request in HTTP, or one that two readers could read in two ways."""

    status = 400
    sentence = "This is not a request that the server understands."


class TooSlow(Refused):
    """The request did not come in time."""

    status = 408
    sentence = "The request did not arrive in time."


class TooManyConnections(Refused):
    """There were more connections than the server holds, and this one had waited longest for its client."""

    status = 503
    sentence = "There are too many connections. Try again."


class TooManyRequests(Refused):
    """The client asked too often."""

    status = 429
    sentence = "There were too many requests. Wait a minute, and try again."


class BadForm(Refused):
    """The form lacks a field, or is no form."""

    status = 400
    sentence = "The form is not complete. Open the page again."


class BadLogin(Refused):
    """A signed login that is none, or is about another server or store."""

    sentence = "This is not a signed login to this server. Open the page to log in again."


class UsedChallenge(Refused):
    """A login with a challenge that was used before, is too old or was never given."""

    sentence = "This login was used before, or is too old. Open the page to log in again."


class ForgedSignature(Refused):
    """A login whose signature is not by the key that it names."""

    sentence = "The signature of this login does not hold."


class UnknownKey(Refused):
    """A login by a key that is nobody's in the file of people."""

    sentence = "This key is nobody's in the file of people. An administrator adds people to it."


class NoSuchPage(Refused):
    """Neither a page nor a candidate or release of this store."""

    status = 404
    sentence = "There is no such page."
