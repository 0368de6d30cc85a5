"""Write the section `source` of a drafted policy: the files, and the steps by which their cells are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from policy.model import Source
from policy.text import number_of
from services.drafting.facts import TableFacts
from services.drafting.guesses import Guess
from services.drafting.sentinels import Sentinels
from services.drafting.steps import Steps
from services.drafting.tables import InputOptions
from services.drafting.yaml_text import listed, scalar
from tasks.intake.encoding import said_of
from tasks.sql import identifier

MOST_NAMED = 4  # columns in a comment


def source_lines(
    facts: TableFacts, guesses: list[Guess], path: str | None, options: InputOptions
) -> Iterator[str]:
    """Yield the section's lines; `path` leads to its tables, None where their names have no period.

    Steps that are certain stand as fields with their reasons; what a spreadsheet may have changed stands as a
    comment, for somebody to look at. Bands are told of quasi-identifiers alone.
    """
    source = facts.source
    yield "source:"
    if path is None:
        yield "  # No period is in the names as --period may be written: give the file of a period with"
        yield "  # --input."
    elif "://" in path:
        yield "  # Address of the table; {period} is replaced by --period. A policy may name it if the owner"
        yield "  # of the store lists it in trusted.yaml; else give it with --input."
        yield f"  path: {scalar(path)}"
    else:
        yield "  # Path of the table, relative to this file; {period} is replaced by --period."
        yield f"  path: {scalar(path)}"
    for field, part in (("sheet", options.sheet), ("table", options.table)):
        if part is not None:
            yield f"  {field}: {scalar(part)}"
    if source.delimiter != ",":
        yield f"  delimiter: {scalar(source.delimiter)}"
    if source.encoding != "utf-8":
        yield "  # The file is not UTF-8: check that accented letters come out right."
        if facts.loaded.readings:
            yield f"  # Others are as likely: {said_of(facts.loaded.readings)}."
        yield f"  encoding: {source.encoding}"
    yield "  # Marks of a missing value. Check that none of them is a real value."
    yield f"  missing: {next(listed(source.missing, ''))}"
    yield from _steps(facts)
    yield from _proposed(guesses, after=bool(source.values))
    yield from _query(facts)
    yield from _zeros(facts)
    yield from _left_out(guesses)
    yield ""


def _steps(facts: TableFacts) -> Iterator[str]:
    steps, source = facts.steps, facts.source
    yield from _unseen(steps, source)
    if source.case:
        yield "  # The same values are written in several cases. Check that the case means nothing."
        yield f"  case: {_mapping({name: scalar(case) for name, case in source.case.items()})}"
    if source.dates:
        yield "  # Dates that are not written as yyyy-mm-dd, commonest format first."
    if steps.either_order:
        yield f"  # In {_named(steps.either_order)}, day and month can be exchanged: check which comes first."
    if source.dates:
        lists = {name: next(listed(formats, "", 1000)) for name, formats in source.dates.items()}
        yield f"  dates: {_mapping(lists)}"
    if steps.marked:
        yield f"  # How numbers are written in {_named(steps.marked)}."
    if steps.doubtful:
        yield f"  # Another notation reads {_named(steps.doubtful)} as other numbers: check their size."
    if source.decimal != ".":
        yield f"  decimal: {scalar(source.decimal)}"
    if source.thousands is not None:
        yield f"  thousands: {scalar(source.thousands)}"
    if source.values:
        yield "  # Other spellings of the same value. Check that they are."
        yield "  values:"
        for name, spellings in source.values.items():
            lists = {value: next(listed(others, "", 1000)) for value, others in spellings.items()}
            yield f"    {scalar(name)}: {_mapping(lists)}"
    if steps.otherwise:
        yield f"  # Numbers in {_named(steps.otherwise)} are written otherwise: correct them by a `query`."


def _unseen(steps: Steps, source: Source) -> Iterator[str]:
    if source.invisible == "removed":
        where = f"cells of {_named(steps.hidden)}" if steps.hidden else "names of columns"
        yield f"  # In {where} are characters that are not shown, or accents apart: they make other values."
        yield "  invisible: removed"
    if source.strip:
        where = f"around cells of {_named(steps.padded)}" if steps.padded else "around names of columns"
        yield f"  # There are blanks {where}."
        yield "  strip: true"


def _query(facts: TableFacts) -> Iterator[str]:
    """Write the query that reads amounts and long codes."""
    steps = facts.steps
    if steps.amounts:
        yield f"  # Amounts in {_named(steps.amounts)} are texts: the query reads them as numbers. Check the"
        yield "  # decimal mark; what is no amount becomes a missing value."
    if steps.unread_amounts:
        yield f"  # Amounts in {_named(steps.unread_amounts)} are texts in several currencies or units:"
        yield "  # convert them to numbers by a `query` (regexp_replace, replace, CAST), and draft again."
    for name, length in steps.shortened.items():
        yield f"  # Most codes of {scalar(name)} are in one row: the query groups them by their beginnings of"
        yield f"  # {number_of(length, 'character')}, as no code that is in one row may be published."
    for name, rounding in steps.rounded.items():
        yield f"  # Most numbers of {scalar(name)} {rounding.why}:"
        yield f"  # the query {rounding.said}."
    if steps.replaced:
        yield query_line(steps)


def query_line(steps: Steps, instead: Mapping[str, str] | None = None) -> str:
    """Return the query that reads columns by SQL, or by other SQL `instead`."""
    return f"  query: {scalar(_replacing({**steps.replaced, **(instead or {})}))}"


def _replacing(sql: Mapping[str, str]) -> str:
    replaced = ", ".join(f"{one} AS {identifier(name)}" for name, one in sql.items())
    return f"SELECT * REPLACE ({replaced}) FROM input"


def _zeros(facts: TableFacts) -> Iterator[str]:
    """Propose the query that gives codes their zeros back."""
    short = {column.name: column.lost_zeros for column in facts.columns if column.lost_zeros is not None}
    if not short:
        return
    codes = {name: f"lpad({identifier(name)}, {n}, '0')" for name, n in short.items()}
    yield f"  # Codes of different length in {_named(short)}: did a spreadsheet remove their leading zeros?"
    instead = " in place of the query above" if facts.steps.replaced else ""
    yield f'  # If so, remove the "# " before `query`{instead}, and correct the values below.'
    yield f"  # query: {scalar(_replacing({**facts.steps.replaced, **codes}))}"


def _proposed(guesses: list[Guess], *, after: bool) -> Iterator[str]:
    """Propose other spellings of values, a line a column, `after` those that are certain."""
    lines = []
    for guess in guesses:
        column = guess.column
        if column.spellings and guess.role == "quasi-identifier":
            values = {band: next(listed(others, "", 1000)) for band, others in column.spellings.items()}
            lines.append(("a spreadsheet may have made dates of bands", _mapping(values), column.name))
        if column.sentinels and guess.role in ("quasi-identifier", "sensitive"):
            lines.append((*_unknown(column.sentinels), column.name))
    if lines:
        yield "  # Look at these values in the table. Where the reason is right, remove `# ` before `values`"
        yield "  # and before the column, and correct the column's values or bounds below."
        if not after:
            yield "  # values:"
    for reason, written, name in lines:
        yield f"  #   {scalar(name)}: {written} # {reason}"


def _unknown(found: Sentinels) -> tuple[str, str]:
    """Return why numbers may say "unknown", and the values that read them so."""
    reason = f'{number_of(found.rows, "row has", "rows have")} a number that often says "unknown"'
    return reason, f'{{"": {next(listed(found.written, "", 1000))}}}'


def _left_out(guesses: list[Guess]) -> Iterator[str]:
    """Say what the columns that are not published would need; of their values only customary ones."""
    lines = []
    for guess in guesses:
        column = guess.column
        if guess.role not in ("dropped", "identifier"):
            continue
        if column.spellings:
            lines.append(f"{scalar(column.name)}: a spreadsheet may have made dates of bands")
        if column.sentinels:
            reason, written = _unknown(column.sentinels)
            lines.append(f"{scalar(column.name)}: {written}, as {reason}")
    if lines:
        yield "  # If you publish one of these columns, which are left out below, add its values here, too:"
        yield from (f"  #   {line}" for line in lines)


def _mapping(items: dict[str, str]) -> str:
    return "{" + ", ".join(f"{scalar(name)}: {written}" for name, written in items.items()) + "}"


def _named(names: Iterable[str]) -> str:
    """Return columns in words, the first few by name."""
    every = [scalar(name) for name in names]
    more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
    return ", ".join(every[:MOST_NAMED]) + more
