"""What a draft finds in untidy columns, each kind of mess by itself."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.load import parse_policy
from policy.model import Source
from services.drafting.codes import code_of, lost_zeros
from services.drafting.draft import draft as draft_policy
from services.drafting.facts import ColumnFacts, table_facts
from services.drafting.order import SCALES, order_of
from services.drafting.series import series_of
from services.drafting.spreadsheet import MONTHS, changed_bands
from services.drafting.steps import Steps
from tasks.intake.read import read_table

draft = partial(draft_policy, trial=False)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes columns as a CSV file and returns its path."""

    def _write(columns: Mapping[str, Sequence[str]], name: str = "t.csv", delimiter: str = ",") -> Path:
        path = tmp_path / name
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return path

    return _write


def steps_of(path: Path) -> Steps:
    with table_facts(path) as facts:
        return facts.steps


def column(path: Path, *more: Path) -> ColumnFacts:
    """Return the facts of the first column."""
    with table_facts(path, *more) as facts:
        return facts.columns[0]


# Numbers


@pytest.mark.parametrize(
    ("cells", "delimiter", "decimal", "thousands"),
    [
        (["12,5", "7"], ";", ",", None),
        (["12,5", "7"], ",", ",", None),
        (["12.5", "7"], ",", ".", None),
        (["1.234,5", "7"], ";", ",", "."),
        (["1,234.5", "7"], ",", ".", ","),
        (["1,234", "7"], ",", ".", ","),  # where the comma delimits, it is less often a decimal mark
        (["1,234", "7"], ";", ",", None),
        (["1,234,567", "7"], ";", ".", ","),
        (["1 234,5", "7"], ";", ",", " "),
        (["1\u00a0234,5", "7"], ";", ",", " "),
        (["1'234.5", "7"], ",", ".", "'"),
        (["1,23,4", "7"], ",", ".", None),  # is no number in any notation
        (["1,2 to 3", "7,5"], ";", ".", None),
        (["1.2.2020", "1.3.2020"], ";", ".", None),
    ],
)
def test_the_notation_of_numbers(
    write: Write, cells: list[str], delimiter: str, decimal: str, thousands: str | None
) -> None:
    source = steps_of(write({"x": cells, "y": ["a", "b"]}, delimiter=delimiter)).source
    assert (source.decimal, source.thousands) == (decimal, thousands)


def test_numbers_that_another_notation_reads_otherwise_are_named(write: Write) -> None:
    text = draft(write({"x": ["1,234", "7,345"], "y": ["a", "b"]}, delimiter=";"))
    assert "# Another notation reads x as other numbers: check their size." in text
    assert "Another notation" not in draft(write({"x": ["1,23", "7,3"], "y": ["a", "b"]}, delimiter=";"))


def test_a_column_in_another_notation_than_the_others_is_named(write: Write) -> None:
    steps = steps_of(write({"x": ["1,5", "7"], "y": ["2,5", "7"], "z": ["2.5", "2.25"]}, delimiter=";"))
    assert (steps.source.decimal, steps.marked, steps.otherwise) == (",", ("x", "y"), ("z",))


def test_bounds_are_those_of_the_numbers_that_are_read(write: Write) -> None:
    found = column(write({"x": ["1.234,5", "-7", "0,25"], "y": ["a", "b", "c"]}, delimiter=";"))
    assert (found.numeric, found.low, found.high, found.integer) == (True, -7, 1234.5, False)


# Unknown


@pytest.mark.parametrize(
    "mark", ["n/a", "N/A", "NA", "-", "--", "?", "unknown", "Unknown", "NULL", "nan", "#N/A", "#DIV/0!", "."]
)
def test_marks_of_unknown_are_found_as_they_are_written(write: Write, mark: str) -> None:
    path = write({"x": ["1", mark, "3", "4"]})
    assert steps_of(path).source.missing == ("", mark)
    assert (column(path).known, column(path).numeric) == (3, True)


