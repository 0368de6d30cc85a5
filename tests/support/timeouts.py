"""The one limit of time that tests have: no test is right or wrong by it, and one that hangs ends by it."""

HANG_TIMEOUT = 600.0
"""Seconds that nothing here takes, however busy the machine is."""

LONG_TIMEOUT = 6 * HANG_TIMEOUT
"""The same for nightly work that takes minutes by itself: beside 20 others it takes 20 times as long."""
