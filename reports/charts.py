"""Every kind of chart, once: Altair makes its specification, which takes the data by name.

A specification is made once a process, since a page may have a dozen charts and a site thousands. Text that
people gave is in the data alone, never in a specification, where a name could be read as an expression.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt

from reports.picture import ROWS

Spec = dict[str, Any]
# Two things are told apart by shape and dash as well as by colour: the theme's first and second.
_FIRST, _SECOND = "first", "second"
_HEIGHT = 220
# Ticks can stand at halves where there are few; what is counted has none.
_WHOLE = alt.Axis(tickMinStep=1, format=",d", labelExpr="datum.value % 1 ? '' : datum.label")
_COUNTS = alt.Axis(format=",d", tickCount=4, labelOverlap="greedy", labelSeparation=8)
_LABEL = alt.Axis(labelLimit=170, title=None)


def _chart(height: int = _HEIGHT) -> alt.Chart:
    return alt.Chart(alt.NamedData(ROWS)).properties(width="container", height=height)


def _spec(chart: alt.Chart | alt.LayerChart | alt.FacetChart) -> Spec:
    made: Spec = _without_data(chart.to_dict())
    made.pop("config", None)  # the page's theme
    # As wide as its place, labels and all.
    return made | {"autosize": {"type": "fit-x", "contains": "padding"}}


def with_bars(spec: Spec, n: int, thick: int = 22) -> Spec:
    """Return a specification that is high enough for `n` bars to the right.

    Vega-Lite can do so itself, by a step, but warns then that the height is not fitted to the page.
    """
    return {**spec, "height": thick * n}


def _without_data(part: Any) -> Any:
    """Take away every mention of the data: a picture names it once, at the top."""
    if isinstance(part, list):
        return [_without_data(one) for one in part]
    if isinstance(part, dict):
        return {name: _without_data(one) for name, one in part.items() if name != "data"}
    return part


@cache
def possible(values: tuple[str, ...]) -> Spec:
    """Stacked bars to the right, one a `basis`: the share of people by how many `values` are left to them.

    `values` are from the fewest to the most, at most five: the fewest are the darkest. Rows: `values`,
    `order`, `share`, `people`, `basis`.
    """
    return _spec(
        _chart()
        .mark_bar(stroke="white", strokeWidth=0.6)
        .encode(
            y=alt.Y("basis:N", sort=None, axis=alt.Axis(labelLimit=190, title=None)),
            x=alt.X(
                "share:Q",
                title="share of people",
                axis=alt.Axis(format="%", values=[0, 0.5, 1], labelFlush=True),
                stack="zero",
                scale={"domain": [0, 1]},
            ),
            color=alt.Color(
                "values:O",
                sort=None,
                title="possible values remaining",
                scale=alt.Scale(domain=list(values)),
                legend=alt.Legend(orient="top", columns=3),
            ),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("basis:N", title="knowing"),
                alt.Tooltip("values:O", title="possible values remaining"),
                alt.Tooltip("people:Q", title="people", format=","),
                alt.Tooltip("share:Q", title="share", format=".1%"),
            ],
        )
    )


@cache
def class_sizes() -> Spec:
    """Bars: how many classes have so many records. Rows: `label`, `records`, `classes`."""
    return _spec(
        _chart()
        .mark_bar()
        .encode(
            x=alt.X(
                "label:O",
                sort=None,
                title="records in the class",
                axis=alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=6),
            ),
            y=alt.Y("classes:Q", title="classes", axis=_WHOLE),
            tooltip=[
                alt.Tooltip("label:O", title="records in the class"),
                alt.Tooltip("classes:Q", title="classes", format=","),
                alt.Tooltip("records:Q", title="records in them", format=","),
            ],
        )
    )


@cache
def by_attribute() -> Spec:
    """Bars to the right: NCP of each quasi-identifier. Rows: `attribute`, `ncp`."""
    return _spec(
        _chart()
        .mark_bar()
        .encode(
            y=alt.Y("attribute:N", sort=None, axis=_LABEL),
            x=alt.X(
                "ncp:Q",
                title="share of detail lost (NCP)",
                scale={"domain": [0, 1]},
                axis=alt.Axis(format="%", tickCount=5),
            ),
            tooltip=[alt.Tooltip("attribute:N"), alt.Tooltip("ncp:Q", title="NCP", format=".1%")],
        )
    )


@cache
def distribution(told: bool = True) -> Spec:
    """Bars for what is published, and a mark for what the source holds where that may be told, if anywhere.

    Rows: `label`, `after`, `before` (null where it is not told).
    """
    label = alt.Y("label:N", sort=None, axis=_LABEL)
    tooltip = [
        alt.Tooltip("label:N", title="value"),
        alt.Tooltip("before:Q", title="source", format=",.0f"),
        alt.Tooltip("after:Q", title="published", format=",.1f"),
    ]
    after = (
        _chart()
        .mark_bar(style=_FIRST, opacity=0.55)
        .encode(y=label, x=alt.X("after:Q", title="records", axis=_COUNTS), tooltip=tooltip)
    )
    if not told:
        return _spec(after)
    before = (
        _chart()
        .transform_filter("isValid(datum.before)")
        .mark_point(shape="diamond", filled=False, size=70, strokeWidth=2, style=_SECOND)
        .encode(y=label, x=alt.X("before:Q", title="records", axis=_COUNTS), tooltip=tooltip)
    )
    return _spec(alt.layer(after, before))


@cache
def latent() -> Spec:
    """Points whose area is a number of records. Rows: `x`, `y`, `records`."""
    return _spec(
        _chart(280)
        .mark_circle(opacity=0.65)
        .encode(
            x=alt.X("x:Q", title="first dimension", scale={"zero": False}),
            y=alt.Y("y:Q", title="second dimension", scale={"zero": False}),
            size=alt.Size("records:Q", title="records", scale={"rangeMin": 6, "rangeMax": 260}),
            tooltip=[alt.Tooltip("records:Q", title="records", format=",")],
        )
    )


@cache
def gates() -> Spec:
    """Bars: how much of its limit a gate uses, 1 is the limit. Rows: `gate`, `used`, `sign`.

    And what is told beside a bar: `verdict`, `measured`, `must be`.
    """
    bars = (
        _chart()
        .mark_bar()
        .encode(
            y=alt.Y("gate:N", sort=None, axis=_LABEL),
            x=alt.X(
                "used:Q",
                title="share of the limit that is used (2: twice or more)",
                scale={"domain": [0, 2]},
            ),
            tooltip=["gate:N", "verdict:N", "measured:N", "must be:N"],
        )
    )
    signs = (
        _chart()
        .mark_text(align="left", dx=5)
        .encode(y=alt.Y("gate:N", sort=None, axis=_LABEL), x=alt.datum(2), text="sign:N")
    )
    rule = (
        alt.Chart(alt.NamedData(ROWS))
        .mark_rule(strokeDash=[5, 4], strokeWidth=2, style="limit")
        .encode(x=alt.datum(1))
    )
    return _spec(alt.layer(bars, signs, rule))


@cache
def trend(share: bool = False, limited: bool = True) -> Spec:
    """A line over the releases, and the limit, where any has one, as a dashed one: it may change.

    Rows: `place` (1, 2, ... in the order of publication), `release`, `value`, `limit`.
    """
    axis = alt.Axis(format="%") if share else alt.Axis()
    x = alt.X("release:N", sort=None, title=None, axis=alt.Axis(labelAngle=-40, labelOverlap="greedy"))
    tooltip = [
        alt.Tooltip("release:N"),
        alt.Tooltip("value:Q", format=".4~g"),
        alt.Tooltip("limit:Q", format=".4~g"),
    ]
    value = (
        _chart()
        .mark_line(point={"size": 45}, style=_FIRST)
        .encode(x=x, y=alt.Y("value:Q", title=None, axis=axis), tooltip=tooltip)
    )
    if not limited:
        return _spec(value)
    limit = (
        _chart()
        .transform_filter("isValid(datum.limit)")
        .mark_line(
            strokeDash=[5, 4], interpolate="step", point={"shape": "stroke", "size": 60}, style="limit-line"
        )
        .encode(x=x, y=alt.Y("limit:Q", title=None), tooltip=tooltip)
    )
    return _spec(alt.layer(value, limit))


@cache
def headroom() -> Spec:
    """Stacked bars, one a release: the share of people by how many values above l are left to them.

    Rows: `release`, `above` (a text), `order`, `share`, `people`.
    """
    return _spec(
        _chart()
        .mark_bar(stroke="white", strokeWidth=0.6)
        .encode(
            x=alt.X("release:N", sort=None, title=None, axis=alt.Axis(labelAngle=-40, labelOverlap="greedy")),
            y=alt.Y(
                "share:Q",
                title="share of people",
                axis=alt.Axis(format="%"),
                stack="zero",
                scale={"domain": [0, 1]},
            ),
            color=alt.Color(
                "above:O",
                sort=None,
                title="possible values above l",
                legend=alt.Legend(orient="top", columns=4),
            ),
            order=alt.Order("order:Q"),
            tooltip=[
                "release:N",
                alt.Tooltip("above:O", title="above l"),
                alt.Tooltip("people:Q", format=","),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
    )


@cache
def risk_utility(risk: str) -> Spec:
    """Points: what each release costs, and what an attacker gets of it: `risk` is the axis' title.

    Rows: `name`, `label` (what stands beside the point), `cost`, `risk`, `kind`.
    """
    base = _chart(260)
    # Room at the sides: for the names beside the points.
    axis = alt.Axis(format="%", tickCount=6)
    x = alt.X("cost:Q", title="share of detail lost (NCP)", axis=axis, scale={"zero": False, "padding": 70})
    y = alt.Y("risk:Q", title=risk, axis=axis, scale={"zero": False, "padding": 20})
    points = base.mark_point(size=110, filled=True).encode(
        x=x,
        y=y,
        shape=alt.Shape("kind:N", sort=None, title=None, legend=alt.Legend(orient="top")),
        color=alt.Color("kind:N", sort=None, title=None, legend=alt.Legend(orient="top")),
        tooltip=[
            "name:N",
            "kind:N",
            alt.Tooltip("cost:Q", format=".1%"),
            alt.Tooltip("risk:Q", format=".1%"),
        ],
    )
    names = base.mark_text(align="left", dx=8, dy=-6, limit=160).encode(x=x, y=y, text="label:N")
    return _spec(alt.layer(points, names))
