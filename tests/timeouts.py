"""The one limit of time that tests have: no test is right or wrong by it, and one that hangs ends by it."""

HANG_TIMEOUT = 600.0
"""Seconds that nothing here takes, however busy the machine is."""
