"""The colours of pages and pictures, light and dark: one table that the style sheet and Vega both take."""

from __future__ import annotations

from typing import Any

FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"
PALETTES: dict[str, dict[str, str]] = {
    "light": {
        "paper": "#ffffff",
        "panel": "#f4f6f8",
        "ink": "#1a2129",
        "quiet": "#4d5966",
        "line": "#c9d1d9",
        "accent": "#0b5cad",
        "first": "#2f6fb3",
        "second": "#a34700",
        "limit": "#8a1f1f",
        "good": "#14683a",
        "bad": "#a11d1d",
        "open": "#7a5200",
        "good-paper": "#e5f4ea",
        "bad-paper": "#fbe9e9",
        "open-paper": "#fbf2dc",
    },
    "dark": {
        "paper": "#12161b",
        "panel": "#1b2129",
        "ink": "#e8edf2",
        "quiet": "#aab6c2",
        "line": "#3a4551",
        "accent": "#7fb8f5",
        "first": "#6aa9ea",
        "second": "#f0a35c",
        "limit": "#ff9a9a",
        "good": "#7fd6a0",
        "bad": "#ff9c9c",
        "open": "#f1c878",
        "good-paper": "#16301f",
        "bad-paper": "#3a1b1b",
        "open-paper": "#352a12",
    },
}
# From the worst on, each a step lighter (on dark paper darker), so that they are told apart without colour.
ORDERED = {
    "light": ["#3b0a0a", "#8a2a12", "#cf6a1c", "#efb04a", "#fae6b8"],
    "dark": ["#fff0c9", "#f2bb5c", "#d07a2a", "#94431f", "#4d1d14"],
}


def style_variables() -> str:
    """Return the palettes for a style sheet: on a screen the system or the reader chooses; paper is light."""
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in PALETTES[kind].items())
        for kind in ("light", "dark")
    )
    return (
        f":root{{color-scheme:light;{light}}}\n"
        "@media screen and (prefers-color-scheme:dark){"
        f":root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )


def vega_config(kind: str) -> dict[str, Any]:
    """Return Vega-Lite's configuration for the palette `light` or `dark`."""
    of = PALETTES[kind]
    text = {"labelColor": of["ink"], "titleColor": of["ink"], "labelFontSize": 12, "titleFontSize": 12}
    return {
        "aria": False,  # each picture has words and a table of its numbers beside it
        "background": None,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            **text,
            "titleFontWeight": "normal",
            "gridColor": of["line"],
            "gridOpacity": 0.6,
            "domainColor": of["quiet"],
            "tickColor": of["quiet"],
        },
        "legend": {**text, "labelLimit": 320},
        "title": {"color": of["ink"], "fontSize": 15, "anchor": "start"},
        "mark": {"color": of["first"]},
        "bar": {"color": of["first"]},
        "text": {"color": of["ink"], "fontSize": 12},
        "range": {"category": [of["first"], of["second"], of["good"], of["open"]], "ordinal": ORDERED[kind]},
        "style": {
            "first": {"color": of["first"]},
            "second": {"color": of["second"], "stroke": of["second"]},
            "limit": {"color": of["limit"], "stroke": of["limit"]},
            "limit-line": {"color": of["limit"], "stroke": of["limit"]},
            "limit-text": {"color": of["limit"]},
        },
    }