@pytest.mark.parametrize("value", ["none", "None", "not applicable", "0", "n", "--5"])
def test_what_may_be_a_value_is_no_mark_of_unknown(write: Write, value: str) -> None:
    assert steps_of(write({"x": ["1", value, "3"]})).source.missing == ("",)


@pytest.mark.parametrize(
    ("usual", "unusual", "found"),
    [
        (range(20, 40), ["9999"] * 5, ("9999",)),
        (range(20, 40), ["-1"] * 5, ("-1",)),
        (range(20, 40), ["-9"] * 5 + ["999"] * 5, ("-9", "999")),
        (range(20, 40), ["9999"] * 4, ()),  # too few rows: it may be a person's
        (range(9000, 9999), ["9999"] * 5, ()),  # is not far from the others
        (range(-20, 20), ["-1"] * 5, ()),
        (range(20, 22), ["9999"] * 5, ()),  # two others have no range to speak of
        (range(20, 40), ["9998"] * 5, ()),
    ],
)
def test_customary_numbers_for_unknown(
    write: Write, usual: range, unusual: list[str], found: tuple[str, ...]
) -> None:
    sentinels = column(write({"x": [*map(str, usual), *unusual]})).sentinels
    assert (sentinels.written if sentinels else ()) == found


# Blanks and case


def test_blanks_around_cells_and_names_are_found(write: Write) -> None:
    assert steps_of(write({"x": ["a", "b"]})).source.strip is False
    padded = steps_of(write({"x": ["a", " b"], "y": ["a b", "b"]}))
    assert (padded.source.strip, padded.padded) == (True, ("x",))
    named = steps_of(write({" x": ["a", "b"]}))
    assert (named.source.strip, named.padded) == (True, ())
    assert "# There are blanks around names of columns." in draft(write({" x": ["a", "b"]}))


@pytest.mark.parametrize(
    ("cells", "case"),
    [
        (["Male", "male", "MALE", "female"], "lower"),
        (["E11.9", "e11.9", "I10", "I10"], "upper"),
        (["male", "female", "male", "female"], None),
        (["aB", "Ab", "c", "d"], None),  # hardly repeats: an identifier may mean its case
    ],
)
def test_case_that_means_nothing(write: Write, cells: list[str], case: str | None) -> None:
    assert steps_of(write({"x": cells})).source.case.get("x") == case


# Dates


@pytest.mark.parametrize(
    ("cells", "formats", "either"),
    [
        (["2020-01-02", "1999-12-31"], (), False),
        (["1.2.2020", "31.12.1999"], ("%d.%m.%Y",), False),
        (["1/2/2020", "31/12/1999"], ("%d/%m/%Y",), False),
        (["1/2/2020", "12/31/1999"], ("%m/%d/%Y",), False),
        (["1/2/2020", "12/11/1999"], ("%d/%m/%Y",), True),
        (["1/2/2020", "12/31/1999", "31/12/1999"], ("%d/%m/%Y", "%m/%d/%Y"), True),
        (["1.2.2020", "2.3.2020", "1999-12-31"], ("%d.%m.%Y", "%Y-%m-%d"), False),
        (["1-Mar-2020", "2-Apr-2020"], ("%d-%b-%Y",), False),
        (["1.2.2020", "2.3.2020", "43891"], ("%d.%m.%Y", "serial"), False),
        (["20200102", "19991231"], ("%Y%m%d",), False),
        (["1. 2. 2020", "31. 12. 1999"], ("%d. %m. %Y",), False),
        (["01.02.2020.", "31.12.1999."], ("%d.%m.%Y.",), False),
        (["2020.02.01.", "1999.12.31."], ("%Y.%m.%d.",), False),
        (["2020. 02. 01.", "1999. 12. 31."], ("%Y. %m. %d.",), False),
        (["01.Feb.2020", "31.Dec.1999"], ("%d.%b.%Y",), False),
        (["1.2.2020", "1-Mar", "Mar-01"], (), False),  # most are no dates
        (["1.2.20", "31.12.99"], (), False),  # of which century is not known
    ],
)
def test_formats_of_dates(write: Write, cells: list[str], formats: tuple[str, ...], either: bool) -> None:
    steps = steps_of(write({"x": cells}))
    assert steps.source.dates.get("x", ()) == formats
    assert bool(steps.either_order) == either


