"""The figures of an evaluation, as Vega-Lite. Methods are told apart by colour, by sign and by name.

Every axis has its unit. The same numbers give the same bytes. Names that people gave are data, titles or
domains, never part of an expression.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from policy.text import number_of
from reports.documents import Document
from reports.export import FONT
from reports.theme import PALETTES, vega_config
from services.evaluation.run import Run
from tasks.utility.front import front
from tasks.utility.latent_view import HEXAGONS, LatentView

Spec = dict[str, Any]
Rows = list[dict[str, Any]]
# Okabe and Ito (2008), which people who see few colours can tell apart, and greys.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F", "#8C6D31")
SIGNS = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)
PANEL = (380, 300)  # pixels
LINE = 26  # pixels of a line of bars or boxes
HEXAGON = "M0,-1L0.866,-0.5L0.866,0.5L0,1L-0.866,0.5L-0.866,-0.5Z"
NUMBERS_AS_THEY_ARE = alt.Axis(format="~g", labelOverlap=True)


def figures_of(document: Document, runs: Sequence[Run]) -> Iterator[tuple[str, Spec]]:
    """Yield each figure with its file's name, without those that nothing can be drawn of."""
    made = {
        "risk": _risk(document),
        "sizes": _sizes(document),
        "ncp_by_attribute": _ncp_by_attribute(document),
        "time": _times(document),
    }
    for run in runs:
        if run.latent is not None:
            made[f"latent_{_file_name(run.label)}"] = _latent(run, run.latent)
    for name, chart in made.items():
        if chart is not None:
            config = vega_config("light") | {"font": FONT, "background": PALETTES["light"]["paper"]}
            yield name, {**chart.to_dict(), "config": config, "padding": 12}


def _file_name(label: str) -> str:
    return "".join(sign if sign.isalnum() or sign == "-" else "_" for sign in label)


def _succeeded(document: Document) -> list[Document]:
    return [one for one in document["summary"] if one["failed"] < one["runs"]]


def _label(one: Document) -> str:
    return f"{one['method']}  k={one['k']}"


def _signs(document: Document, methods: Sequence[str]) -> dict[str, Any]:
    """Return colour and shape by method, each the same in every figure."""
    places = [document["methods"].index(method) for method in methods]
    colours = [COLOURS[place % len(COLOURS)] for place in places]
    shapes = [SIGNS[place % len(SIGNS)] for place in places]
    legend = alt.Legend(orient="bottom", title=None, columns=5)
    return {
        "color": alt.Color("method:N", scale=alt.Scale(domain=methods, range=colours), legend=legend),
        "shape": alt.Shape("method:N", scale=alt.Scale(domain=methods, range=shapes), legend=legend),
    }


def _chart(rows: Rows) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]


def _titled(chart: Any, title: str, *more: str) -> Any:
    return chart.properties(title=alt.TitleParams(title, subtitle=list(more), anchor="start"))


def _risk(document: Document) -> Any:
    """Draw NCP against ERR and UMR, a point a method and k, the front marked (Hu et al., 2026, figure 6)."""
    shown = [one for one in _succeeded(document) if one["mean"]["ncp"] is not None]
    if not shown:
        return None
    ext_frac = max(document["ext_frac"])
    panels = [
        _against_ncp(document, shown, f"{what}_{ext_frac:g}", f"{words} (0 to 1)")
        for what, words in (
            ("err", "expected re-identification risk, ERR"),
            ("umr", "unique match rate, UMR"),
        )
    ]
    held = f"Loss against linkage by an attacker who holds {ext_frac:.0%} of the source"
    k = f"; k={document['k'][0]}" if len(document["k"]) == 1 else ""
    ringed = "Lower is better on both axes. Rings mark the Pareto front."
    return _titled(alt.hconcat(*panels), held + k, ringed, "Bars are one standard deviation over the seeds.")


def _against_ncp(document: Document, shown: Sequence[Document], column: str, words: str) -> Any:
    points = [(one["mean"]["ncp"], one["mean"][column]) for one in shown]
    best = front(points)
    rows: Rows = []
    for place, (one, (x, y)) in enumerate(zip(shown, points, strict=True)):
        dx, dy = one["sd"]["ncp"] or 0.0, one["sd"][column] or 0.0
        rows.append(
            {
                "method": one["method"],
                "k": f"k={one['k']}",
                "x": x,
                "y": y,
                "best": place in best,
                "x0": x - dx,
                "x1": x + dx,
                "y0": y - dy,
                "y1": y + dy,
            }
        )
    base = _chart(rows).properties(width=PANEL[0], height=PANEL[1])
    x = alt.X("x:Q", title="information loss, NCP (0 to 1)", scale=alt.Scale(zero=False, padding=24))
    y = alt.Y("y:Q", title=words, scale=alt.Scale(zero=False, padding=18))
    signs = _signs(document, list(dict.fromkeys(one["method"] for one in shown)))
    ringed = base.transform_filter("datum.best")
    layers = [
        ringed.mark_line(color="#555555", strokeDash=[5, 4], strokeWidth=1).encode(x=x, y=y, order="x:Q"),
        ringed.mark_point(color="#555555", size=260, strokeWidth=1.2).encode(x=x, y=y),
        base.mark_rule().encode(x="x0:Q", x2="x1:Q", y=y, color=signs["color"]),
        base.mark_rule().encode(x=x, y="y0:Q", y2="y1:Q", color=signs["color"]),
        base.mark_point(filled=True, size=80, opacity=1).encode(x=x, y=y, **signs),
    ]
    if len(document["k"]) > 1:
        layers.append(base.mark_text(align="left", dx=9, dy=-6, fontSize=10).encode(x=x, y=y, text="k:N"))
    return alt.layer(*layers)


