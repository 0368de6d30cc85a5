"""Drafting a policy from a table: what is guessed, what is left to a person, and what never stands in it."""

from __future__ import annotations

import csv
import gzip
import re
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from stdnum import luhn

from policy.categorical import CodeQuasiIdentifier, DateQuasiIdentifier
from policy.errors import InputError, PolicyError, UsageError
from policy.load import parse_policy
from policy.model import ReleasePolicy
from policy.roles import NumericQuasiIdentifier
from policy.text import BLANKS, number_of, one_spelling
from services.drafting.draft import UNDECIDED
from services.drafting.draft import draft as draft_policy
from services.drafting.guesses import SENSITIVE_WORDS
from tasks.intake.column_words import words_of
from tasks.risk.attacks.personal_numbers import is_german_insured

draft = partial(draft_policy, trial=False)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes columns as a CSV file and returns its path."""

    def _write(columns: dict[str, list[str]], name: str = "table.csv", delimiter: str = ",") -> Path:
        path = tmp_path / name
        _write_csv(path, columns, delimiter)
        return path

    return _write


def _write_csv(path: Path, columns: dict[str, list[str]], delimiter: str = ",") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _policy(table: Path) -> ReleasePolicy:
    return parse_policy(draft(table), table.with_suffix(".yaml"))


def _register(rows: int = 100) -> dict[str, list[str]]:
    """A table in which every role occurs; every cell that must not be told starts with CANARY."""
    numbers = range(rows)
    return {
        "patient_id": [f"CANARY-key-{i}" for i in numbers],
        "family_name": [f"CANARY-name-{i}" for i in numbers],
        "remarks": [f"CANARY-remark-{i}" for i in numbers],
        "age": [str(18 + i % 60) for i in numbers],
        "sex": ["female" if i % 2 else "male" for i in numbers],
        "postcode": [f"0{1000 + i % 7}" for i in numbers],
        "smoker": ["yes" if i % 3 else "no" for i in numbers],
        "diagnosis": [f"CANARY-diagnosis-{i % 5}" for i in numbers],
        "monthly_income": [str(987_000 + i % 40 * 13) for i in numbers],
        "reading": [str(987_000.5 + i) for i in numbers],
        "constant": ["CANARY-same" for _ in numbers],
    }


def test_each_column_gets_the_role_that_its_name_and_counts_suggest(write: Write) -> None:
    roles = _policy(write(_register())).roles
    assert roles.key == "patient_id"
    assert roles.identifiers == ("family_name", "remarks")
    assert list(roles.quasi_identifiers) == ["age", "sex", "postcode", "smoker"]
    assert list(roles.sensitive) == ["diagnosis", "monthly_income"]
    assert roles.dropped == ("reading", "constant")
    assert roles.kept == ()


def test_a_diagnosis_is_stable_and_an_income_is_a_transient_number(write: Write) -> None:
    sensitive = _policy(write(_register())).roles.sensitive
    assert (sensitive["diagnosis"].stability, sensitive["diagnosis"].type) == ("stable", "categorical")
    assert (sensitive["monthly_income"].stability, sensitive["monthly_income"].type) == (
        "transient",
        "numeric",
    )


def test_amounts_of_one_person_each_are_left_out_where_something_else_is_sensitive(write: Write) -> None:
    single = {**_register(), "monthly_income": [str(987_000 + i * 13) for i in range(100)]}
    table = write(single)
    roles = _policy(table).roles
    assert list(roles.sensitive) == ["diagnosis"]
    assert "monthly_income" in roles.dropped
    assert "100 distinct values in 100 rows identify people, which the gate `unique` blocks" in draft(table)
    del single["diagnosis"]
    alone = write(single, "alone.csv")
    assert list(_policy(alone).roles.sensitive) == ["monthly_income"]
    assert "Most numbers of monthly_income are in one row" in draft(alone)
    assert 'AS BIGINT) AS "monthly_income"' in (_policy(alone).source.query or "")


def test_numbers_get_bounds_and_codes_get_values(write: Write) -> None:
    columns = _policy(write(_register())).roles.quasi_identifiers
    age, postcode = columns["age"], columns["postcode"]
    assert isinstance(age, NumericQuasiIdentifier)
    assert (age.type, age.bounds, age.moves) == ("integer", (15, 80), (0, 1))
    assert isinstance(postcode, CodeQuasiIdentifier)
    assert postcode.values == tuple(f"0{1000 + i}" for i in range(7))
    assert postcode.prefixes == (4, 3, 2, 1)


def test_no_key_identifier_sensitive_or_dropped_cell_stands_in_the_draft(write: Write) -> None:
    text = draft(write(_register()))
    assert "CANARY" not in text
    assert "987" not in text


def test_values_of_a_quasi_identifier_are_listed_up_to_50(write: Write) -> None:
    table = write(
        {
            "city": [f"city {i % 50}" for i in range(200)],
            "town": [f"town {i % 51}" for i in range(200)],
            "disease": [f"d{i % 4}" for i in range(200)],
        }
    )
    columns = _policy(table).roles.categorical
    assert set(columns["city"].allowed or ()) == {f"city {i}" for i in range(50)}
    assert columns["town"].allowed is None
    assert "51 rare values" in draft(table)
    assert "town 1" not in draft(table)


def test_no_column_name_is_mistaken_for_a_word_of_the_queries(write: Write) -> None:
    rows = {name: ["a", "b", "", "b"] for name in ("V", "x", "n", "cells", "name_", 'quo"te', "distinct")}
    rows["disease"] = ["b", "b", "b", ""]
    rows["disease b"] = ["c", "d", "b", "b"]
    text = draft(write(rows))
    assert all(qi.allowed == ("a", "b") for qi in parse_policy(text, Path("x")).roles.categorical.values())
    assert "3 distinct values, the most frequent in 2 rows" in text


def test_every_guess_is_explained_in_a_comment(write: Write) -> None:
    text = draft(write(_register()))
    for why in (
        "unique in every row, and named like a key",
        "its name says 'name'",
        "nearly unique text: 100 distinct values in 100 rows",
        "its name says 'age'",
        "only 2 distinct values: it may be known of a person, or be sensitive",
        "its name says 'diagnosis'; 5 distinct values, the most frequent in 20 rows",
        "1 distinct value: it carries no information",
    ):
        assert why in text


def test_a_table_without_a_recognised_sensitive_attribute_is_left_undecided(write: Write) -> None:
    columns = _register()
    del columns["diagnosis"], columns["monthly_income"]
    with pytest.raises(PolicyError) as refused:
        _policy(write(columns))
    message = str(refused.value)
    assert "roles.sensitive.DECIDE" in message
    assert "DECIDE: name the sensitive column, and say stable or transient" in message
    text = draft_policy(write(columns))
    for line in (
        "# These limits are usual ones: nothing was measured, because a line above is marked DECIDE.",
        "# These limits are usual ones, as no sensitive attribute was recognised. Once one is named,",
        "# First replace the lines that are marked DECIDE: before, the policy does not load.",
    ):
        assert line in text.splitlines()


def test_a_table_without_a_quasi_identifier_is_left_undecided(write: Write) -> None:
    with pytest.raises(PolicyError, match=r"roles\.quasi_identifiers\.DECIDE(.|\n)*others may know"):
        _policy(write({"disease": ["a", "b", "c"]}))


def test_an_undecided_draft_loads_once_a_person_has_decided(write: Write) -> None:
    text = draft(write({"age": [str(i) for i in range(30)], "answer": [f"a{i % 3}" for i in range(30)]}))
    document = yaml.safe_load(text)
    assert list(document["roles"]["sensitive"]) == [UNDECIDED]
    del document["roles"]["quasi_identifiers"]["answer"]
    document["roles"]["sensitive"] = {"answer": {"stability": "stable"}}
    assert parse_policy(yaml.safe_dump(document), Path("mended.yaml")).roles.key is None


def test_a_job_is_sensitive_only_where_nothing_plainer_is(write: Write) -> None:
    rows = {"age": [str(i) for i in range(40)], "job": [f"job {i % 6}" for i in range(40)]}
    assert list(_policy(write(rows)).roles.sensitive) == ["job"]
    rows["disease"] = [f"d{i % 4}" for i in range(40)]
    roles = _policy(write(rows)).roles
    assert list(roles.sensitive) == ["disease"]
    assert "job" in roles.quasi_identifiers


def test_a_person_key_that_repeats_is_the_key(write: Write) -> None:
    rows = {
        "visit_id": [f"v{i}" for i in range(200)],
        "person_id": [f"p{i % 90}" for i in range(200)],
        "age": [str(i % 80) for i in range(200)],
        "disease": [f"d{i % 4}" for i in range(200)],
    }
    roles = _policy(write(rows)).roles
    assert roles.key == "person_id"
    assert roles.identifiers == ("visit_id",)


def test_free_text_on_a_sensitive_matter_is_not_published(write: Write) -> None:
    rows = _register()
    rows["treatment_notes"] = [f"long story {i}" for i in range(100)]
    assert "treatment_notes" in _policy(write(rows)).roles.identifiers


def test_a_sensitive_column_of_two_values_lowers_e(write: Write) -> None:
    rows = {"age": [str(i) for i in range(40)], "hiv": ["yes" if i < 8 else "no" for i in range(40)]}
    policy = _policy(write(rows))
    assert policy.privacy.e == 2
    assert policy.privacy.p_max == 0.927
    reason = "its commonest value is in 80.0% of the rows; it has 2 values, so e is 2"
    assert f"#   hiv: {reason}" in draft(write(rows))


def test_many_columns_of_few_values_do_not_all_become_quasi_identifiers(write: Write) -> None:
    rows = {f"flag{chr(97 + i)}": [str(j % 3) for j in range(30)] for i in range(12)}
    roles = _policy(write(rows | {"disease": [f"d{i % 4}" for i in range(30)]})).roles
    assert len(roles.quasi_identifiers) == 8
    assert len(roles.dropped) == 4


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(write: Write, delimiter: str) -> None:
    policy = _policy(write(_register(), delimiter=delimiter))
    assert policy.source.delimiter == delimiter
    assert policy.roles.key == "patient_id"


def test_ways_to_say_unknown_are_found_and_not_taken_for_values(write: Write) -> None:
    rows = _register()
    rows["sex"][:10] = ["?"] * 10
    rows["age"][:3] = ["NA"] * 3
    policy = _policy(write(rows))
    assert policy.source.missing == ("", "?", "NA")
    assert policy.roles.categorical["sex"].values == ("female", "male")
    assert policy.roles.numeric["age"].type == "integer"
    assert policy.expectations.missing_in["sex"] >= 0.10
    assert "age" not in policy.expectations.missing_in


def test_latin_1_and_gzip_are_read(tmp_path: Path) -> None:
    text = "age,town,disease\n" + "".join(f"{i},Z\xfcrich{i % 3},d{i % 3}\n" for i in range(30))
    (tmp_path / "old.csv").write_bytes(text.encode("latin-1"))
    assert _policy(tmp_path / "old.csv").source.encoding == "latin-1"
    (tmp_path / "new.csv.gz").write_bytes(gzip.compress(text.encode()))
    policy = _policy(tmp_path / "new.csv.gz")
    assert policy.source.encoding == "utf-8"
    assert set(policy.roles.categorical["town"].allowed or ()) == {"Z\xfcrich0", "Z\xfcrich1", "Z\xfcrich2"}


def test_parquet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "survey.parquet"
    with duckdb.connect() as con:
        con.execute(
            "copy (select i as person_id, (i % 70)::smallint as age, i / 3.0 as height, "
            "i % 2 = 0 as married, 'd' || (i % 4) as disease from range(200) t(i)) "
            f"to '{path}' (format parquet)"
        )
    roles = _policy(path).roles
    assert roles.key == "person_id"
    assert {name: qi.type for name, qi in roles.quasi_identifiers.items()} == {
        "age": "integer",
        "height": "numeric",
        "married": "categorical",
    }
    assert roles.categorical["married"].values == ("false", "true")


@pytest.mark.parametrize(
    ("file", "series", "path"),
    [
        ("register-2026Q1.csv", "register", "register-{period}.csv"),
        ("visits_2026-03.csv", "visits", "visits_{period}.csv"),
        ("2026.csv", "series", "{period}.csv"),
        ("panel_2003q3_2014q2.csv", "panel_2003q3_2014q2", "panel_2003q3_2014q2.csv"),
        ("my table (final).csv", "my-table-final", "my table (final).csv"),
    ],
)
def test_the_series_is_named_after_the_file(write: Write, file: str, series: str, path: str) -> None:
    policy = _policy(write(_register(), name=file))
    assert (policy.series, policy.source.path) == (series, path)


@pytest.mark.parametrize(
    ("low", "high", "bounds"),
    [
        (17, 90, (15, 90)),
        (0, 104, (0, 110)),
        (1, 14, (1, 14)),
        (-8019, 102_127, (-10_000, 110_000)),
        (0.013, 0.987, (0, 1)),
        (1e14, 3e14, (1e14, 3e14)),
    ],
)
def test_bounds_are_rounded_outwards(
    write: Write, low: float, high: float, bounds: tuple[float, float]
) -> None:
    middle = (low + high) / 2
    rows = {"age": [str(low), str(high), str(middle)], "disease": ["a", "b", "c"]}
    assert _policy(write(rows)).roles.numeric["age"].bounds == pytest.approx(bounds)


def test_numbers_that_no_double_tells_apart_are_no_quasi_identifier(write: Write) -> None:
    ages = [str(2**53 + i % 5) for i in range(60)]
    text = draft(write({"age": ages, "sex": ["f", "m"] * 30, "disease": ["a", "b", "c"] * 20}), trial=False)
    policy = parse_policy(text, Path("p.yaml"))
    assert "age" in policy.roles.dropped
    assert "# numbers of more than 15 digits: divide them by a `query` in source" in text


@pytest.mark.parametrize(
    ("name", "word"),
    [("Alter", "age"), ("Geschlecht", "sex"), ("Wohnort", "town"), ("edad", "age"), ("Befund", "diagnosis")],
)
def test_what_is_known_of_people_is_told_in_other_languages(name: str, word: str) -> None:
    assert word in words_of(name)


@pytest.mark.parametrize("tables", [1, 2])
def test_codes_of_icd_10_are_sensitive_from_one_table_and_from_two(tmp_path: Path, tables: int) -> None:
    draw = np.random.default_rng(4)
    table = pd.DataFrame(
        {
            "pid": [f"K{100_000 + 7 * i}" for i in range(300)],
            "age": draw.integers(18, 90, 300),
            "icd10": [f"{chr(65 + i % 20)}{i % 97:02}.{i % 10}" for i in range(300)],
        }
    )
    files = [tmp_path / f"care-202{number}.csv" for number in range(tables)]
    for file in files:
        table.to_csv(file, index=False)
    policy = parse_policy(draft(*files, trial=False), tmp_path / "p.yaml")
    assert (policy.roles.key, list(policy.roles.sensitive)) == ("pid", ["icd10"])


def test_a_name_is_cut_into_its_words() -> None:
    assert words_of("birthDate") == words_of("birth_date") == words_of("Birth-Date 2") == {"birth", "date"}


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("Krankheit \u00fcber 6 Wochen", "illness"),
        ("Schwerbehinderung", "disability"),
        ("Langzeiterkrankung", "illness"),
        ("maladie_chronique", "illness"),
        ("\u00c9tat de sant\u00e9", "illness"),
        ("enfermedad", "illness"),
        ("malattia", "illness"),
        ("invalidit\u00e9", "disability"),
        ("ziekteverzuim", "illness"),
        ("Choroba", "illness"),
        ("sjukskrivning", "illness"),
        ("nemocn\u00fd", "illness"),
        ("doen\u00e7a", "illness"),
        ("grossesse", "pregnancy"),
        ("sickness over 6 weeks", "illness"),
        ("Konfession", "religion"),
    ],
)
def test_a_column_of_illness_is_sensitive_in_the_languages_of_europe_though_it_is_boolean(
    write: Write, name: str, word: str
) -> None:
    answers = ["ja" if i % 7 == 0 else "nein" for i in range(140)]
    ages = [str(20 + i % 40) for i in range(140)]
    text = draft(write({"age": ages, name: answers, "diagnosis": ["flu", "gout"] * 70}))
    assert name in parse_policy(text, Path("p.yaml")).roles.sensitive
    assert f"its name says '{word}'" in text


@pytest.mark.parametrize("name", ["lon", "Krankenhaus", "balloon", "psychology", "fecha_ingreso", "Wohnort"])
def test_what_only_looks_like_such_a_word_is_none(name: str) -> None:
    assert not words_of(name) & SENSITIVE_WORDS


@pytest.mark.parametrize(
    "name",
    ["Entgelt", "Bruttolohn", "Monatsgehalt", "salaire", "sueldo", "stipendio", "inkomen", "l\u00f8nn"],
)
def test_pay_is_sensitive_and_transient_in_the_languages_of_europe(write: Write, name: str) -> None:
    pay = [f"{2 + i % 30 / 10:.3f},00 \u20ac" for i in range(300)]
    ages = [str(20 + i % 40) for i in range(300)]
    for column, said in ((name, "its name says"), ("xyz", "its values are amounts of money")):
        text = draft(write({"age": ages, column: pay}))
        (pays,) = parse_policy(text, Path("p.yaml")).roles.sensitive.values()
        assert (pays.stability, pays.type) == ("transient", "numeric")
        assert said in text


# Faults


@pytest.mark.parametrize("name", ["none.csv", "folder"])
def test_what_is_no_file_is_a_usage_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="no such file"):
        draft(tmp_path / name)


def test_an_unknown_kind_of_file_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_bytes(b"{}")
    with pytest.raises(UsageError, match=r"the file type '\.json' is not supported"):
        draft(tmp_path / "table.json")


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (b"", "the file is empty"),
        (b"age,,sex\n1,2,3\n", "column 2 has no name"),
        (b"age,Age\n1,2\n", "columns 1 and 2 have the same name apart from case"),
        (b"age,RowID\n1,2\n", "a column is called rowid, as DuckDB's count of rows"),
        (b"age,sex\n", "no rows"),
        (b"age;sex\n", "no rows"),
        (b"age,sex\n1,\0\n", "line 2 contains a NUL byte"),
        (b"39,CANARY\n40,CANARY\n", "line 1 has numbers: it seems to be a row, not the names of the columns"),
        (b"age,sex\n" + b"1,f\n" * 50 + b"1,f,CANARY\n" + b"1,f\n" * 50, "line 52 has 3 cells"),
    ],
)
def test_a_broken_table_is_an_input_error_without_its_cells(
    tmp_path: Path, content: bytes, finding: str
) -> None:
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(InputError) as refused:
        draft(tmp_path / "table.csv")
    assert finding in str(refused.value)
    assert "CANARY" not in str(refused.value)
    assert len(str(refused.value).splitlines()) <= 2


def test_a_column_that_is_called_as_a_published_end_is_left_out(tmp_path: Path) -> None:
    rows = "".join(
        f"p{i},{20 + i % 60},{20 + i % 9},{('Elm', 'Ash')[i % 2]},{('flu', 'cold')[i % 3 % 2]},{50 + i % 9}\n"
        for i in range(200)
    )
    path = tmp_path / "table.csv"
    path.write_text("person_id,age,age_min,town,disease,AGE_max\n" + rows, encoding="utf-8")
    roles = parse_policy(draft(path), tmp_path / "p.yaml").roles
    assert {"age_min", "AGE_max"} <= set(roles.dropped)
    assert "age" in roles.numeric


@pytest.mark.parametrize("name", ["table.parquet", "table.csv.gz"])
def test_a_damaged_file_is_an_input_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"CANARY CANARY CANARY")
    with pytest.raises(InputError) as refused:
        draft(tmp_path / name)
    assert "CANARY" not in str(refused.value)


# Any table

NAMES = st.one_of(
    st.sampled_from(
        [
            "id",
            "person_key",
            "name",
            "age",
            "sex",
            "zip code",
            "birthDate",
            "diagnosis",
            "income",
            "job",
            "yes",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), min_size=1, max_size=8),
)
CELLS = st.one_of(
    st.sampled_from(
        ["", "?", "yes", "no", "null", "1e5", "007", "-3", "2.5", "inf", "a: b", "#", "*", "'", '"']
    ),
    st.integers(-(10**19), 10**19).map(str),
    st.floats(allow_nan=False).map(str),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
)


@st.composite
def tables(pick: st.DrawFn) -> dict[str, list[str]]:
    names = pick(st.lists(NAMES, min_size=2, max_size=5, unique_by=str.casefold))
    rows = pick(st.integers(1, 8))
    return {name: pick(st.lists(CELLS, min_size=rows, max_size=rows)) for name in names}


@given(tables())
@pytest.mark.integration
def test_any_table_gives_a_policy_that_loads_or_says_what_to_decide(columns: dict[str, list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        _write_csv(path, columns)
        try:
            text = draft(path)
        except InputError as error:
            # Only names that are none are refused, and those that are one without what is not shown of them.
            bare = {one_spelling(name).strip(BLANKS).casefold() for name in columns}
            none = any(not name.strip() or name.strip()[-1].isdigit() for name in map(one_spelling, columns))
            assert none or len(bare) < len(columns), error  # noqa: PT017
            return
    n_rows = len(next(iter(columns.values())))
    size = f"{number_of(n_rows, 'row')} and {number_of(len(columns), 'column')}"
    assert text.startswith(f"# A policy drafted from a table of {size}.")
    if re.search(rf"^    {UNDECIDED}: ", text, re.MULTILINE):
        with pytest.raises(PolicyError, match=rf"\.{UNDECIDED}(.|\n)*{UNDECIDED}: name the"):
            parse_policy(text, path)
    else:
        policy = parse_policy(text, path)
        named = {one_spelling(name).strip(BLANKS): cells for name, cells in columns.items()}
        assert sorted(policy.roles.columns()) == sorted(named)
        read_as_is = not policy.source.strip and policy.source.invisible == "kept"
        assert not read_as_is or sorted(named) == sorted(columns)
        as_they_are = policy.source.decimal == "." and policy.source.query is None
        for name, qi in policy.roles.numeric.items() if as_they_are else ():
            cells = [cell.strip(BLANKS) if policy.source.strip else cell for cell in named[name]]
            known = [float(cell) for cell in cells if cell not in policy.source.missing and "," not in cell]
            assert all(qi.bounds[0] <= number <= qi.bounds[1] for number in known)


# People with several rows, and numbers of people ------------------------------------------------------------


def visits(n: int = 600, people: int = 150) -> pd.DataFrame:
    """Visits of people who do not exist: whoever takes a column for a quantity or an attribute tells them."""
    draw = np.random.default_rng(7)
    whose = draw.integers(0, people, n)
    named = np.array([f"Name{i} Surname{i}" for i in range(people)])
    insured = [
        next(t for d in "0123456789" if is_german_insured(t := f"M{i * 7919:08d}{d}")) for i in range(people)
    ]
    cards = [f"4{i:014d}" for i in draw.permutation(n)]
    return pd.DataFrame(
        {
            "visit": np.arange(n) + 1000,
            "patient_id": whose + 10_000,
            "called": named[whose],
            "insurance": np.array(insured)[whose],
            "prescription": draw.permutation(np.arange(10_000_000, 10_000_000 + n)),
            "card": [f"{card}{luhn.calc_check_digit(card)}" for card in cards],
            "contact": [f"07700 9{i:05d}" for i in draw.integers(0, 99_999, n)],
            "mailed": [f"x{i}@example.org" for i in whose],
            "begun": [f"19{40 + i % 60}-0{1 + i % 9}-1{i % 7}" for i in draw.integers(0, 600, n)],
            "age": draw.integers(20, 80, n),
            "diagnosis": draw.choice(["flu", "cold", "gout"], n),
            "note": np.where(np.arange(n) % 50 == 0, "told by " + named[whose].astype(object), "well"),
        }
    )


@pytest.mark.enemy("data supplier", "publishes a person")
def test_numbers_and_names_of_people_are_identifiers_and_a_repeated_key_counts_people(tmp_path: Path) -> None:
    table = visits()
    path = tmp_path / "visits.csv"
    table.to_csv(path, index=False)
    text = draft(path)
    policy = parse_policy(text, tmp_path / "visits.yaml")
    assert (policy.rows, policy.roles.key) == ("several", "patient_id")
    told = {"called", "insurance", "prescription", "card", "contact", "mailed", "note", "visit"}
    assert set(policy.roles.identifiers) == told
    assert policy.roles.quasi_identifiers["begun"].type == "date"
    assert set(policy.roles.sensitive) == {"diagnosis"}
    assert "Surname" not in text
    assert "prescription # nearly unique numbers: 600 distinct values in 600 rows" in text


@pytest.mark.enemy("data supplier", "publishes a person")
@pytest.mark.parametrize(
    "written", ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%y", "%Y%m%d", "%d %b %Y", "%B %d, %Y", "%d-%b-%y"]
)
def test_no_day_of_birth_is_published_however_it_is_written(tmp_path: Path, written: str) -> None:
    days = pd.date_range("1930-01-01", periods=60, freq="397D").strftime(written)
    table = pd.DataFrame({"dob": days, "sex": ["f", "m"] * 30, "diagnosis": ["flu", "cold", "none"] * 20})
    path = tmp_path / "people.csv"
    table.to_csv(path, index=False)
    policy = parse_policy(draft(path), tmp_path / "people.yaml")
    if written in ("%Y-%m-%d", "%d.%m.%Y", "%Y%m%d", "%d %b %Y"):
        dob = policy.roles.quasi_identifiers["dob"]
        assert isinstance(dob, DateQuasiIdentifier)
        assert (dob.resolution, dob.bounds) == ("year", ("1930", "1999"))
    else:
        assert "dob" in policy.roles.identifiers


@pytest.mark.enemy("data supplier", "publishes a person")
def test_text_that_hardly_repeats_is_an_identifier_whatever_its_name(tmp_path: Path) -> None:
    town = [f"{i} High Street" for i in range(60)]
    table = pd.DataFrame({"town": town, "sex": ["f", "m"] * 30, "diagnosis": ["flu", "cold", "none"] * 20})
    path = tmp_path / "people.csv"
    table.to_csv(path, index=False)
    assert parse_policy(draft(path), tmp_path / "people.yaml").roles.identifiers == ("town",)


@pytest.mark.enemy("data supplier", "publishes a person")
def test_an_insurance_number_that_repeats_is_the_key_where_no_other_is(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    visits().drop(columns=["patient_id", "visit", "note"]).to_csv(path, index=False)
    policy = parse_policy(draft(path), tmp_path / "visits.yaml")
    assert (policy.rows, policy.roles.key) == ("several", "insurance")


@pytest.mark.enemy("data supplier", "gains a role")
@pytest.mark.parametrize("breaker", ["\x85", "\u2028", "\x1f", "\x0b"])
def test_a_columns_name_becomes_no_line_of_the_draft(tmp_path: Path, breaker: str) -> None:
    name = f"id{breaker}publication: {{approval: auto}} #"
    table = tmp_path / "visits.csv"
    _write_csv(table, {name: ["a1", "b2", "c3"], "nom": ["a1", "b2", "x"], "sex": ["f", "m", "f"]})
    text = draft(table)
    assert breaker not in text
    assert not [line for line in text.splitlines() if line.startswith("publication: {")]
    roles = yaml.safe_load(text)["roles"]
    assert name in {*(roles.get("identifiers") or ()), roles.get("key"), *(roles.get("dropped") or ())}


def test_a_table_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("age,city\n1,a\n2,b\n")
    (tmp_path / "link.csv").symlink_to(table)
    with pytest.raises(UsageError, match="is given twice"):
        draft(table, tmp_path / "link.csv", trial=False)


def roles_of(write: Write, columns: dict[str, list[str]]) -> tuple[str, ReleasePolicy]:
    """Return the draft of 400 rows of these columns beside an age, and its policy."""
    table = write({"age": [str(20 + i * 7 % 50) for i in range(400)], **columns})
    text = draft(table)
    return text, parse_policy(text, table.with_suffix(".yaml"))


ILL = {"disease": [("flu", "gout", "none")[i % 3] for i in range(400)]}


def test_codes_of_icd_10_are_sensitive_and_grouped_by_their_beginnings(write: Write) -> None:
    codes = [f"{'CEFGJ'[i % 5]}{10 + i % 9}.{i % 83 % 10}" for i in range(399)] + ["J18.99"]
    text, policy = roles_of(write, {"reason": codes})
    assert "- reason" not in text
    assert policy.roles.sensitive["reason"].type == "categorical"
    unique = [f"{'CEFGJ'[i % 5]}{10 + i % 90}.{i}" for i in range(400)]
    text, policy = roles_of(write, {"icd10": unique})
    assert policy.source.query == 'SELECT * REPLACE (left("icd10", 2) AS "icd10") FROM input'
    assert list(policy.roles.sensitive) == ["icd10"]
    assert unique[0] not in text


@pytest.mark.parametrize("name", ["main_code", "dx_code", "code_no"])
def test_codes_of_icd_10_that_repeat_are_nobodys_key_whatever_their_name(write: Write, name: str) -> None:
    codes = [f"{'CEFGJ'[i % 5]}{10 + i % 20}.{i % 7}" for i in range(400)]
    _, policy = roles_of(write, {name: codes, "sex": [("f", "m")[i * 7 // 3 % 2] for i in range(400)]})
    assert (list(policy.roles.sensitive), policy.roles.key, policy.rows) == ([name], None, "one_per_person")


def test_a_day_is_a_date_and_no_identifier(write: Write) -> None:
    days = [f"{1990 + i % 25}-0{1 + i % 9}-1{i % 10}" for i in range(400)]
    one_year = [f"2020-0{1 + i % 9}-1{i % 10}" for i in range(400)]
    written = [f"{1 + i % 12}/{1 + i % 28}/{70 + i % 25}" for i in range(400)]
    text, policy = roles_of(write, {"hired": days, "seen": one_year, "left": written, **ILL})
    assert policy.roles.quasi_identifiers["hired"].type == "date"
    assert {"seen", "left"} <= set(policy.roles.dropped)
    assert policy.roles.identifiers == ()
    assert "seen # dates of one year" in text


def test_the_parts_of_a_birth_date_are_not_published_together(write: Write) -> None:
    born = {
        "birth_year": [str(1940 + i % 60) for i in range(400)],
        "birth_month": [str(1 + i % 12) for i in range(400)],
        "birth_day": [str(1 + i % 28) for i in range(400)],
    }
    text, policy = roles_of(write, {**born, **ILL})
    assert {"birth_month", "birth_day"} <= set(policy.roles.dropped)
    assert "birth_year" in policy.roles.quasi_identifiers
    assert "a part of the date of birth, of which 'birth_year' is published" in text


@pytest.mark.parametrize("name", ["readmitted", "target", "final_result", "y", "Survived"])
def test_an_outcome_is_sensitive(write: Write, name: str) -> None:
    outcome = ["yes" if i % 4 else "no" for i in range(400)]
    assert set(roles_of(write, {name: outcome, **ILL})[1].roles.sensitive) == {name, "disease"}


def test_spellings_of_a_sex_are_one_value(write: Write) -> None:
    sexes = [("M", "male", "Male ", "F", "female", "other")[i * 5 % 6] for i in range(400)]
    _, policy = roles_of(write, {"gender": sexes, **ILL})
    assert policy.source.values["gender"] == {"male": ("m",), "female": ("f",)}
    assert set(policy.roles.categorical["gender"].allowed or ()) == {"female", "male", "other"}


@pytest.mark.parametrize(
    ("name", "written", "one"),
    [
        ("sexe", ("H", "Homme", "F", "Femme"), {"Homme": ("H",), "Femme": ("F",)}),
        ("sexo", ("H", "Hombre", "M", "Mujer"), {"Hombre": ("H",)}),  # M may be a man elsewhere
        ("geslacht", ("m", "man", "v", "vrouw"), {"man": ("m",), "vrouw": ("v",)}),
    ],
)
def test_spellings_of_a_sex_in_other_languages_are_never_mixed(
    write: Write, name: str, written: tuple[str, ...], one: dict[str, tuple[str, ...]]
) -> None:
    sexes = [written[i * 3 % 4] for i in range(400)]
    _, policy = roles_of(write, {name: sexes, **ILL})
    found = {
        first.casefold(): {each.casefold() for each in others}
        for first, others in policy.source.values[name].items()
    }
    assert found == {first.casefold(): {each.casefold() for each in others} for first, others in one.items()}


def test_amounts_are_read_exactly(write: Write) -> None:
    large = [f"$1,174,630,009,067,{i % 40:03}.2{i % 7}" for i in range(400)]
    text, policy = roles_of(write, {"pay": large, **ILL})
    assert "AS DECIMAL(24, 2)" in (policy.source.query or ""), text
    whole = [f"\u20ac{1 + i % 30},000" for i in range(400)]
    assert "AS DECIMAL(24, 0)" in (roles_of(write, {"pay": whole, **ILL})[1].source.query or "")


def test_what_is_lost_in_other_values_is_told(write: Write) -> None:
    towns = [f"town {i % 10 if i % 4 else 10 + i // 4 % 40}" for i in range(400)]
    assert (
        "in 25.0% of the rows, and those to come, are read as this one."
        in roles_of(write, {"town": towns, **ILL})[0]
    )
