"""What was measured of one table, in sentences: the same for the terminal and the page. No cell is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from policy.rounding import measured_share, measured_text
from policy.text import number_of
from tasks.table_measures.combinations import SinglingOut
from tasks.table_measures.disclosure import SensitiveRisk
from tasks.table_measures.identity import IdentityRisk, PopulationRisk
from tasks.table_measures.measure import AssessedTable, TableMeasures

NONE = "none"
LIMITS = (
    "There is no verdict: how much risk is too much is for whoever decides on the table. A policy states it.",
    "Whoever knows more columns than the quasi-identifiers named here singles out more people.",
    "Cells are compared as they are written: what intervals that overlap give away is not measured.",
    "A table that is safe alone may be unsafe beside other tables about the same people.",
    "Values that were changed or made up protect more than these figures show: the table does not tell them.",
)


@dataclass(frozen=True)
class Figure:
    """One measured figure: its name, its value as text, and what it means."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True)
class FigureGroup:
    """Figures under one heading."""

    title: str
    words: str
    figures: tuple[Figure, ...]


def figure_groups(measures: TableMeasures) -> list[FigureGroup]:
    """Return all figures but those by column, in the order in which they are shown."""
    who = _who(measures.identity)
    groups = [
        FigureGroup(
            "Who can be singled out",
            f"A class has the {who} whose quasi-identifiers are equal. Whoever is alone in a class can be "
            "singled out by anybody who knows these columns.",
            tuple(_identity(measures.identity, who)),
        ),
        FigureGroup(
            "Chance of finding somebody",
            "The attacker knows all quasi-identifiers of a person, as the table has them, and picks one of "
            f"the {who} of the class.",
            tuple(_risks(measures.identity, measures.population, who)),
        ),
    ]
    if measures.partial_knowledge:
        groups.append(
            FigureGroup(
                "Attackers who know only some columns",
                "Whichever so many quasi-identifiers the attacker knows, the worst choice counts.",
                tuple(_partial(measures)),
            )
        )
    counted = "households" if measures.identity.households is not None else who
    for name, risk in measures.sensitive.items():
        words = (
            f"The strongest parameters that every class satisfies, counted in {counted}. "
            f"The column has {number_of(risk.values, 'different value')}; a missing one is a value too."
        )
        groups.append(FigureGroup(f"Sensitive attribute {name}", words, tuple(_sensitive(risk, who))))
    return groups


def _who(identity: IdentityRisk) -> str:
    return "rows" if identity.people == identity.rows else "people"


def _identity(found: IdentityRisk, who: str) -> Iterator[Figure]:
    yield Figure("rows", f"{found.rows:,}", "rows of the table")
    if found.people != found.rows:
        yield Figure("people", f"{found.people:,}", "each person is counted once in a class")
    if found.households is not None:
        yield Figure("households", f"{found.households:,}", "the privacy models count these")
    classes = found.classes
    middle = f"median {classes['median']:g}, largest {classes['greatest']:,}"
    yield Figure("equivalence classes", f"{classes['n']:,}", f"groups with equal quasi-identifiers; {middle}")
    yield Figure("smallest class", f"{classes['least']:,}", f"{who} in it")
    counted = "" if found.households is None else ", in households"
    yield Figure("k-anonymity", f"k = {found.k:,}", f"the highest k: each class has so many or more{counted}")
    for least, n in found.people_in_classes_under.items():
        share = _share(n / found.people)
        name = "alone in the class" if least == "2" else f"in classes under {least}"
        yield Figure(name, share, f"{n:,} of {found.people:,} {who}")


def _risks(found: IdentityRisk, population: PopulationRisk | None, who: str) -> Iterator[Figure]:
    yield Figure(
        "prosecutor, highest",
        _share(found.highest_risk),
        "knows that the person is in the table: 1 / size of the smallest class",
    )
    yield Figure(
        "prosecutor, average",
        _share(found.average_risk),
        f"mean over {who}; also the share that a marketer finds who looks for all of them",
    )
    if population is None:
        yield Figure(
            "journalist",
            "not measured",
            "does not know who is in the table: at most the prosecutor's; --weight estimates it",
        )
        return
    estimate = "an estimate by the weights"
    yield Figure(
        "population",
        f"{population.population:,.0f}",
        f"people, by the sum of weights; {_share(population.sampling_fraction)} of them are in the table",
    )
    yield Figure(
        "k-map", f"k = {population.k_map:,}", f"people that each class stands for, or more: {estimate}"
    )
    yield Figure(
        "journalist, highest",
        _share(population.highest_risk),
        f"does not know whether the person is in the table: {estimate}",
    )
    yield Figure(
        "journalist, average",
        _share(population.average_risk),
        f"mean over {who}; also a marketer's share who looks for all of the population: {estimate}",
    )
    if population.uniques is None:
        yield Figure("unique in the population", "not estimated", population.not_estimated)
    else:
        how = f"of the table's {who}, estimated by {population.estimator}; the error has no bound"
        yield Figure("unique in the population", _share(population.uniques), how)


