"""The pictures of one candidate or release, out of its gates and figures."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

from policy.text import number_of
from reports import charts
from reports.gate_wording import limit_of, measured_of
from reports.picture import Picture
from reports.sure import WORLDS
from reports.symbols import BASIS, KNOWING, VERDICTS
from reports.text import sanitize_text
from reports.value_order import in_order, orders_of
from tasks.reporting.narrowing import MANY

Document = Mapping[str, Any]
_LEFT = {"1": "1", "2": "2", "more": "3 and more"}
_BAR = 30  # units of height of a stacked bar


@dataclass(frozen=True)
class Pictures:
    """The pictures by what they are about."""

    risk: tuple[Picture, ...] = ()
    cost: tuple[Picture, ...] = ()
    values: tuple[Picture, ...] = ()
    latent: tuple[Picture, ...] = ()
    gates: tuple[Picture, ...] = ()

    def all(self) -> list[Picture]:
        """Return every picture, in the order of the report."""
        return [one for field in fields(self) for one in getattr(self, field.name)]


def pictures_of(
    gates: Sequence[Document], figures: Document | None, policy: Document | None = None
) -> Pictures:
    """Return the pictures; without figures, that of the gates alone.

    With the `policy`, the values of an ordered attribute are drawn in their order.
    """
    found, orders = figures or {}, orders_of(policy or {})
    return Pictures(
        risk=_drawable(
            [
                *_worlds(gates),
                *_narrowing([one for one in found.get("narrowing") or () if one["basis"] != "worlds"]),
            ]
        ),
        cost=_drawable([*_by_attribute(found), *_class_sizes(found)]),
        values=_drawable(
            _distribution(i, one, orders.get(str(one["name"])))
            for i, one in enumerate(found.get("attributes") or ())
        ),
        latent=_drawable(_latent(found.get("latent"))),
        gates=_drawable([_gates(gates)]),
    )


def _drawable(pictures: Iterable[Picture]) -> tuple[Picture, ...]:
    """Return those that have anything to draw."""
    return tuple(one for one in pictures if one.rows)


def used(gate: Document) -> float | None:
    """Return how much of its limit a gate uses: 1 is the limit, more is over; None where that is not known.

    Of a limit that is a least value it is limit by value; of one at 0 it is 0 or, where anything is found, 2.
    """
    value, threshold = gate["value"], gate["threshold"]
    if value is None or threshold is None:
        return None
    above, below = (value, threshold) if gate["relation"] == "<=" else (threshold, value)
    if below > 0:
        return float(above / below)
    return 0.0 if above <= below else 2.0


def _gates(gates: Sequence[Document]) -> Picture:
    rows = [
        {
            "gate": gate["gate"],
            "verdict": str(gate["verdict"]),
            "sign": f"{VERDICTS.get(str(gate['verdict']), '?')} {gate['verdict']}",
            "used": None if (share := used(gate)) is None else min(share, 2.0),
            "measured": measured_of(gate),
            "must be": limit_of(gate),
        }
        for gate in gates
    ]
    n_passed = sum(row["verdict"] == "pass" for row in rows)
    columns = (("gate", "gate"), ("verdict", "verdict"), ("measured", "measured"), ("must be", "must be"))
    words = f"{n_passed} of {len(rows)} gates pass. A bar shows how much of its limit a gate uses."
    return Picture("gates", "The gates", words, charts.with_bars(charts.gates(), len(rows)), rows, columns)


def _worlds(gates: Sequence[Document]) -> list[Picture]:
    """Return how many people have how many values by the gate over possible worlds, if it counted any."""
    known = next(((gate.get("witness") or {}) for gate in gates if gate["gate"] == WORLDS), {})
    total = known.get("people") or 0
    ways = {"class by class": known.get("by_sets"), "all classes at once": known.get("by_worlds")}
    if not total or not all(ways.values()):
        return []
    rows = [
        {"values": values, "order": place, "people": n, "share": n / total, "basis": basis}
        for basis, counts in ways.items()
        for place, (name, values) in enumerate(_LEFT.items())
        for n in [int((counts or {}).get(name, 0))]
    ]
    pinned, undecided = (int(known.get(name) or 0) for name in ("pinned", "undecided"))
    n_releases = int(known.get("releases") or 0)
    people, in_all = number_of(total, "person", "people"), number_of(n_releases, "release")
    more = f" The search ended undecided for {undecided:,} more." if undecided else ""
    words = (
        f"An attacker who solves all classes jointly narrows {f'{pinned:,}' if pinned else 'nobody'} of "
        f"{people} in {in_all} to fewer than l values.{more} Counts of values are lower bounds: the search "
        "stops once the gate is satisfied."
    )
    columns = (
        ("basis", "reasoning"), ("values", "values left"), ("people", "people"), ("share", "share"),
    )  # fmt: skip
    title = "How many values all releases together leave"
    return [Picture("worlds", title, words, _stacked(tuple(_LEFT.values()), len(ways)), rows, columns)]


def _stacked(values: tuple[str, ...], n_bars: int) -> Mapping[str, Any]:
    return charts.with_bars(charts.possible(values), n_bars, _BAR)


def _narrowing(curves: Sequence[Document]) -> list[Picture]:
    attributes = dict.fromkeys(sanitize_text(str(curve["attribute"])) for curve in curves)
    return [
        _narrowed(i, name, [curve for curve in curves if sanitize_text(str(curve["attribute"])) == name])
        for i, name in enumerate(attributes)
    ]


def _narrowed(i: int, attribute: str, curves: Sequence[Document]) -> Picture:
    lows = _lows(max(int(curve["least"]) for curve in curves))
    labels = tuple(_range(low, above - 1) for low, above in pairwise([*lows, MANY + 1]))
    rows: list[dict[str, Any]] = []
    said = []
    for curve in curves:
        total = sum(n for _, n in curve["counts"])
        if not total:
            continue
        basis = KNOWING.get(str(curve["basis"]), str(curve["basis"]))
        people = [0] * len(lows)
        for left, n in curve["counts"]:
            people[max(bisect_right(lows, left) - 1, 0)] += n
        rows += [
            {"values": label, "order": place, "people": n, "share": n / total, "basis": basis}
            for place, (label, n) in enumerate(zip(labels, people, strict=True))
        ]
        said.append(_narrowed_to(curve))
    columns = (
        ("basis", "knowing"), ("values", "possible values"), ("people", "people"), ("share", "share"),
    )  # fmt: skip
    bases = len(dict.fromkeys(row["basis"] for row in rows))
    title = f"How far people's {attribute} can be narrowed"
    return Picture(f"narrowing-{i}", title, " ".join(said), _stacked(labels, bases), rows, columns)


def _lows(least: int) -> list[int]:
    """Return the least number of values of each part of a bar, at most five; one begins at `least`."""
    least = max(least, 2)
    found = {1, least, least + 1, least + 2, 2 * least + 2}
    return sorted(low for low in found if low <= MANY)


def _range(low: int, high: int) -> str:
    if high >= MANY:
        return f"{low} and more"
    return f"{low}" if low == high else f"{low} to {high}"


def _narrowed_to(curve: Document) -> str:
    basis = BASIS.get(str(curve["basis"]), str(curve["basis"]))
    fewest = min(left for left, n in curve["counts"] if n)
    under = sum(n for left, n in curve["counts"] if left < curve["least"])
    words = f"{basis[0].upper()}{basis[1:]}, everyone keeps {fewest} or more possible values"
    people = number_of(under, "person keeps", "people keep")
    return f"{words}; {people} fewer than {curve['least']}." if under else f"{words}."


def _class_sizes(figures: Document) -> list[Picture]:
    found = figures.get("classes")
    if not found or not found["n"]:
        return []
    rows = [
        {
            "label": f"{one['low']}" if one["low"] == one["high"] else f"{one['low']} to {one['high']}",
            "classes": one["classes"],
            "records": one["records"],
        }
        for one in found["sizes"]
    ]
    least = f"{found['least']:,} to " if found["least"] != found["greatest"] else ""
    words = (
        f"{number_of(found['n'], 'class', 'classes')} of {least}{number_of(found['greatest'], 'record')}, "
        f"median {found['median']:g}."
    )
    columns = (("label", "records in the class"), ("classes", "classes"), ("records", "records in them"))
    return [Picture("class-sizes", "How large the classes are", words, charts.class_sizes(), rows, columns)]


def _by_attribute(figures: Document) -> list[Picture]:
    ncp = figures.get("ncp")
    if not ncp:
        return []
    rows = sorted(
        ({"attribute": name, "ncp": value} for name, value in ncp.items()), key=lambda row: -row["ncp"]
    )
    words = (
        f"Most is lost of {rows[0]['attribute']}, least of {rows[-1]['attribute']}; 0 is published as it is."
    )
    columns = (("attribute", "attribute"), ("ncp", "NCP"))
    title = "How much detail each attribute loses"
    return [Picture("ncp", title, words, charts.with_bars(charts.by_attribute(), len(rows)), rows, columns)]


def _distribution(i: int, attribute: Document, order: Sequence[str] | None) -> Picture:
    bins = attribute["bins"]
    if attribute["role"] != "numeric":
        bins = in_order(bins, order)
    rows = [
        {"label": sanitize_text(str(one["label"])), "after": one["after"], "before": one.get("before")}
        for one in bins
    ]
    hidden = attribute.get("before_not_told", 0)
    if attribute["role"] in ("sensitive", "kept"):
        words = "Published as it is."
        columns: tuple[tuple[str, str], ...] = (("label", "value"), ("after", "published"))
    else:
        people = number_of(hidden, "person", "people")
        words = f"Original counts hidden for {people}." if hidden else "Original counts shown."
        columns = (("label", "value"), ("before", "source"), ("after", "published, as counted"))
    told = any(row["before"] is not None for row in rows)
    spec = charts.with_bars(charts.distribution(told), len(rows), 20)
    return Picture(f"values-{i}", sanitize_text(str(attribute["name"])), words, spec, rows, columns)


def _latent(found: Document | None) -> list[Picture]:
    if not found:
        return []
    many = found.get("after_of") == "hexagons"
    columns = (("x", "first dimension"), ("y", "second dimension"), ("records", "records"))
    told = (
        (
            "latent-before",
            "Before: where the records lie",
            "before",
            ("record is", "records are"),
            "Each circle is a place",
        ),
        (
            "latent-after",
            "After: the centres of the classes",
            "after",
            ("class is", "classes are"),
            "Each circle is a place with centres" if many else "Each circle is the centre of a class",
        ),
    )
    return [
        Picture(
            name,
            title,
            f"{words}. Its area shows the number of records; "
            f"{number_of(found.get(f'{part}_not_told', 0), *hidden)} not shown.",
            charts.latent(),
            [{"x": x, "y": y, "records": n} for x, y, n in found[part]],
            columns,
        )
        for name, title, part, hidden, words in told
    ]
