"""The parts of the page's script do what Python's do: JSON, names, times."""

from __future__ import annotations

import json
import random
import sys
import unicodedata
from typing import Any

from selenium import webdriver

from release_store.protocol.clock import out_of_order
from release_store.protocol.person_names import normalize_name
from release_store.protocol.strict_json import canonical, read_json
from tests.support.pages.random_edits import seeded
from tests.support.pages.verify_page import in_base64

_WITH_PARTS = """
const done = arguments[arguments.length - 1];
const {canonical, comparable, hex, readJson, outOfOrder} = verifyBundle.parts;
const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
const tried = async (work) => { try { return await work(); } catch { return null; } };
(async (given) => { %s })(arguments[0]).then(done, (error) => done(String(error)));
"""


def with_parts(driver: webdriver.Chrome, given: object, body: str) -> Any:
    """Return what a piece of JavaScript makes of what is given."""
    return driver.execute_async_script(_WITH_PARTS % body, given)


DOCUMENTS = [
    b"", b" ", b"null", b"1", b"1.0", b"-0", b"-0.0", b"0.1", b"1e2", b"1E400", b"-1e400", b"5e-324", b"1e16",
    b"1e-5", b"1e15", b"1e-4", b"123456789012345680000", b"9007199254740991", b"9007199254740992", b"1e21",
    b"-9007199254740993", b"1e-7", b"1" * 400, b"1" * 4300, b"1" * 4301, b"01", b"+1", b"1.", b".5", b"1e",
    b"- 1", b"NaN", b"Infinity", b"-Infinity", b"[1, 1.0, 1e0]", b"[1,]", b"[,1]", b"[1 2]", b"[", b"]",
    b"{}", b"{,}", b'{"a":1,}', b'{"a" : 1 }', b'{"a":1,"a":1}', b'{"a":{"b":1},"b":{"a":2}}',
    b'{"\\u0061":1,"a":2}',
    b"{'a':1}", b"{a:1}", b'{"a"}', b'{"__proto__":1,"x":{}}', b'"\\ud83d\\ude00"', b'"\\ud83d"',
    b'"\\ude00\\ud83d"', b'"\\ud83d\\ud83d\\ude00"', b'{"\\ud800":1}', b'"\\u00e9"', '"é"'.encode(),
    b'"\\x41"',
    b'"\\u12"', b'"a\nb"', b'"a\\nb\\u0000\\u001f\\u007f"', b'"\x7f"', b'"', b'"\\', b"\xff",
    b'"\xed\xa0\x80"', b"\xef\xbb\xbf1", b"1 1", b"true", b"tru", b"falsey", b"nul", b"\x0b1", b"\xc2\xa01",
    '{"\u20ac":1,"\ufb33":2,"😀":3,"1":4,"":5}'.encode(), b"[" * 300 + b"]" * 300, b"[[[]]]",
    b'[{"b":[true,false,null],"a":""}]', b'"\\/\\b\\f\\t\\r\\""', '"\u2028"'.encode(),
]  # fmt: skip


def read_and_written(data: bytes) -> str | None:
    """Return the canonical text of a document, None where it has none."""
    try:
        return canonical(read_json(data)).hex()
    except (ValueError, RecursionError):
        return None


def random_json(rng: random.Random, depth: int = 3) -> Any:
    kind = rng.randrange(8 if depth else 6)
    if kind == 0:
        return rng.choice((None, True, False))
    if kind == 1:
        return rng.choice((1, -1)) * rng.randrange(10 ** rng.randrange(1, 20))
    if kind in (2, 3):
        wide = rng.uniform(-1, 1) * 10.0 ** rng.randrange(-320, 308)
        return rng.choice((rng.random(), wide, float(rng.randrange(99)), 10.0 ** rng.randrange(-9, 23)))
    if kind in (4, 5):
        ranges = ((32, 127), (128, 0x800), (0xE000, 0x11000))
        return "".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(rng.randrange(5)))
    inner = [random_json(rng, depth - 1) for _ in range(rng.randrange(4))]
    return inner if kind == 6 else {str(random_json(rng, 0)): one for one in inner}


def test_json_is_read_refused_and_written_as_by_the_script(opened: webdriver.Chrome) -> None:
    rng = seeded(7)
    more = [json.dumps(random_json(rng), indent=rng.choice((None, 1))).encode() for _ in range(400)]
    body = "return Promise.all(given.map((one) => tried(() => hex(canonical(readJson(bytes(one)))))));"
    told = with_parts(opened, in_base64([*DOCUMENTS, *more]), body)
    for document, found in zip([*DOCUMENTS, *more], told, strict=True):
        assert found == read_and_written(document), document


def test_names_are_compared_as_by_the_script(opened: webdriver.Chrome) -> None:
    """Every letter and sign that Python knows, and some names that are one person's."""
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    names = [one for one in every if unicodedata.category(one) not in ("Cn", "Co", "Cs", "Lo")]
    names += [one for one in every if unicodedata.category(one) == "Lo"][::20]
    names += [
        "İrem",
        "IREM",
        "ANN ",
        "straße",
        "STRASSE",
        "ΣΊΣΥΦΟΣ",
        "Ꭰꭰ",
        "...",
        "a\u200db",
        "ǅ",
        "",
    ]
    told = with_parts(opened, names, "return given.map(comparable);")
    assert [one for one, found in zip(names, told, strict=True) if found != normalize_name(one)] == []


def test_times_are_read_as_by_the_script(opened: webdriver.Chrome) -> None:
    times = [
        "2026-01-01T00:00:00.000000+00:00", "2026-01-01T00:02:30.500000+00:00", "2026-01-01T02:00:00+02:00",
        "2026-01-01T00:02:31.500000+00:00", "2026-01-01T00:00:00", "2026-01-01", "2026-01-01 00:00",
        "2026-01-01T00", "2026-02-29T00:00:00", "2024-02-29T00:00:00", "2026-01-01T24:00:00", "2026-13-01",
        "2026-01-01T00:60:00", "0000-01-01", "0001-01-01", "9999-12-31T23:59:59.999999-23:59", "", "x",
        "2026-1-1", "2096-01-01T00:00:00.123456+00:00", "2096-01-01T00:00:00.123456+24:00",
    ]  # fmt: skip
    pairs = [(one, other) for one in times for other in times]
    told = with_parts(opened, pairs, "return given.map(([one, other]) => outOfOrder(one, other, 1));")
    assert [one is None for one in told] == [out_of_order(*pair) is None for pair in pairs]