@pytest.mark.parametrize(
    "form",
    ["{0}.{1}.{3}", "{0}.{1}.{2} 14:30", "{0}/{1}/{2} 14:30:00", "{0}. Januar {2}", "{1}/{2}", "{1}.{2}"],
)
def test_dates_that_no_step_reads_are_told_with_what_helps(write: Write, form: str) -> None:
    days = [
        (day, month, year, year % 100)
        for day in range(10, 29)
        for month in range(1, 13)
        for year in (1999, 2020)
    ]
    cells = [form.format(f"{day:02}", f"{month:02}", year, f"{short:02}") for day, month, year, short in days]
    ages = [str(20 + i % 40) for i in range(len(cells))]
    text = draft(write({"x": cells, "age": ages, "illness": ["flu", "none"] * (len(cells) // 2)}))
    assert "    - x # dates that no step reads" in text
    assert "write them as yyyy-mm-dd, in the input or by a `query`" in text


def test_dates_are_told_by_their_format_and_years(write: Write) -> None:
    found = column(write({"x": ["1.2.2020", "31.12.1999", "1-Mar"]}))
    assert (found.dates, found.date_format, found.years) == (True, "%d.%m.%Y", (1999, 2020))


# Spreadsheets


@pytest.mark.parametrize(
    ("values", "bands"),
    [
        (["0-10", "20-30", "20-Oct"], {"10-20": ("20-Oct",)}),
        (["0-10%", "20-30%", "Oct-20"], {"10-20%": ("Oct-20",)}),
        (["0-10%", "20-30%", "10-20"], {"10-20%": ("10-20",)}),
        (["0-10%", "20-30%", "10-20%", "20-oct"], {"10-20%": ("20-oct",)}),
        (["4-7", "8-14", "3-Jan", "Mar-01", "43891"], {"1-3": ("3-Jan", "43891", "Mar-01")}),
        (["0-10", "20-30"], {}),
        (["20-Oct", "21-Oct", "22-Oct"], {}),  # days, as far as can be told
        (["0-10", "20-30", "20-Foo", "12345"], {}),
    ],
)
def test_bands_that_became_dates(values: list[str], bands: dict[str, tuple[str, ...]]) -> None:
    assert changed_bands(values) == bands


@given(st.integers(1, 11), st.integers(1, 28), st.booleans())
def test_a_band_that_became_a_date_is_what_it_was(low: int, more: int, day_first: bool) -> None:
    high = min(low + more, 31)
    month, day = MONTHS[low - 1].title(), high
    changed = f"{day}-{month}" if day_first else f"{month}-{day}"
    assert changed_bands(["40-50", "50-60", changed]) == {f"{low}-{high}": (changed,)}


def test_spellings_that_are_proposed_are_valid_in_a_policy() -> None:
    bands = changed_bands(["0-10%", "20-30%", "10-20%", "10-20", "20-Oct", "Oct-20"])
    assert Source(values={"x": dict(bands)}).values["x"] == {"10-20%": ("10-20", "20-Oct", "Oct-20")}


@pytest.mark.parametrize(
    ("name", "values", "digits"),
    [
        ("plz", ["1067", "10115"], 5),
        ("plz", ["01067", "10115"], None),
        ("zip", ["501", "10115"], 5),
        ("zip", ["5", "10115"], None),
        ("height", ["1067", "10115"], None),
        ("zip", ["1067", "AB1 2CD"], None),
    ],
)
def test_codes_that_lost_their_zeros(name: str, values: list[str], digits: int | None) -> None:
    assert lost_zeros({name}, values) == digits


# Amounts


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["$55,563.04", "-$374.85", "$7"], [55563.04, -374.85, 7]),
        (["(1,200.00)", "300.50", "12.00"], [-1200, 300.5, 12]),
        (["1.200,50 \u20ac", "-3 \u20ac", "12,5 \u20ac"], [1200.5, -3, 12.5]),
        (["EUR 1.200", "EUR 300", "EUR 40.000"], [1200, 300, 40000]),
        (["12.5%", "3 %", "-4%"], [12.5, 3, -4]),
        (["3.450,00 \u20ac", "975,50 EUR", "1.200,00\u00a0Euro"], [3450, 975.5, 1200]),
        (["3.450,- \u20ac", "-975,50 \u20ac", "1.200,\u2013 \u20ac"], [3450, -975.5, 1200]),
        (["Fr. 3\u2019450.50", "CHF 975.\u2014", "CHF 1'200.00"], [3450.5, 975, 1200]),
        (["3 450,00 z\u0142", "975,50 z\u0142", "1\u00a0200,00 PLN"], [3450, 975.5, 1200]),
        (["kr. 3.450,00", "975,50 kr", "kr 1.200"], [3450, 975.5, 1200]),
    ],
)
@pytest.mark.by_day(4)
def test_amounts_with_a_currency_are_numbers_that_the_policy_reads(
    write: Write, tmp_path: Path, cells: list[str], numbers: list[float]
) -> None:
    rows = 30
    table = write(
        {
            "pay": cells * rows,
            "age": [str(20 + i % 40) for i in range(3 * rows)],
            "illness": [("flu", "none", "gout")[i // 3 % 3] for i in range(3 * rows)],
        }
    )
    policy = parse_policy(draft(table), tmp_path / "p.yaml")
    assert policy.roles.sensitive["pay"].type == "categorical"  # of three values
    read = read_table(policy, input_path=table, period="1", base=tmp_path)
    assert [float(one) for one in read.frame["pay"][:3]] == numbers


@pytest.mark.parametrize(
    "cells",
    [
        ["$1,000", "500 EUR"],
        ["$10k", "$2m"],
        ["3,1 T\u20ac", "21 Tsd. EUR"],
        ["1.250,00 \u20ac/Monat", "91 EUR"],
    ],
)
def test_amounts_that_no_query_reads_are_left_out_and_told(write: Write, cells: list[str]) -> None:
    numbers = [cell.replace("1", str(i)) for i, cell in enumerate(cells * 60, 1)]
    text = draft(write({"pay": numbers, "age": [str(20 + i % 40) for i in range(120)]}))
    assert "- pay # amounts as text: convert them to numbers" in text
    assert "# Amounts in pay are texts in several currencies or units:" in text


@pytest.mark.parametrize(
    "cells",
    [
        ["0-10%", "10-20%", "90-100%"],
        [f"{n}.000 bis {n + 1}.000 \u20ac" for n in range(40)],
        [f"{n} ft" for n in range(40)],
    ],
)
def test_a_band_is_no_amount(write: Write, cells: list[str]) -> None:
    with table_facts(write({"x": cells})) as facts:
        assert (facts.steps.amounts, facts.steps.unread_amounts) == ((), ())


# Codes and order


@pytest.mark.parametrize(
    ("name", "values", "code"),
    [
        ("plz", ["01067", "10115"], "postal"),
        ("postcode", ["SW1A 1AA", "M1 1AE"], "postal"),
        ("icd", ["E11.9", "I10"], "icd-10"),
        ("reason", ["E11.9", "I10.1", "C50.9", "F32"], "icd-10"),
        ("seat", ["A12", "B07"], None),
        ("occupation", ["2211", "5223"], "occupation"),
        ("soc", ["29-1141", "15-1252"], "occupation"),
        ("article", ["AB100", "AB200", "CD100", "CD110"], "prefix"),
        ("article", ["AB100", "AB20", "CD100", "CD110"], None),
        ("year", ["1999", "1998", "2000", "2001"], None),
        ("sex", ["male", "female"], None),
        ("x", [], None),
    ],
)
def test_codes(name: str, values: list[str], code: str | None) -> None:
    assert code_of({name}, values) == code


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["55<=", "0-35", "35-55"], ("0-35", "35-55", "55<=")),
        (["65+", "<18", "18-64"], ("<18", "18-64", "65+")),
        (["over 100", "20-30", "100-100", "3-20"], ("3-20", "20-30", "100-100", "over 100")),
        (["20-30%", "0-10%", "20-Oct"], ("0-10%", "20-Oct", "20-30%")),
        (["high", "Low", "medium"], ("Low", "medium", "high")),
        (["HE Qualification", "no formal quals", "A"], None),
        (["Masters", "HS-grad", "11th"], ("11th", "HS-grad", "Masters")),
        (["red", "green", "blue"], None),
        (["low", "high"], None),  # two values have no order that helps
        (["30-20", "0-10", "10-20"], None),
        (["low", "medium", "tall"], None),
        (["65 or older", "under 18", "18 to 24", "25-64"], ("under 18", "18 to 24", "25-64", "65 or older")),
        (["80 years and over", "5", "<5", "6 - 79"], ("<5", "5", "6 - 79", "80 years and over")),
        (
            ["Age 50 or more", "Age 20-49", "19 and younger"],
            ("19 and younger", "Age 20-49", "Age 50 or more"),
        ),
        (["$5,000 - $9,999", "$10,000+", "<$5,000"], ("<$5,000", "$5,000 - $9,999", "$10,000+")),
        (["70+", "refused", "0-9", "10-69"], ("0-9", "10-69", "70+", "refused")),
        (["70+", "x1", "0-9", "10-69"], None),
        (["70+", "a", "b", "c", "0-9", "10-69"], None),
        (["12-1001", "12-1002", "13-2001", "13-2002"], None),  # codes
        (["Main St 1-3", "Oak St 5", "Elm St 7-9"], None),
        (["A1-B2", "A3-B4", "A5-B6"], None),
        (["0-6 months", "1-2 years", "3+"], None),  # years or months?
        (["1-2 cats", "3-4 dogs", "5 cats"], None),
    ],
)
def test_orders(values: list[str], order: tuple[str, ...] | None) -> None:
    assert order_of(values) == order


