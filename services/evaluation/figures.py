"""The figures of an evaluation. Methods are told apart by colour, by sign and by name; every axis has its
unit.

The same numbers give the same bytes: no date, no random name in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.documents import Document
from services.evaluation.run import Run
from tasks.types import FloatArray
from tasks.utility.front import front
from tasks.utility.latent_view import LatentView

SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "releasegate",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "figure.dpi": 100,
    "savefig.dpi": 130,
    "legend.frameon": False,
}
# Okabe and Ito (2008), which people who see few colours can tell apart, and greys.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F", "#8C6D31")
SIGNS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "*")


def figures_of(document: Document, runs: Sequence[Run]) -> Iterator[tuple[str, Figure]]:
    """Yield each figure with its file's name, without those that nothing can be drawn of."""
    with style.context(["default", SETTINGS]):
        for name, made in (
            ("risk", risk(document)),
            ("sizes", sizes(document)),
            ("ncp_by_attribute", ncp_by_attribute(document)),
            ("time", times(document)),
        ):
            if made is not None:
                yield name, made
        for run in runs:
            if run.latent is not None:
                yield f"latent_{_file_name(run.label)}", latent(run, run.latent)


def _file_name(label: str) -> str:
    return "".join(sign if sign.isalnum() or sign == "-" else "_" for sign in label)


def _succeeded(document: Document) -> list[Document]:
    return [one for one in document["summary"] if one["failed"] < one["runs"]]


def _sign(document: Document, method: str) -> dict[str, Any]:
    place = document["methods"].index(method)
    return {"color": COLOURS[place % len(COLOURS)], "marker": SIGNS[place % len(SIGNS)]}


def _legend(figure: Figure, document: Document, methods: Sequence[str], extra: Sequence[Line2D] = ()) -> None:
    lines = [
        Line2D([], [], linestyle="none", markersize=7, label=method, **_sign(document, method))
        for method in methods
    ]
    figure.legend(
        handles=[*lines, *extra],
        loc="outside lower center",
        ncols=min(5, len(lines) + len(extra)),
        fontsize=9,
    )


def risk(document: Document) -> Figure | None:
    """Draw NCP against ERR and UMR, a point a method and k, the front marked (Hu et al., 2026, figure 6)."""
    shown = [one for one in _succeeded(document) if one["mean"]["ncp"] is not None]
    if not shown:
        return None
    ext_frac = max(document["ext_frac"])
    figure = Figure(figsize=(10, 5), layout="constrained")
    both = figure.subplots(1, 2)
    for axes, what, words in zip(
        both,
        ("err", "umr"),
        ("expected re-identification risk, ERR", "unique match rate, UMR"),
        strict=True,
    ):
        column = f"{what}_{ext_frac:g}"
        points = [(one["mean"]["ncp"], one["mean"][column]) for one in shown]
        best = front(points)
        axes.plot(
            *zip(*(points[i] for i in best), strict=True),
            color="#555555",
            linewidth=1,
            linestyle="--",
            zorder=1,
        )
        axes.scatter(
            *zip(*(points[i] for i in best), strict=True),
            s=170,
            facecolors="none",
            edgecolors="#555555",
            linewidths=1.2,
            zorder=2,
        )
        for one, (x, y) in zip(shown, points, strict=True):
            sign = _sign(document, one["method"])
            axes.errorbar(
                x,
                y,
                xerr=one["sd"]["ncp"],
                yerr=one["sd"][column],
                markersize=7,
                linestyle="none",
                capsize=2,
                **sign,
            )
        if len(document["k"]) > 1:
            _name_points(axes, [f"k={one['k']}" for one in shown], points)
        axes.set_xlabel("information loss, NCP (0 to 1)")
        axes.set_ylabel(f"{words} (0 to 1)")
        axes.margins(0.12)
    figure.suptitle(
        f"Loss against linkage by an attacker who holds {ext_frac:.0%} of the source; "
        "less is better on both axes" + (f"; k={document['k'][0]}" if len(document["k"]) == 1 else "")
    )
    ring = Line2D(
        [],
        [],
        color="#555555",
        linestyle="--",
        marker="o",
        markersize=11,
        markerfacecolor="none",
        label="Pareto front: no other is as good in both",
    )
    _legend(figure, document, list(dict.fromkeys(one["method"] for one in shown)), [ring])
    return figure


