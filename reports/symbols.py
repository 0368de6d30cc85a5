"""The signs and words that stand for verdicts, moods, limits and attackers on every page and picture."""

from __future__ import annotations

VERDICTS = {"pass": "✓", "fail": "✗", "unknown": "?", "error": "!", "not_run": "-"}
MOODS = {"good": "✓", "bad": "✗", "open": "…"}
RELATIONS = {"<=": "at most", ">=": "at least", ">": "over"}
# On what the number of values that are left is based, the strongest attacker first.
BASIS = {
    "worlds": "who solves for all classes of all releases at once",
    "people": "who knows everybody's class in every release",
    "cells": "who holds every release, by the cells",
    "alone": "who holds the release alone",
}
