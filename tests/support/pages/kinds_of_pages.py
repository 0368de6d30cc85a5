"""One page of each kind: a release, candidates, one without figures, one of hostile texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reports.report import page, release_report
from reports.report_model import report_model
from tests.support.pages.chromium import Chromium
from tests.support.pages.sheets import HOSTILE, facts, figures, gate, kept

GATES = (
    gate("k", value=3.0, threshold=2.0, relation=">="),
    gate("umr", value=0.4, threshold=0.6),
    gate("sadr", value=0.5, threshold=0.8),
    gate("ncp", value=0.25, threshold=0.35),
)
FAILS = gate("person", "fail", value=4.0, detail="4 classes", witness={"classes": [1, 2]})
UNKNOWN = gate("whole_history", "unknown", value=None, threshold=None, detail="nothing to compare")
MANY = tuple(f"column {i}" for i in range(12))


def release() -> bytes:
    wide = kept(figures=figures(), columns=MANY, rows=(tuple(f"cell {i}" for i in range(12)),) * 10)
    return release_report(facts(*GATES), wide)


def candidate() -> bytes:
    state = "awaiting_approval"
    return page(report_model(facts(*GATES, state=state), kept(figures=figures()), state=state))


def blocked() -> bytes:
    return page(report_model(facts(*GATES, FAILS, UNKNOWN), kept(figures=figures()), state="blocked"))


def without_figures() -> bytes:
    return release_report(facts(*GATES), kept())


def hostile() -> bytes:
    """Everything that people give is a text that would do harm if it were taken for anything but text."""
    markup, right, long = HOSTILE[0] + HOSTILE[1], HOSTILE[4], HOSTILE[6]
    told = figures(markup)
    told["attributes"] += [{**told["attributes"][0], "name": text} for text in (right, long)]
    for curve in told["narrowing"]:
        curve["attribute"] = markup
    made = facts(*GATES, gate("person", "fail", value=1.0, detail=markup, attacker=right), made_by=long)
    of = kept(figures=told, columns=(markup, long), rows=((right, long), (markup, None)))
    of.policy["publication"]["title"] = markup  # type: ignore[index]
    return release_report(made, of)


# A page of another kind is one line here: its name, and what makes it in a folder.
PAGES: dict[str, Callable[[Path], Path]] = {
    "release": lambda folder: written(folder, release()),
    "candidate": lambda folder: written(folder, candidate()),
    "blocked": lambda folder: written(folder, blocked()),
    "without figures": lambda folder: written(folder, without_figures()),
    "hostile": lambda folder: written(folder, hostile()),
}


def written(folder: Path, text: bytes) -> Path:
    (folder / "report.html").write_bytes(text)
    return folder / "report.html"


def violations(chromium: Chromium, at: Path, width: int, dark: bool) -> list[str]:
    """Return what axe finds in a page in which all is drawn and open."""
    chromium.window(width, dark=dark)
    chromium.open(at)
    chromium.draw_all()
    assert chromium.run("return getComputedStyle(document.body).colorScheme") == ("dark" if dark else "light")
    chromium.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    return chromium.violations()
