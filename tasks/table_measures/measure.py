"""All measures of one table: models, risks, uniqueness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tasks.table_measures.combinations import (
    PartialKnowledge,
    SinglingOut,
    partial_knowledge,
    singling_out,
)
from tasks.table_measures.counts import count_values
from tasks.table_measures.disclosure import SensitiveRisk, sensitive_risk
from tasks.table_measures.identity import IdentityRisk, PopulationRisk, identity_risk, population_risk
from tasks.table_measures.rows import CodedTable, row_classes


@dataclass(frozen=True)
class TableMeasures:
    """What was measured of one table: column names, counts and shares, and no cell."""

    identity: IdentityRisk
    population: PopulationRisk | None
    singling_out: SinglingOut
    sensitive: dict[str, SensitiveRisk]
    partial_knowledge: tuple[PartialKnowledge, ...]


@dataclass(frozen=True)
class AssessedTable:
    """A file's name, what was measured, and each quasi-identifier's columns: one, or two of intervals."""

    table: str
    quasi_identifiers: Mapping[str, tuple[str, ...]]
    measures: TableMeasures


def measure_table(table: CodedTable) -> TableMeasures:
    """Measure a table of at least one row and one quasi-identifier.

    Cost: O(n log n), and O(n) for each combination of few columns, up to a limit. Raises ValueError where the
    weights cannot be added up.
    """
    classes = row_classes(table)
    population = population_risk(table, classes)
    fraction = population.sampling_fraction if population and population.sampling_fraction <= 1 else None
    counts = {
        name: count_values(classes.own, value, table.unit, int(value.max()) + 1)
        for name, value in table.sensitive.items()
    }
    return TableMeasures(
        identity=identity_risk(table, classes),
        population=population,
        singling_out=singling_out(table, classes, fraction),
        sensitive={
            name: sensitive_risk(table, classes, each, table.numbers.get(name))
            for name, each in counts.items()
        },
        partial_knowledge=partial_knowledge(table, classes, counts),
    )