def _name_points(axes: Axes, words: Sequence[str], points: Sequence[tuple[float, float]]) -> None:
    """Write each point's word beside it; words that would lie on each other go to different sides."""
    spans = [max(np.ptp([p[i] for p in points]), 1e-9) for i in (0, 1)]
    places = ((9, 5), (9, -12), (-9, 5), (-9, -12))
    taken: list[tuple[float, float, int]] = []
    for (x, y), word in zip(points, words, strict=True):
        near = {side for a, b, side in taken if abs(a - x) < 0.12 * spans[0] and abs(b - y) < 0.05 * spans[1]}
        side = next((i for i in range(len(places)) if i not in near), 0)
        taken.append((x, y, side))
        right, up = places[side]
        axes.annotate(
            word,
            (x, y),
            (right, up),
            textcoords="offset points",
            fontsize=8,
            ha="left" if right > 0 else "right",
        )


def sizes(document: Document) -> Figure | None:
    """Draw the sizes of the classes as boxes, one a method and k, of each one's first run that succeeded."""
    first: dict[tuple[str, int], list[float]] = {}
    for run in document["runs"]:
        if run["sizes"]:
            first.setdefault((run["method"], run["k"]), run["sizes"])
    if not first:
        return None
    figure = Figure(figsize=(8, 1.4 + 0.42 * len(first)), layout="constrained")
    axes = figure.subplots()
    boxes = [
        {"whislo": s[1], "q1": s[2], "med": s[3], "q3": s[4], "whishi": s[5], "label": f"{method}  k={k}"}
        for (method, k), s in first.items()
    ]
    place = np.arange(len(boxes), 0, -1)
    drawn = axes.bxp(
        boxes,
        positions=place,
        widths=0.55,
        orientation="horizontal",
        showfliers=False,
        patch_artist=True,
        medianprops={"color": "black", "linewidth": 1.6},
    )
    for box, (method, _) in zip(drawn["boxes"], first, strict=True):
        box.set_facecolor(_sign(document, method)["color"] + "55")
    for y, ((_, k), s) in zip(place, first.items(), strict=True):
        axes.plot([s[0], s[-1]], [y, y], linestyle="none", marker="|", markersize=9, color="black")
        axes.plot([k, k], [y - 0.42, y + 0.42], color="#D55E00", linewidth=1.6, linestyle=":")
    axes.set_xscale("log")
    _plain_numbers(axes)
    axes.set_xlabel("records a class (logarithmic)")
    axes.set_title(
        "Class sizes: quarter to three quarters (box), median, 5% to 95% (whiskers),\n"
        "least and greatest (ticks); k dotted",
        fontsize=10,
        loc="left",
    )
    return figure


