"""The page of one table that was assessed without a policy: it opens anywhere and asks for nothing."""

from __future__ import annotations

from policy.text import number_of
from reports.pages import inline_head, render
from reports.pictures import pictures_of
from reports.table_wording import (
    COLUMN_HEADS,
    COLUMN_WORDS,
    LIMITS,
    SET_HEADS,
    column_rows,
    columns_text,
    figure_groups,
    set_rows,
    sets_words,
)
from tasks.table_measures.measure import AssessedTable

SCRIPTS = ("page.js", "vega.js", "charts.js")


def table_page(of: AssessedTable) -> bytes:
    """Return the page; equal measures give equal bytes."""
    measures = of.measures
    identity = measures.identity
    figures = {"classes": {**identity.classes, "records": identity.people}}
    return render(
        "table.html",
        inline_head(*SCRIPTS),
        of=of,
        columns_text=columns_text(of),
        sensitive=", ".join(measures.sensitive) or "none named",
        summary=_summary(of),
        tiles=_tiles(of),
        groups=figure_groups(measures),
        pictures=pictures_of([], figures).cost,
        column_heads=COLUMN_HEADS,
        column_words=COLUMN_WORDS,
        columns=[
            (*row, measures.singling_out.columns[row[0]].suda_share)
            for row in column_rows(measures.singling_out, identity.people)
        ],
        set_heads=SET_HEADS,
        sets=set_rows(measures.singling_out),
        sets_words=sets_words(measures.singling_out),
        limits=LIMITS,
    ).encode()


def _summary(of: AssessedTable) -> list[str]:
    """Return the first sentences of the page: what matters most, in plain words."""
    identity = of.measures.identity
    noun = ("row",) if identity.people == identity.rows else ("person", "people")
    alone = identity.people_in_classes_under["2"]
    said = [
        f"{number_of(alone, *noun)} of {identity.people:,} can be singled out by somebody who knows all "
        "quasi-identifiers."
        if alone
        else f"Nobody is alone in a class: everybody hides among {identity.classes['least']:,} or more."
    ]
    for name, risk in of.measures.sensitive.items():
        said.append(
            f"The value of {name} is certain for {number_of(risk.certain_people, *noun)} to somebody who "
            "finds their class."
            if risk.certain_people
            else f"In no class is the value of {name} the same for all."
        )
    return said


def _tiles(of: AssessedTable) -> list[tuple[str, str]]:
    figures = {one.name: one.value for group in figure_groups(of.measures) for one in group.figures}
    names = ("rows", "equivalence classes", "smallest class", "k-anonymity", "alone in the class")
    return [(name, figures[name]) for name in names] + [
        ("risk, highest", figures["prosecutor, highest"]),
        ("risk, average", figures["prosecutor, average"]),
    ]