@pytest.mark.parametrize(
    "order",
    [
        "<1 year, 1-4 years, 5-9 years, 10-19 years, 80 years or more",
        "0-27 days, 28 days-11 months, 1-4 years, 5-9 years, 10 years and over",
        "1-4 years, 5-9 years, 10-19, 100+",
        "no children, 1 child, 2-3 children, 10+ children",
        "1-9 employees, 10-49 employees, 50-249 employees, 250 or more employees, no answer",
        "no more than 5, 6-10, 11-20, not less than 100",
        "up to 1 000, 1 001-5 000, 5 001-10 000, over 50 000",
        "up to 1\u202f000, 1\u202f001\u20135\u202f000, 5\u00a0001-10\u00a0000, over 50 000",
        "bis 500, 501 bis 1.000, 1.001 bis 5.000, über 5.000",
        "< CHF 1'000, CHF 1'000\u20134'999, CHF 5\u2019000 \u2013 9\u2019999, ≥ CHF 10'000",
        "none, up to £5k, £5-10k, £10k-£500k, £500k-£1 million, >£1 million",
        "unter 20, 20 bis unter 30, 30 bis unter 40, 90 und älter, keine Angabe",
        "moins de 5 ans, 5-9 ans, de 10 à 14 ans, 65 ans et plus",
        "menos de 20 años, 20 a 29 años, 30 a 39 años, mayores de 100",
        "fino a 4 anni, da 5 a 9 anni, da 10 a 19 anni, oltre 20 anni",
        "até 4 anos, 5 a 9 anos, 10 a 19 anos, 65 anos ou mais",
        "jonger dan 5 jaar, 5 tot 10 jaar, 10 tot 20 jaar, 80 jaar of ouder",
        "do 4 lat, 5-9 lat, 10-19 lat, 80 lat i więcej",
        "do 4 let, 5 až 9 let, 10 až 19 let, 80 let a více",
        "5 év alatt, 5-9 év, 10-19 év, 80 éves vagy idősebb",
        "under 5 år, 5-9 år, 10-19 år, 80 år eller äldre",
    ],
)
def test_bands_with_words_units_and_marks_have_an_order(order: str) -> None:
    values = tuple(order.split(", "))
    assert order_of(sorted(values)) == order_of(sorted(values, reverse=True)) == values