def _sizes(document: Document) -> Any:
    """Draw the sizes of the classes as boxes, one a method and k, of each one's first run that succeeded."""
    first: dict[tuple[str, int], list[float]] = {}
    for run in document["runs"]:
        if run["sizes"]:
            first.setdefault((run["method"], run["k"]), run["sizes"])
    if not first:
        return None
    names = ("least", "low", "q1", "median", "q3", "high", "greatest")
    rows = [
        {"label": f"{method}  k={k}", "method": method, "k": k, **dict(zip(names, sizes, strict=True))}
        for (method, k), sizes in first.items()
    ]
    base = _chart(rows).properties(width=480, height=LINE * len(rows))
    y = alt.Y("label:N", title=None, sort=None, axis=alt.Axis(labelLimit=260))
    log = alt.Scale(type="log", nice=False, padding=12)

    def at(field: str) -> Any:
        title = "records per class (logarithmic)"
        return alt.X(f"{field}:Q", title=title, scale=log, axis=NUMBERS_AS_THEY_ARE)

    colour = _signs(document, list(dict.fromkeys(method for method, _ in first)))["color"]
    colour.legend = None
    drawn = alt.layer(
        base.mark_rule().encode(x=at("low"), x2="high:Q", y=y),
        base.mark_bar(size=14, opacity=0.55).encode(x=at("q1"), x2="q3:Q", y=y, color=colour),
        base.mark_tick(size=14, thickness=2, color="black").encode(x=at("median"), y=y),
        base.mark_tick(size=8, color="black").encode(x=at("least"), y=y),
        base.mark_tick(size=8, color="black").encode(x=at("greatest"), y=y),
        base.mark_tick(size=22, thickness=2, color="#D55E00").encode(x=at("k"), y=y),
    )
    boxes = "Quarter to three quarters (box), median, 5% to 95% (line), least and greatest (ticks);"
    return _titled(drawn, "Class sizes", boxes, "k in orange.")


def _ncp_by_attribute(document: Document) -> Any:
    """Draw NCP of each quasi-identifier as a table of shaded cells, one line a method and k."""
    shown = _succeeded(document)
    names = [name for name in shown[0]["mean"] if name.startswith("ncp:")] if shown else []
    heads = [*(name.removeprefix("ncp:") for name in names), "all, by weight"]
    rows = [
        {"label": _label(one), "attribute": head, "ncp": one["mean"][name]}
        for one in shown
        for name, head in zip([*names, "ncp"], heads, strict=True)
    ]
    known = [row["ncp"] for row in rows if row["ncp"] is not None]
    if not known:
        return None
    most = max(known)
    for row in rows:
        row["said"] = "-" if row["ncp"] is None else f"{row['ncp']:.3f}"
        row["dark"] = row["ncp"] is not None and row["ncp"] > 0.6 * most
    base = _chart(rows).properties(width=76 * len(heads), height=LINE * len(shown))
    x = alt.X(
        "attribute:N", title=None, sort=heads, axis=alt.Axis(labelAngle=-30, labelLimit=140, grid=False)
    )
    y = alt.Y("label:N", title=None, sort=None, axis=alt.Axis(labelLimit=260))
    shade = alt.Scale(scheme="blues", domain=[0, most or 1e-9])
    ink = alt.condition("datum.dark", alt.value("white"), alt.value("black"))
    drawn = alt.layer(
        base.mark_rect(stroke="white").encode(x=x, y=y, color=alt.Color("ncp:Q", scale=shade, legend=None)),
        base.mark_text(fontSize=11).encode(x=x, y=y, text="said:N", color=ink),
    )
    return _titled(drawn, "NCP (0 to 1) by quasi-identifier", "-: values were replaced")