def _partial(measures: TableMeasures) -> Iterator[Figure]:
    for one in measures.partial_knowledge:
        columns = number_of(one.columns, "column")
        yield Figure(
            f"{columns} known",
            f"k = {one.fewest_rows:,}",
            f"fewest rows that match: the highest k of k^m-anonymity with m = {one.columns}",
        )
        for name, share in one.greatest_share.items():
            yield Figure(
                f"{columns} known, {name}",
                _share(share),
                f"greatest share of one value in these rows: the least C of LKC-privacy, L = {one.columns}",
            )


def _sensitive(risk: SensitiveRisk, who: str) -> Iterator[Figure]:
    yield Figure(
        "disclosed for certain",
        f"{risk.certain_people:,}",
        f"{who} in {number_of(risk.certain_classes, 'class', 'classes')} where all have the same value",
    )
    yield Figure(
        "largest share", f"p_max = {_text(risk.p_max)}", "of one value in a class; alpha of (alpha,k)"
    )
    yield Figure("distinct l-diversity", f"l = {risk.distinct_l}", "fewest different values of a class")
    yield Figure(
        "entropy l-diversity",
        f"l = {_least(risk.entropy_l)}",
        f"exp of the least entropy of a class, h_min = {_least(risk.h_min)}",
    )
    for each, c in risk.recursive_c.items():
        value = NONE if c is None else f"c over {_text(c)}"
        yield Figure(
            f"recursive (c,{each})-diversity",
            value,
            "the most frequent value is under c times those from the l-th on",
        )
    yield Figure(
        "t-closeness, equal",
        f"t = {_text(risk.t_equal)}",
        "how far a class is from the table: the share of values to be exchanged",
    )
    if risk.numeric:
        ordered = "not measured" if risk.t_ordered is None else f"t = {_text(risk.t_ordered)}"
        why = (
            "too many numbers: round them first"
            if risk.t_ordered is None
            else "the same, by the order of numbers"
        )
        yield Figure("t-closeness, ordered", ordered, why)
    yield Figure(
        "beta-likeness",
        f"beta = {_text(risk.beta)}",
        "greatest gain of a value's share in a class, as a part of its share in the table",
    )
    delta = NONE if risk.delta is None else f"delta over {_text(risk.delta)}"
    lacks = "a class lacks a value" if risk.delta is None else "greatest |ln| of the two shares of a value"
    yield Figure("delta-disclosure", delta, lacks)
    if risk.relative_range is not None:
        yield Figure(
            "least range",
            measured_share(risk.relative_range, ">="),
            "of a class's numbers, beside its largest one: small means that the class tells the number",
        )


def column_rows(found: SinglingOut, n_people: int) -> list[tuple[str, str, str, str]]:
    """Return a row for each quasi-identifier: name, cells, alone without it, share of SUDA scores."""
    return [
        (
            name,
            f"{one.cells:,}",
            _share(one.alone_without / n_people),
            "-" if one.suda_share is None else _share(one.suda_share),
        )
        for name, one in found.columns.items()
    ]


def set_rows(found: SinglingOut) -> list[tuple[str, str]]:
    """Return a row for each smallest set of columns that singles out the most rows."""
    return [(", ".join(one.columns), f"{one.rows:,}") for one in found.sets]


def sets_words(found: SinglingOut) -> str:
    """Say what the table of sets shows, and how many are left out."""
    if found.largest is None:
        return f"Not measured: {found.not_measured}."
    upto = "1 column" if found.largest == 1 else f"up to {found.largest} columns"
    if not found.sets:
        return f"No row is alone with {upto}."
    listed = "all" if found.n_sets == len(found.sets) else f"the first {len(found.sets)} of {found.n_sets}"
    dis = "" if found.dis is None else f" The likeliest match is right at {_share(found.dis)} (DIS-SUDA)."
    return (
        "A row is alone with the values of these columns, and not with fewer of them (minimal sample uniques "
        f"of {upto}, {listed}).{dis}"
    )


COLUMN_HEADS = ("column", "different cells", "alone without it", "share of SUDA scores")
SET_HEADS = ("columns", "rows")
COLUMN_WORDS = (
    "How many are still alone if the attacker does not know the column, and its share of all SUDA scores: "
    "high for a column that singles people out with few others."
)


def _share(value: float) -> str:
    return measured_share(value, "<=")


def _text(value: float) -> str:
    return measured_text(value, "<=")


def _least(value: float) -> str:
    return measured_text(value, ">=")


def table_document(of: AssessedTable) -> dict[str, Any]:
    """Return all figures as JSON values: column names, counts and shares."""
    return {
        "table": of.table,
        "quasi_identifiers": {name: list(columns) for name, columns in of.quasi_identifiers.items()},
        **asdict(of.measures),
    }


def columns_text(of: AssessedTable) -> str:
    """Return the names of the quasi-identifiers, with the two columns of one that has intervals."""
    return ", ".join(
        name if columns == (name,) else f"{name} ({', '.join(columns)})"
        for name, columns in of.quasi_identifiers.items()
    )
