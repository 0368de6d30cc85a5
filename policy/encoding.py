"""The encodings of a CSV file: names of the IANA or of Python, and the codec that each stands for."""

from __future__ import annotations

import codecs
import re

UTF_8 = "utf-8"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:.-]{0,39}")
# Encodings of texts; an ASCII byte is the same character in each that is not UTF-16 or UTF-32.
_CODECS = re.compile(
    r"utf-8|utf-(?:16|32)(?:-[bl]e)?|iso8859-[0-9]+|cp[0-9]+|koi8-[rtu]|mac-[a-z0-9]+|kz1048|ptcp154|tis-620"
    r"|big5|big5hkscs|euc_jp|euc_kr|gb2312|gbk|gb18030|johab|shift_jis"
)
_ASCII = bytes(range(128))


def codec_of(name: str) -> str:
    """Return Python's name for an encoding. Raises LookupError where a CSV file cannot be in it."""
    if not _NAME.fullmatch(name):
        raise LookupError
    codec = codecs.lookup(name).name
    if not _CODECS.fullmatch(codec) or not (is_wide(codec) or _holds_ascii(codec)):
        raise LookupError
    return codec


def is_wide(codec: str) -> bool:
    """Tell whether each character of a codec takes two bytes or more: UTF-16 and UTF-32."""
    return codec.startswith(("utf-16", "utf-32"))


def is_unicode(codec: str) -> bool:
    """Tell whether a codec is one of Unicode's own."""
    return codec.startswith("utf-")


def _holds_ascii(codec: str) -> bool:
    try:
        return _ASCII.decode(codec) == _ASCII.decode("ascii")
    except UnicodeError:
        return False