@pytest.mark.parametrize(
    "values",
    [
        ["unter 1,5", "1,5-2,5", "2,5-3,125", "ab 3,125"],
        ["(-inf, 5.0]", "(5.0, 10.0]", "(10.0, 100.0]", "(100.0, inf]"],
        ["[5,10)", "[10,20)", "[100,200)"],
    ],
)
def test_commas_are_marks_of_decimals_or_between_the_ends(values: list[str]) -> None:
    assert order_of(sorted(values)) == tuple(values)


@given(
    st.lists(st.integers(0, 10**7), min_size=4, max_size=9, unique=True).map(sorted),
    st.sampled_from([" ", "\u202f", "\u00a0", "'", "\u2019", ".", ","]),
    st.sampled_from(
        [
            ("under {} years", "{} to {} years", "{} years or more"),
            ("unter {}", "{} bis unter {}", "{} und mehr"),
            ("moins de {} ans", "{}-{} ans", "{} ans et plus"),
            ("< {} €", "{} \u2013 {} €", "> {} €"),
        ]
    ),
    st.randoms(),
)
def test_bands_are_in_the_order_of_their_numbers_however_they_are_written(
    cuts: list[int], mark: str, words: tuple[str, str, str], rng: random.Random
) -> None:
    below, between, above = words
    shown = [f"{cut:,}".replace(",", mark) for cut in cuts]
    order = [
        below.format(shown[0]),
        *(between.format(*pair) for pair in pairwise(shown)),
        above.format(shown[-1]),
    ]
    assert order_of(rng.sample(order, len(order))) == tuple(order)


