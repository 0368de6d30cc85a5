"""The pictures of a series: trends against their limits, headroom, and risk against utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from policy.rounding import RELATIONS, limit_share, limit_text, measured_share, measured_text
from policy.text import number_of
from reports import charts
from reports.pages import share
from reports.picture import Picture
from reports.symbols import BASIS

Document = Mapping[str, Any]

# The gates whose values are followed over a series: what each measures, and whether that is a share.
TRENDS: dict[str, tuple[str, bool]] = {
    "umr": ("People whose class is certain (UMR)", True),
    "err": ("Chance of picking the right row (ERR)", True),
    "sadr": ("Certainty of a sensitive value (SADR)", True),
    "ncp": ("Detail that is lost (NCP)", True),
    "suppression": ("Records that are left out", True),
    "k": ("The smallest class (k)", False),
}
RISKS = ("umr", "err", "sadr")  # the first that was measured stands for risk
_MANY = 3  # so many values above l, or more, are one group
_NAMED = 24  # more points than that have no names beside them


@dataclass(frozen=True)
class AssessedRelease:
    """One release, or candidate, of a series.

    `label` is its short name, `kind` what it is, such as "release"; `gates` are documents as the
    manifest has them; `figures` those that the store keeps, or None.
    """

    label: str
    gates: Sequence[Document]
    figures: Document | None = None
    kind: str = "release"

    def gate(self, name: str) -> Document | None:
        """Return what a gate said, or None where it was not asked."""
        return next((gate for gate in self.gates if gate["gate"] == name), None)

    def value(self, name: str) -> float | None:
        """Return what a gate measured, or None."""
        gate = self.gate(name)
        return None if gate is None else gate["value"]


@dataclass(frozen=True)
class SeriesPictures:
    """The pictures of a series by what they are about."""

    trends: tuple[Picture, ...] = ()
    headroom: tuple[Picture, ...] = ()
    risk_utility: tuple[Picture, ...] = ()

    def all(self) -> list[Picture]:
        """Return every picture, in their order."""
        return [one for field in fields(self) for one in getattr(self, field.name)]


def short_name(identifier: str, series: str) -> str:
    """Return the name of a release or candidate within its series, such as 2026Q1-r1."""
    return identifier.removeprefix(f"{series}-")


def series_pictures(releases: Sequence[AssessedRelease]) -> SeriesPictures:
    """Return the pictures of the releases, which are in the order of their publication."""
    return SeriesPictures(
        trends=tuple(trends(releases)),
        headroom=tuple(headroom(releases)),
        risk_utility=tuple(risk_utility(releases)),
    )


def trends(releases: Sequence[AssessedRelease]) -> list[Picture]:
    """Return for each followed gate that measured anything its values over the releases, with the limits."""
    return [made for name in TRENDS if (made := _trend(name, releases)) is not None]


def _trend(gate: str, releases: Sequence[AssessedRelease]) -> Picture | None:
    title, is_share = TRENDS[gate]
    rows, relation = [], "<="
    for place, one in enumerate(releases, 1):
        found = one.gate(gate) or {"value": None, "threshold": None, "relation": relation}
        relation = str(found["relation"])
        rows.append(
            {"place": place, "release": one.label, "value": found["value"], "limit": found["threshold"]}
        )
    told = [row for row in rows if row["value"] is not None]
    if not told:
        return None
    said, limit = (measured_share, limit_share) if is_share else (measured_text, limit_text)
    values = [row["value"] for row in told]
    last = told[-1]
    bound = (
        "no limit"
        if last["limit"] is None
        else f"must be {RELATIONS.get(relation, relation)} {limit(last['limit'])}"
    )
    words = f"{said(last['value'], relation, last['limit'])} in {last['release']} ({bound})."
    if len(told) > 1:
        low, high = (said(value, relation) for value in (min(values), max(values)))
        between = f"Always {low}" if low == high else f"Between {low} and {high}"
        words += f" {between} over {len(told):,} releases."
    if len(told) < len(rows):
        words += f" {number_of(len(rows) - len(told), 'release was', 'releases were')} not measured."
    columns = (("release", "release"), ("value", "measured"), ("limit", "limit"))
    limited = any(row["limit"] is not None for row in rows)
    return Picture(f"trend-{gate}", title, words, charts.trend(is_share, limited), rows, columns)


def headroom(releases: Sequence[AssessedRelease]) -> list[Picture]:
    """Return for each sensitive attribute how many values above l are left to how many people, by release."""
    names = dict.fromkeys(
        str(curve["attribute"]) for one in releases for curve in (one.figures or {}).get("narrowing") or ()
    )
    found = (_headroom(i, name, releases) for i, name in enumerate(names))
    return [one for one in found if one is not None]


def _headroom(i: int, attribute: str, releases: Sequence[AssessedRelease]) -> Picture | None:
    counted = [
        (one.label, curve, _above(curve))
        for one in releases
        if (curve := _strongest(one.figures, attribute)) is not None and any(n for _, n in curve["counts"])
    ]
    if not counted:
        return None
    groups = sorted({order for _, _, above in counted for order in above})
    rows = [
        {
            "release": label,
            "above": _group(order),
            "order": order,
            "people": above.get(order, 0),
            "share": above.get(order, 0) / sum(above.values()),
            "basis": BASIS.get(str(curve["basis"]), str(curve["basis"])),
        }
        for label, curve, above in counted
        for order in groups
    ]
    label, curve, above = counted[-1]
    words = _headroom_words(label, curve, above)
    if len(counted) < len(releases):
        missing = number_of(len(releases) - len(counted), "release has", "releases have")
        words += f" {missing} no stored figures."
    columns = (
        ("release", "release"), ("above", "possible values above l"), ("people", "people"),
        ("share", "share"),
        ("basis", "basis"),
    )  # fmt: skip
    title = f"Headroom: how far people's {attribute} is from l"
    return Picture(f"headroom-{i}", title, words, charts.headroom(), rows, columns)


def _strongest(figures: Document | None, attribute: str) -> Document | None:
    """Return the curve of who knows most: by people, else by cells, else of the release alone."""
    curves = {
        str(curve["basis"]): curve
        for curve in (figures or {}).get("narrowing") or ()
        if curve["attribute"] == attribute
    }
    return next((curves[basis] for basis in BASIS if basis in curves), None)


def _above(curve: Document) -> dict[int, int]:
    """Return how many people have so many values above l left: -1 is fewer than l, `_MANY` that or more."""
    found: dict[int, int] = {}
    for left, people in curve["counts"]:
        order = max(-1, min(left - curve["least"], _MANY))
        found[order] = found.get(order, 0) + people
    return found


def _group(order: int) -> str:
    if order < 0:
        return "fewer than l"
    return f"{order} or more" if order == _MANY else str(order)


def _headroom_words(label: str, curve: Document, above: Mapping[int, int]) -> str:
    total, at, under = sum(above.values()), above.get(0, 0), above.get(-1, 0)
    basis = BASIS.get(str(curve["basis"]), str(curve["basis"]))
    left, people = f"l = {curve['least']} values left", number_of(total, "person", "people")
    said = f"all of {people} have more than {left}"
    if at:
        have = "has" if at == 1 else "have"
        said = (
            f"{at:,} of {people} ({share(at / total)}) {have} exactly {left} and must not be narrowed further"
        )
    elif under:
        said = f"nobody of {people} has exactly {left}"
    words = f"After {label}, {said} (counted {basis})."
    if under:
        words += f" {number_of(under, 'person has', 'people have')} fewer."
    if curve["basis"] == "worlds":
        words += " Counts include only values proven possible, so they are lower bounds."
    return words


def risk_utility(releases: Sequence[AssessedRelease]) -> list[Picture]:
    """Return what each release costs against what an attacker gets of it, where both are measured."""
    risk = next((name for name in RISKS if any(one.value(name) is not None for one in releases)), None)
    points = [
        one for one in releases if risk and one.value(risk) is not None and one.value("ncp") is not None
    ]
    if risk is None or not points:
        return []
    rows = [
        {
            "name": one.label,
            "label": one.label if len(points) <= _NAMED else "",
            "kind": one.kind,
            "cost": one.value("ncp"),
            "risk": one.value(risk),
        }
        for one in points
    ]
    last = points[-1]
    words = (
        f"Further left less detail is lost; further down the risk is lower. {last.label}: "
        f"{measured_share(last.value('ncp'), '<=')} of detail lost, "
        f"{risk.upper()} {measured_share(last.value(risk), '<=')}."
    )
    if len(points) < len(releases):
        missing = number_of(len(releases) - len(points), "release is", "releases are")
        words += f" {missing} left out: risk or NCP was not measured."
    columns = (("name", "name"), ("kind", "what it is"), ("cost", "NCP"), ("risk", risk.upper()))
    title = "Risk against utility"
    return [Picture("risk-utility", title, words, charts.risk_utility(TRENDS[risk][0]), rows, columns)]
