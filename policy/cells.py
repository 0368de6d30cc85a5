"""The steps by which the cells of an untidy table are read: their types, and what a step may say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

# Fields of `source`, in their order.
STEPS = ("invisible", "strip", "case", "values", "dates", "decimal", "thousands")
SERIAL = "serial"  # a spreadsheet's number of a day: days since 1899-12-30
_DIRECTIVES = ("%d", "%m", "%b", "%Y")


def _is_date_format(written: str) -> str:
    """Refuse a format that does not give one day of one year."""
    found = re.findall(r"%.", written)
    day, year, months = (sum(found.count(one) for one in group) for group in (("%d",), ("%Y",), ("%m", "%b")))
    rest = re.sub("|".join(_DIRECTIVES), "", written)
    if written == SERIAL or (day == year == months == 1 and re.fullmatch(r"[-./, ]*", rest)):
        return written
    raise ValueError(
        f"'{written[:30]}' is no format of a date: write %d, %Y and one of %m and %b with - . / , or a blank "
        f"between them, or {SERIAL}"
    )


def _each_has_one_value(
    columns: dict[str, dict[str, tuple[str, ...]]],
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Refuse a spelling of two values of a column, or of one that is a value itself."""
    for column, values in columns.items():
        spellings = [one for others in values.values() for one in others]
        for one in spellings:
            if spellings.count(one) > 1 or one in values:
                raise ValueError(f"{column}: the spelling '{one[:30]}' stands twice, or is a value too")
    return columns


Case = Literal["lower", "upper"]
DateFormats = Annotated[tuple[Annotated[str, AfterValidator(_is_date_format)], ...], Field(min_length=1)]
Spellings = Annotated[dict[str, dict[str, tuple[str, ...]]], AfterValidator(_each_has_one_value)]
DecimalMark = Literal[".", ","]
ThousandsMark = Literal[".", ",", " ", "'"]


def columns_of_steps(
    case: Mapping[str, object], values: Mapping[str, object], dates: Mapping[str, object]
) -> list[tuple[str, str]]:
    """Return the fields that name columns, each with a column that it names."""
    fields = {"case": case, "values": values, "dates": dates}
    return [(field, column) for field, named in fields.items() for column in named]
