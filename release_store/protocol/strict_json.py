"""JSON read strictly, and written in its canonical form (RFC 8785)."""

from __future__ import annotations

import hashlib
import json
import math
from json.encoder import encode_basestring
from typing import Any

DEEPEST = 100  # arrays and objects within each other
_WORDS = {None: "null", True: "true", False: "false"}


class Broken(Exception):
    """A fault after which the rest of a bundle cannot be checked; its text is shown."""


def canonical(value: Any) -> bytes:
    """Return plain JSON as canonical bytes. Raises ValueError for what JSON cannot hold."""
    return _written(value).encode()


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same JSON."""
    return canonical(one) == canonical(other)


def read_json(data: bytes) -> Any:
    """Return the JSON in `data`; 1.0 is 1, as in canonical JSON.

    Raises ValueError for a name that stands twice, for NaN, Infinity and what a double does not hold, for
    half of a surrogate pair, and for more than 100 arrays and objects within each other.
    """
    value = json.loads(
        data.decode(),
        parse_int=_read_int,
        parse_float=_read_float,
        parse_constant=_refuse,
        object_pairs_hook=_once_each,
    )
    _check_depth(value, DEEPEST)
    if b"\\u" in data:  # only an escape can make a text that no UTF-8 holds
        json.dumps(value, ensure_ascii=False).encode()
    return value


def json_digest(value: Any) -> str:
    """Return the SHA-256 of plain JSON in its canonical form, hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def json_object(found: Any, name: str) -> dict[str, Any]:
    """Return what was read if it is a JSON object. Raises Broken, which names it, if not."""
    if not isinstance(found, dict):
        raise Broken(f"{name} is not a JSON object")
    return found


def json_list(found: Any) -> list[Any]:
    """Return what was read if it is a list. Raises Broken if not."""
    if not isinstance(found, list):
        raise Broken("a value is not a list")
    return found


def json_text(found: Any) -> str:
    """Return what was read if it is a text. Raises Broken if not."""
    if not isinstance(found, str):
        raise Broken("a value is not a text")
    return found


def optional_object(found: Any, name: str) -> dict[str, Any]:
    """Return what was read if it is a JSON object, and an empty one for null. Raises Broken if not."""
    return {} if found is None else json_object(found, name)


def whole_number(found: Any) -> int:
    """Return a count if it is a whole number, 0 or more. Raises Broken if not."""
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise Broken("a number of events is not a whole number")
    return found


def _written(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int):
        if abs(value) >= 2**53:
            raise ValueError("a whole number beyond the range that JSON readers agree on")
        return str(value)
    if isinstance(value, float):
        return _written_float(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise ValueError("a name in JSON is a text")
        names = sorted(value, key=None if all(map(str.isascii, value)) else _utf_16)
        return "{" + ",".join(f"{_written(name)}:{_written(value[name])}" for name in names) + "}"
    raise ValueError(f"JSON has no {type(value).__name__}")


def _utf_16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _written_float(value: float) -> str:
    """Return the shortest text that reads back as `value`, in the form of ECMAScript's Number::toString."""
    if not math.isfinite(value):
        raise ValueError("JSON has no NaN and no Infinity")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # value = 0.digits * 10^point
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        padded = digits.ljust(point, "0")
        text = padded[:point] + ("." + padded[point:] if padded[point:] else "")
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{point - 1:+d}"
    return sign + text


def _read_int(text: str) -> int | float:
    # Canonical JSON has only floats beyond 2^53.
    return int(text) if len(text) < 16 else _read_float(text)


def _read_float(text: str) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _check_depth(value: Any, left: int) -> None:
    if isinstance(value, (list, dict)):
        if left == 0:
            raise ValueError("JSON is nested too deeply")
        for one in value.values() if isinstance(value, dict) else value:
            _check_depth(one, left - 1)


def _refuse(text: str) -> Any:
    raise ValueError(f"JSON has no {text}")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name appears twice")
    return dict(pairs)
