"""YAML in which no number has two meanings: as YAML 1.2 reads it, or refused with what to write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from policy.errors import PolicyError
from policy.load import parse_policy, policy_document
from policy.yaml_text import dump_yaml, load_yaml, yaml_finding
from services.drafting.yaml_text import listed, scalar

TWO_WAYS = (
    "a number that YAML 1.1 and 1.2 read differently: write it without leading zeros, _, 0b and 0o, "
    "or in quotes if it is a text"
)
TWO_MEANINGS = ["010", "-010", "08", "00", "0o10", "0b11", "1_000", "1_0.5", "-0x10", "+0x1F", "0x_", "0_"]
NUMBER_OF_1_2 = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT_OF_1_2 = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12) | st.from_regex(
    r"\A[-+]?[0-9_.:oxbeE-]{1,6}\Z"
)


def said(text: str) -> str:
    """Return what is said of a text that is refused, and in which line."""
    with pytest.raises(yaml.YAMLError) as caught:
        load_yaml(text)
    return yaml_finding(caught.value)


@pytest.mark.parametrize("number", TWO_MEANINGS)
@pytest.mark.parametrize("form", ["{}", "!!int '{}'", "a: {}", "[{}]", "{}: a", "a: &x {}", "- {}"])
def test_a_number_with_two_meanings_is_refused(number: str, form: str) -> None:
    if "!!int" in form and "." in number:
        form = "!!float '{}'"
    assert said(form.replace("{}", number)) == f"line 1: {TWO_WAYS}"
    assert load_yaml(f"'{number}'") == number
    assert load_yaml(f"!!str {number}") == number


@pytest.mark.enemy("policy author", "publishes a person")
def test_no_limit_of_a_policy_is_another_than_is_written() -> None:
    one = "roles: {quasi_identifiers: {x: {COLUMN}}, sensitive: {ill: {stability: stable}}}"
    number = one.replace("COLUMN", "type: integer, bounds: [0, 110]")
    for k in ("010", "0o20", "1_0", "0b1000"):
        with pytest.raises(PolicyError) as caught:
            parse_policy(f"series: s\nprivacy: {{k: {k}}}\n{number}", Path("p.yaml"))
        assert str(caught.value) == f"p.yaml: line 2: {TWO_WAYS}\n  Fix the YAML."
    tree = one.replace("COLUMN", "type: categorical, hierarchy: {a: [CODE, 1]}")
    for code in ("010", "08", "0x_1"):
        with pytest.raises(PolicyError, match="read differently"):
            parse_policy(f"series: s\n{tree.replace('CODE', code)}", Path("p.yaml"))
    found = parse_policy(f"series: s\n{tree.replace('CODE', '2026-1-1')}", Path("p.yaml"))
    values = policy_document(found)["roles"]["quasi_identifiers"][0]["hierarchy"]["paths"]
    assert [path[0] for path in values] == ["2026-1-1", "1"]  # no date is written anew


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("10", 10),
        ("+10", 10),
        ("-0", 0),
        ("0x1F", 31),
        (".5", 0.5),
        ("1.", 1.0),
        ("1.5e+3", 1500.0),
        ("00.5", 0.5),
        ("-.INF", float("-inf")),
        ("true", True),
        ("~", None),
        ("2026-01-01", "2026-01-01"),
        ("2026-13-45", "2026-13-45"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("=", "="),
        ("1e3", "1e3"),  # a field that takes a number reads it as one
        ("{<<: {a: 1}, b: 2}", {"a": 1, "b": 2}),
        (r'"\ud83d\ude00\ufffd"', "\U0001f600\ufffd"),  # as JSON writes it
    ],
)
def test_what_has_one_meaning_is_read_so(written: str, read: object) -> None:
    found = load_yaml(written)
    assert (found, type(found)) == (read, type(read))


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("a: !!bool maybe", "should be true or false"),
        ("a: !!int [1]", "expected a scalar node, but found sequence"),
        ("a: !!timestamp 2026-01-01", None),
        ("a: !!binary aGk=", None),
        ("a: !!set {b}", None),
        ("a: !!omap [b: 1]", None),
        ("{1: a, true: b}", "the field 'True' stands twice"),
        (r'a: "\ud800"', "a text has half of a surrogate pair"),
        (r'{"\ude00\ud83d": 1}', "a text has half of a surrogate pair"),
        (r'a: "\UFFFFFFFF"', "a text has an escape that is no character"),
        (r'a: "\U00110000"', "a text has an escape that is no character"),
        ("a: 12:30", "YAML reads a number to base 60 here: put it in quotes if it is a text"),
    ],
)
def test_each_other_kind_of_value_is_refused_in_a_line(text: str, finding: str | None) -> None:
    kind = re.search(r"!!(\w+)", text)
    finding = (
        finding or f"could not determine a constructor for the tag 'tag:yaml.org,2002:{kind and kind[1]}'"
    )
    assert said(text) == f"line 1: {finding}"


def read_as_1_2(text: str) -> object:
    """Read a plain word as the core schema of YAML 1.2 does."""
    if NUMBER_OF_1_2.fullmatch(text):
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text[2:] if base != 10 else text, base)
    return float(text) if FLOAT_OF_1_2.fullmatch(text) else text


@given(st.from_regex(r"\A[-+]?[0-9][0-9_.oxbeE]{0,5}\Z"))
@example("010")
@example("0o17")
def test_a_number_is_read_as_yaml_1_2_reads_it_or_refused(word: str) -> None:
    try:
        found = load_yaml(word)
    except yaml.YAMLError:
        return
    expected = read_as_1_2(word)
    assert found == expected or (found == word and float(word) == expected)


@given(TEXTS)
@example("1e3")
@example("08")
@example("yes")
@example("2026-01-01")
def test_what_is_written_is_read_back(text: str) -> None:
    document = {"a": [text], text: {"b": text}} if text != "a" else [text]
    for flow in (True, False, None):
        written = dump_yaml(document, default_flow_style=flow)
        assert load_yaml(written) == document
        assert yaml.safe_load(written) == document


@given(TEXTS)
def test_a_draft_writes_texts_that_every_reader_reads_back(text: str) -> None:
    for written, read in (
        (scalar(text), text),
        ("\n".join(listed([text, "x", text], " ")), [text, "x", text]),
    ):
        assert load_yaml(written) == read
        assert yaml.safe_load(written) == read


@given(st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_that_is_written_is_read_back(number: float) -> None:
    assert load_yaml(dump_yaml(number)) == number