def _plain_numbers(axes: Axes) -> None:
    """Write the numbers of a logarithmic axis as they are."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = axes.xaxis
    low, high = axis.get_view_interval()
    few = np.log10(max(high, 1e-12) / max(low, 1e-12)) < 2.2
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def ncp_by_attribute(document: Document) -> Figure | None:
    """Draw NCP of each quasi-identifier as a table of shaded cells, one line a method and k."""
    shown = _succeeded(document)
    names = [name for name in shown[0]["mean"] if name.startswith("ncp:")] if shown else []
    values = np.array(
        [[np.nan if one["mean"][n] is None else one["mean"][n] for n in (*names, "ncp")] for one in shown],
        dtype=np.float64,
    )
    if not shown or np.isnan(values).all():
        return None
    figure = Figure(figsize=(3.2 + 0.95 * (len(names) + 1), 1.6 + 0.36 * len(shown)), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(
        np.ma.masked_invalid(values), cmap="Blues", vmin=0, vmax=max(np.nanmax(values), 1e-9), aspect="auto"
    )
    for (row, column), value in np.ndenumerate(values):
        dark = value > 0.6 * np.nanmax(values)
        axes.text(
            column,
            row,
            "-" if np.isnan(value) else f"{value:.3f}",
            ha="center",
            va="center",
            fontsize=9,
            color="white" if dark else "black",
        )
    axes.set_xticks(
        range(len(names) + 1),
        [*(n.removeprefix("ncp:") for n in names), "all,\nby weight"],
        rotation=30,
        ha="right",
    )
    axes.set_yticks(range(len(shown)), [f"{one['method']}  k={one['k']}" for one in shown])
    axes.grid(visible=False)
    axes.axvline(len(names) - 0.5, color="white", linewidth=4)
    figure.colorbar(image, ax=axes, label="NCP (0 to 1)", fraction=0.04)
    axes.set_title("NCP by quasi-identifier (-: values were replaced)", fontsize=10, loc="left")
    return figure


def times(document: Document) -> Figure | None:
    """Draw the seconds of each method and k: mean, and standard deviation over seeds."""
    shown = _succeeded(document)
    if not shown:
        return None
    figure = Figure(figsize=(8, 1.4 + 0.3 * len(shown)), layout="constrained")
    axes = figure.subplots()
    place = np.arange(len(shown), 0, -1)
    for y, one in zip(place, shown, strict=True):
        mean, deviation = one["mean"]["cpu_seconds"], one["sd"]["cpu_seconds"]
        axes.errorbar(
            mean,
            y,
            xerr=deviation,
            linestyle="none",
            capsize=2,
            markersize=7,
            **_sign(document, one["method"]),
        )
        axes.annotate(f"{mean:.3g} s", (mean, y), (10, 5), textcoords="offset points", fontsize=8)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.set_xlim(low / 1.2, high * 1.6)
    _plain_numbers(axes)
    axes.set_yticks(place, [f"{one['method']}  k={one['k']}" for one in shown])
    axes.set_ylim(0.4, len(shown) + 0.8)
    axes.set_xlabel("CPU seconds on one thread (logarithmic)")
    axes.set_title(
        f"Time from prepared table to published rows, {document['rows']:,} rows", fontsize=10, loc="left"
    )
    return figure


def latent(run: Run, view: LatentView) -> Figure:
    """Draw two latent dimensions before and after (Hu et al., 2026, figures 4 and 5), on the same axes."""
    figure = Figure(figsize=(10.5, 5), layout="constrained")
    before, after = figure.subplots(1, 2, sharex=True, sharey=True)
    depth = np.log1p(view.count) / np.log1p(max(view.count.max(initial=1), 1))
    colours = [
        _with_depth(COLOURS[r % len(COLOURS)], d) for r, d in zip(view.hexagon_region, depth, strict=True)
    ]
    before.add_collection(
        PolyCollection(list(_corners(view)), facecolors=colours, edgecolors="white", linewidths=0.3)
    )
    least = 6 + 90 * np.sqrt(view.size / max(view.size.max(initial=1), 1))
    for region in np.unique(view.region).tolist():
        mine = view.region == region
        after.scatter(
            *view.centres[mine].T,
            s=least[mine],
            marker=SIGNS[region % len(SIGNS)],
            color=COLOURS[region % len(COLOURS)],
            alpha=0.55,
            linewidths=0.3,
            edgecolors="white",
        )
        at = np.median(view.centres[mine], axis=0)
        for axes in (before, after):
            axes.text(
                *at,
                str(region + 1),
                fontsize=11,
                fontweight="bold",
                ha="center",
                va="center",
                bbox={
                    "boxstyle": "circle,pad=0.25",
                    "facecolor": "white",
                    "edgecolor": "#555555",
                    "alpha": 0.9,
                },
            )
    before.autoscale_view()
    before.set_title(
        f"before: records in hexagons, darker where more (up to {view.count.max(initial=0):,});\n"
        f"{view.n_hidden:,} records in hexagons of under {run.k} are not shown",
        fontsize=10,
        loc="left",
    )
    hidden = f"; {view.n_hidden_classes} under {run.k} are not shown" if view.n_hidden_classes else ""
    after.set_title(
        f"after: centres of {len(view.size):,} classes, larger where of more records\n"
        f"(up to {view.size.max(initial=0):,}){hidden}",
        fontsize=10,
        loc="left",
    )
    for axes in (before, after):
        axes.set_xlabel("dimension 1 of the representation (no unit)")
        axes.margins(0.05)
    before.set_ylabel("dimension 2 of the representation (no unit)")
    figure.suptitle(
        f"{run.label}, k={run.k}: regions of neighbouring classes have a number, a colour and a sign"
    )
    return figure


def _with_depth(colour: str, depth: float) -> tuple[float, ...]:
    """Return a colour made paler where `depth` (0 to 1) is small."""
    pure = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return tuple(1 - (0.2 + 0.8 * depth) * (1 - pure))


def _corners(view: LatentView) -> FloatArray:
    """Return the six corners of each hexagon, (h, 6, 2)."""
    wide, high = view.step
    around = np.array(
        [[0.5, -1 / 6], [0.5, 1 / 6], [0.0, 1 / 3], [-0.5, 1 / 6], [-0.5, -1 / 6], [0.0, -1 / 3]]
    ) * np.array([wide, high])
    return np.asarray(view.hexagons[:, None, :] + around)
