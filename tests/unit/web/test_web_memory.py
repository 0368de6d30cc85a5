"""What a server keeps in memory: challenges, sessions, and how often each client asked."""

from __future__ import annotations

from tests.support.web_clients import Clock
from web.challenges import Challenges
from web.rate_limit import Rate, RateLimit
from web.sessions import Sessions

KEY = "ab" * 32


def test_a_challenge_is_good_once_and_for_a_short_time(clock: Clock) -> None:
    challenges = Challenges(120.0, clock)
    first, second = challenges.give(), challenges.give()
    assert first != second
    assert challenges.use(first)
    assert not challenges.use(first)
    clock.now += 120.0
    assert not challenges.use(second)
    assert not challenges.use("")


def test_the_oldest_challenge_goes_where_very_many_wait(clock: Clock) -> None:
    challenges = Challenges(120.0, clock)
    first, second, *_ = (challenges.give() for _ in range(1_001))
    assert not challenges.use(first)
    assert challenges.use(second)


def test_a_session_ends_when_it_is_idle_and_in_any_case(clock: Clock) -> None:
    sessions = Sessions(60.0, 150.0, clock)
    name = sessions.begin(KEY)
    for _ in range(2):
        clock.now += 59.0
        assert sessions.find(name) is not None
    clock.now += 59.0
    assert sessions.find(name) is None  # 177 seconds after it began
    other = sessions.begin(KEY)
    clock.now += 60.0
    assert sessions.find(other) is None


def test_a_session_that_was_ended_is_none(clock: Clock) -> None:
    sessions = Sessions(60.0, 150.0, clock)
    name, other = sessions.begin(KEY), sessions.begin(KEY)
    sessions.end(name)
    assert sessions.find(name) is None
    assert sessions.find(other) is not None
    assert sessions.find("") is None


def test_a_client_may_ask_so_often_in_any_window(clock: Clock) -> None:
    limit = RateLimit(Rate(2, 60.0), clock)
    assert [limit.allows("one") for _ in range(3)] == [True, True, False]
    assert limit.allows("other")
    clock.now += 59.9
    assert not limit.allows("one")
    clock.now += 0.1
    assert [limit.allows("one") for _ in range(3)] == [True, True, False]


def test_clients_that_are_gone_are_forgotten(clock: Clock) -> None:
    limit = RateLimit(Rate(1, 60.0), clock)
    assert all(limit.allows(str(client)) for client in range(10_000))
    assert not limit.allows("new")
    clock.now += 60.0
    assert limit.allows("new")