def _times(document: Document) -> Any:
    """Draw the seconds of each method and k: mean, and standard deviation over seeds."""
    shown = _succeeded(document)
    if not shown:
        return None
    rows: Rows = []
    for one in shown:
        mean, deviation = one["mean"]["cpu_seconds"], one["sd"]["cpu_seconds"] or 0.0
        low = max(mean - deviation, mean / 10)  # what a logarithm has
        rows.append(
            {
                "label": _label(one),
                "method": one["method"],
                "mean": mean,
                "low": low,
                "high": mean + deviation,
                "said": f"{mean:.3g} s",
            }
        )
    base = _chart(rows).properties(width=480, height=LINE * len(rows))
    y = alt.Y("label:N", title=None, sort=None, axis=alt.Axis(labelLimit=260))
    log, title = alt.Scale(type="log", nice=False, padding=40), "CPU seconds on one thread (logarithmic)"
    x, low = (
        alt.X(f"{field}:Q", title=title, scale=log, axis=NUMBERS_AS_THEY_ARE) for field in ("mean", "low")
    )
    signs = _signs(document, list(dict.fromkeys(one["method"] for one in shown)))
    signs["color"].legend = signs["shape"].legend = None
    drawn = alt.layer(
        base.mark_rule().encode(x=low, x2="high:Q", y=y, color=signs["color"]),
        base.mark_point(filled=True, size=80, opacity=1).encode(x=x, y=y, **signs),
        base.mark_text(align="left", dx=10, dy=-7, fontSize=10).encode(x=x, y=y, text="said:N"),
    )
    return _titled(drawn, f"Time from prepared table to published rows, {document['rows']:,} rows")


def _latent(run: Run, view: LatentView) -> Any:
    """Draw two latent dimensions before and after (Hu et al., 2026, figures 4 and 5), on the same axes."""
    regions = sorted({*view.region.tolist(), *view.hexagon_region.tolist()} - {-1})
    domain = [str(region + 1) for region in regions]
    places = regions or [0]
    colour = alt.Color(
        "region:N",
        scale=alt.Scale(domain=domain, range=[COLOURS[r % len(COLOURS)] for r in places]),
        legend=None,
    )
    shape = alt.Shape(
        "region:N", scale=alt.Scale(domain=domain, range=[SIGNS[r % len(SIGNS)] for r in places]), legend=None
    )
    most, largest = int(view.count.max(initial=0)), int(view.size.max(initial=0))
    hexagons = [
        {"x": x, "y": y, "region": str(r + 1), "depth": 0.2 + 0.8 * math.log1p(n) / math.log1p(max(most, 1))}
        for (x, y), r, n in zip(
            view.hexagons.tolist(), view.hexagon_region.tolist(), view.count.tolist(), strict=True
        )
    ]
    centres = [
        {"x": x, "y": y, "region": str(r + 1), "size": 20 + 400 * n / max(largest, 1)}
        for (x, y), r, n in zip(view.centres.tolist(), view.region.tolist(), view.size.tolist(), strict=True)
    ]
    ends = [*zip(*([p["x"], p["y"]] for p in (*hexagons, *centres)), strict=True)]
    scales = [alt.Scale(domain=[min(end), max(end)], nice=False, padding=10) for end in ends]
    x, y = (
        channel(f"{field}:Q", title=f"dimension {number} of the representation (no unit)", scale=scale)
        for channel, field, number, scale in zip((alt.X, alt.Y), "xy", (1, 2), scales, strict=True)
    )
    width = PANEL[0] / HEXAGONS
    before = (
        _chart(hexagons)
        .mark_point(filled=True, shape=HEXAGON, size=(width * 1.1) ** 2)
        .encode(x=x, y=y, color=colour, opacity=alt.Opacity("depth:Q", scale=None))
    )
    after = (
        _chart(centres)
        .mark_point(filled=True, opacity=0.55)
        .encode(x=x, y=y, color=colour, shape=shape, size=alt.Size("size:Q", scale=None))
    )
    classes = number_of(len(view.size), "class", "classes")
    hidden = number_of(view.n_hidden_classes, "class", "classes") + f" under {run.k} not shown"
    panels = [
        _titled(_with_numbers(chart, view, x, y).properties(width=PANEL[0], height=PANEL[0]), *words)
        for chart, words in (
            (
                before,
                (
                    f"Before: records in hexagons, darker where more (up to {most:,})",
                    f"{number_of(view.n_hidden, 'record')} in hexagons of under {run.k} not shown",
                ),
            ),
            (
                after,
                (
                    f"After: centres of {classes}, larger where of more records",
                    f"up to {number_of(largest, 'record')}{f'; {hidden}' if view.n_hidden_classes else ''}",
                ),
            ),
        )
    ]
    said = f"{run.label}, k={run.k}: regions of neighbouring classes have a number, a colour and a sign"
    return _titled(alt.hconcat(*panels), said)


def _with_numbers(chart: Any, view: LatentView, x: Any, y: Any) -> Any:
    """Return a chart with each region's number at the middle of its classes."""
    rows = []
    for region in sorted(set(view.region.tolist()) - {-1}):
        own = view.centres[view.region == region]
        middle = sorted(own[:, 0].tolist())[len(own) // 2], sorted(own[:, 1].tolist())[len(own) // 2]
        rows.append({"x": middle[0], "y": middle[1], "number": str(region + 1)})
    numbers = _chart(rows)
    disc = numbers.mark_point(filled=True, size=260, color="white", stroke="#555555", opacity=0.9)
    text = numbers.mark_text(fontWeight="bold", fontSize=11)
    return alt.layer(chart, disc.encode(x=x, y=y), text.encode(x=x, y=y, text="number:N"))
