"""The signs and words that stand for verdicts, moods and attackers on every page and picture."""

from __future__ import annotations

VERDICTS = {"pass": "✓", "fail": "✗", "unknown": "?", "error": "!", "not_run": "-"}
MOODS = {"good": "✓", "bad": "✗", "open": "…"}
# On what the number of values that are left is based, the strongest attacker first.
BASIS = {
    "worlds": "from all classes of all releases, solved at once",
    "people": "from everybody's class in every release",
    "cells": "from all releases, by their cells",
    "alone": "from this release alone",
}
# The same as the name of a bar: what an attacker knows.
KNOWING = {
    "worlds": "all releases, solved at once",
    "people": "all releases, by person",
    "cells": "all releases, by cells",
    "alone": "this release alone",
}