def test_bands_of_years_that_begin_alike_are_no_codes(write: Write) -> None:
    bands = tuple(f"{year}-{year + 9}" for year in range(1950, 2000, 10))
    assert code_of({"born"}, bands) == "prefix"
    found = column(write({"born": [*bands]}))
    assert (found.order, found.code) == (bands, None)


@given(st.sampled_from(SCALES), st.data())
def test_part_of_a_scale_has_an_order_of_a_scale(scale: tuple[str, ...], data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from(scale), min_size=3, unique=True))
    found = order_of(values)
    assert found is not None
    assert sorted(found) == sorted(values)
    assert any(found == tuple(sorted(values, key=one.index)) for one in SCALES if set(values) <= set(one))


def test_an_order_is_only_of_few_values(write: Write) -> None:
    assert column(write({"x": ["0-10", "20-30", "10-20"]})).order == ("0-10", "10-20", "20-30")
    assert column(write({"x": [f"{n}-{n + 1}" for n in range(60)]})).order is None


# Several tables


@pytest.mark.parametrize(
    ("names", "series", "file"),
    [
        (["r-2026Q1.csv", "r-2026Q2.csv"], "r", "r-{period}.csv"),
        (["s_2013B.csv", "s_2013J.csv", "s_2014B.csv"], "s", "s_{period}.csv"),
        (["s_2013B.csv", "s_2014B.csv"], "s", "s_{period}.csv"),
        (["2019.csv.gz", "2020.csv.gz"], "series", "{period}.csv.gz"),
        (["2019-ward.csv", "2020-ward.csv"], "ward", "{period}-ward.csv"),
        (["a.csv", "b.csv"], "series", "{period}.csv"),
        (["a (1).csv", "b.csv"], "series", None),
        (["same.csv", "same.csv"], "same", None),
        (["c-2020-04-14.csv", "c-2020-05-14.csv"], "c", "c-{period}.csv"),
        (["c-2020-04-14.csv", "c-2020-04-17.csv", "c-2020-05-01.csv"], "c", "c-{period}.csv"),
        (["c-2020-04-14.csv"], "c", "c-{period}.csv"),
        (["c20200414-x.csv"], "c-x", "c{period}-x.csv"),
        (["c_2013B.csv"], "c", "c_{period}.csv"),
        (["r.2021-H1.csv", "r.2021-H2.csv"], "r", "r.{period}.csv"),
        (["r.2021.csv.gz"], "r", "r.{period}.csv.gz"),
        (["c_2013Bio.csv"], "c_Bio", "c_{period}Bio.csv"),
        (["survey Jan 2025.csv"], "survey", None),
        (["survey Jan 2025.csv", "survey Feb 2025.csv"], "survey", None),
        (["survey_Jan2025.csv", "survey_Feb2026.csv"], "survey", "survey_{period}.csv"),
        (["2025-m\u00e4rz lohn.csv"], "lohn", None),
        (["survey_jan.csv"], "survey", "survey_{period}.csv"),
        (["survey_jun.csv", "survey_jul.csv"], "survey", "survey_{period}.csv"),
        (["survey_january.csv", "survey_june.csv", "survey_july.csv"], "survey", "survey_{period}.csv"),
        (["mayor_data.csv"], "mayor_data", "mayor_data.csv"),
    ],
)
def test_the_period_is_where_the_names_differ(names: list[str], series: str, file: str | None) -> None:
    assert series_of(names) == (series, file)


