"""The measures of utility. A new one is a new file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tasks.utility.discernibility import discernibility
from tasks.utility.forest import forest_accuracy
from tasks.utility.groupable import groups
from tasks.utility.information_loss import information_loss
from tasks.utility.lookups import lookups
from tasks.utility.precision import precision
from tasks.utility.query_accuracy import query_accuracy
from tasks.utility.query_error import query_error
from tasks.utility.released import Released
from tasks.utility.sse import squared_errors

Figures = dict[str, float | None]


@dataclass(frozen=True)
class Measure:
    """A measure: what it returns of a release, by name (None: it has no meaning there), and what it needs."""

    take: Callable[[Released], Figures]
    figures: tuple[str, ...]
    needs: str
    cheap: bool = True


QUERY_FIGURES = tuple(f"error_{kind}{what}" for kind in ("and", "or", "range") for what in ("", "_average"))

MEASURES: dict[str, Measure] = {
    "prec": Measure(
        precision,
        ("prec", "prec_generalized", "prec_suppressed", "prec_mean_level"),
        "cells that hold their people's values; hierarchies and widths, else a cell is kept or generalized",
    ),
    "dm": Measure(discernibility, ("dm", "dm_mean"), "nothing"),
    "queries": Measure(
        query_error,
        QUERY_FIGURES,
        "a numeric quasi-identifier for ranges, a numeric sensitive attribute for averages",
    ),
    "qa": Measure(query_accuracy, ("qa", "qa_touched"), "nothing"),
    "iloss": Measure(
        information_loss,
        ("iloss", "iloss_mean"),
        "hierarchies and widths, else a cell is kept or generalized",
    ),
    "lookups": Measure(
        lookups, ("lookups", "lookups_share", "lookups_by_class"), "hierarchies and widths, as `iloss`"
    ),
    "groups": Measure(
        groups, ("exact_rows", "contiguous_rows", "lost_columns"), "cells that hold their people's values"
    ),
    "sse": Measure(squared_errors, ("sse", "sse_share"), "nothing"),
    "forest": Measure(
        forest_accuracy,
        ("forest", "forest_source", "forest_majority"),
        "a categorical sensitive attribute; takes seconds",
        cheap=False,
    ),
}

CHEAP = tuple(name for name, measure in MEASURES.items() if measure.cheap)
