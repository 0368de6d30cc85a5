"""What a server keeps in memory: challenges, sessions, and how often each client asked."""

from __future__ import annotations

import pytest

from tests.support.web_clients import Clock
from web.challenges import Challenges
from web.rate_limit import Rate, RateLimit, client_of
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


@pytest.mark.enemy("other account", "stops the work")
def test_very_many_clients_shut_nobody_out(clock: Clock) -> None:
    limit = RateLimit(Rate(1, 60.0), clock)
    assert limit.allows("first")
    assert not limit.allows("first")
    assert all(limit.allows(str(client)) for client in range(10_000))
    assert limit.allows("new")
    assert not limit.allows("9999")
    assert limit.allows("first")  # which was forgotten


def test_a_client_that_asks_on_is_not_forgotten(clock: Clock) -> None:
    limit = RateLimit(Rate(1, 60.0), clock)
    assert limit.allows("greedy")
    for client in range(30_000):
        assert limit.allows(str(client))
        assert not limit.allows("greedy")


@pytest.mark.parametrize(
    ("addresses", "client"),
    [
        (
            ["127.0.0.1", "127.9.8.7", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::ffff:7f01:203"],
            "this machine",
        ),
        (["192.0.2.7", "::ffff:192.0.2.7"], "192.0.2.7"),
        (["192.0.2.8"], "192.0.2.8"),
        (["2001:db8:0:1::1", "2001:db8:0:1:ffff::9"], "20010db800000001::/64"),
        (["2001:db8:0:2::1"], "20010db800000002::/64"),
        (["fe80::1", "fe80::2%eth0"], "fe80000000000000::/64"),
        (["", "testclient"], None),
    ],
)
def test_a_client_is_a_machine_or_a_network_and_not_an_address(
    addresses: list[str], client: str | None
) -> None:
    for address in addresses:
        assert client_of(address) == (address if client is None else client)