def test_counts_of_several_tables_are_of_people_in_each(write: Write) -> None:
    first = write({"id": ["1", "2", "3"], "x": ["a", "", "a"]}, "t-1.csv")
    second = write({"id": ["3", "4"], "x": ["b", "b"]}, "t-2.csv")
    with table_facts(first, second) as facts:
        key, x = facts.columns
        assert (facts.tables, facts.rows, facts.fewest_rows) == (2, 5, 2)
    assert (key.distinct, key.repeats, key.unique) == (4, False, True)
    assert (x.distinct, x.repeats, x.missing_share, x.largest_missing_share) == (
        2,
        True,
        pytest.approx(0.2),
        pytest.approx(1 / 3),
    )


def test_values_of_all_tables_are_listed(write: Write) -> None:
    first = write({"sex": ["f", "m"] * 4, "disease": ["a", "b"] * 4}, "t-1.csv")
    second = write({"sex": ["x"] * 8, "disease": ["c", "d"] * 4}, "t-2.csv")
    text = draft(first, second)
    policy = parse_policy(text, Path("t.yaml"))
    assert set(policy.roles.categorical["sex"].allowed or ()) == {"f", "m", "x"}
    assert "# A policy drafted from 2 tables of 16 rows and 2 columns." in text
    assert "# The smallest table has 8 rows; fewer than half of them stop a run." in text


def test_names_without_a_period_are_told(write: Write) -> None:
    first, second = (write({"x": ["1", "2"]}, name) for name in ("a (1).csv", "b.csv"))
    text = draft(second, first)
    assert "# No period is in the names as --period may be written: give the file of a period with" in text
    assert "order in which they were given, as no period of time is in all their names" in text
    assert text.index("b.csv") < text.index("a (1).csv")
