"""The text of a CSV file in UTF-8, whatever its encoding; which encoding a file that is not UTF-8 is in.

This process decodes, by Python's own codecs alone: a few passes over the bytes, a piece at a time.
"""

from __future__ import annotations

import codecs
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from policy.encoding import UTF_8, codec_of, is_unicode
from policy.errors import InputError, ReleaseGateError
from tasks.intake.file_kind import check_is_text
from tasks.intake.lengths import MEMORY_SHARE, memory_bytes
from tasks.intake.sealed import copy_failure, seal, write_all
from tasks.intake.sealed_file import CHUNK, SealedFile
from tasks.intake.text import separator_advice

# Byte order marks, with what a policy calls the encoding, and its codec; UTF-32's begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, UTF_8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
_ZEROS = 0.2  # share of characters of ASCII, from which zeros tell the encoding of a text without a mark
# What a file is likely to be in, by Python's names: one encoding a script, so that few bytes tell them apart.
_LIKELY = {
    "cp1252": "windows-1252",
    "cp1251": "windows-1251",
    "koi8_r": "koi8-r",
    "cp1253": "windows-1253",
    "cp1254": "windows-1254",
    "cp1255": "windows-1255",
    "cp1256": "windows-1256",
    "cp850": "cp850",
    "cp932": "cp932",
    "gb18030": "gb18030",
    "big5": "big5",
    "euc_kr": "euc-kr",
}
_LATIN = ("latin-1", "windows-1252", "windows-1250", "iso-8859-2", "windows-1254", "cp850", "cp852")
_RARE = ("iso-8859-15", "macintosh")  # likely only where each other one gives fewer words
_CYRILLIC = ("windows-1251", "koi8-r", "koi8-u", "iso-8859-5", "cp866")
_BY_SCRIPT = ("windows-1251", "koi8-r")  # of these, the ones in `_LIKELY`
_FEW_ODD = 0.1  # share of the words of a text that no language writes so
# The letters beyond ASCII of languages in Latin and Cyrillic script: a word has those of one.
_ALPHABETS = tuple(
    frozenset(letters)
    for letters in (
        *("äöüß", "äåöé", "æøåé", "àâæçèéêëîïôœùûüÿ"),
        *("áéíñóúü", "àáâãçéêíóôõúü", "àèéìòù", "àçèéíïòóúü"),
        *("èéêëïöü", "áæéíðóöúýþ", "çğıöşü̇", "ąćęłńóśźż"),
        *("áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű"),
        *("ăâîșşțţ", "ćčđšž"),
        "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
        *("абвгґдеєжзиіїйклмнопрстуфхцчшщьюя", "абвгдеёжзійклмнопрстуўфхцчшыьэюя"),
        *("абвгдђежзијклљмнњопрстћуфхцчџш", "абвгдѓежзѕијклљмнњопрстќуфхцчџш"),
    )
)
_SAMPLE = 1 << 16  # bytes of lines that are not ASCII
_LETTERS = 4
_SHARED = 10  # lines that have a word, so that a message may hold it
_HEAD = 1 << 12
_LEAST_GOOD = 3  # lines that are in UTF-8, beyond ASCII
_MOST_TOLD = 5
_CONTROLS = re.compile("[\x80-\x9f]")
_SIGNS = frozenset(
    "€£§°²³½¼¾µ©®«»…№\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e"
)  # in texts of any language
_WORDS = re.compile(rb"[A-Za-z\x80-\xff]+")


@contextmanager
def utf_8_text(table: SealedFile, encoding: str, *, is_whole: bool = True) -> Iterator[SealedFile]:
    """Yield the text in UTF-8: the file itself, or a copy in sealed memory, which is gone after the `with`.

    Of a file that is not whole, the end may be within a character. Raises InputError with the first line that
    is not in the encoding or has a NUL byte, with all lines that are not in UTF-8 as the others are, for a
    file of another kind, and for an empty text, lines that end in CR alone, and a copy
    that takes more than half of the memory.
    """
    codec = codec_of(encoding)
    check_is_text(table, wide=_unicode_by_bytes(table) is not None or codec.startswith(("utf-16", "utf-32")))
    if codec == UTF_8:
        _check(table, encoding, is_whole=is_whole)
        yield table
        return
    handle = os.memfd_create("text", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    room = int(MEMORY_SHARE * memory_bytes())

    def write(text: str) -> None:
        write_all(handle, text.encode())
        if os.fstat(handle).st_size > room:
            hint = "Split the table, or save it as utf-8."
            raise InputError(f"has more than {room >> 20:,} MiB in utf-8", where=table.shown, hint=hint)

    try:
        failure: ReleaseGateError | None = None
        try:
            _check(table, encoding, write, is_whole=is_whole)
            seal(handle)
        except (MemoryError, OSError) as error:
            failure = copy_failure(error, table.shown)
        if failure is not None:
            raise failure
        size = os.fstat(handle).st_size
        yield SealedFile(table.shown, Path(f"/proc/self/fd/{handle}"), table.digest, size)
    finally:
        os.close(handle)


def guess_encoding(table: SealedFile) -> str:
    """Return an encoding that the whole text can be in: UTF-8, or the likeliest other one; UTF-8 for none.

    A guess, but for UTF-8 and byte order marks: many encodings give a text, and few give words. A text of
    which a few lines alone are not in UTF-8 is damaged, and in no other.
    """
    by_bytes = _unicode_by_bytes(table)
    if by_bytes is not None:
        return by_bytes[0]
    if _is_in(table, UTF_8) or _damaged_lines(table)[0]:
        return UTF_8
    return next((name for name in _likely(lines_beyond_ascii(table)) if _is_in(table, name)), UTF_8)


def common_encoding(samples: Iterable[bytes]) -> str | None:
    """Return the likeliest encoding that several files can be in together, by lines of each."""
    found = list(samples)
    likely = _likely(b"".join(found)[:_SAMPLE])
    return next((name for name in likely if all(_decodes(sample, name) for sample in found)), None)


def is_ascii(table: SealedFile) -> bool:
    """Tell whether a file has bytes of ASCII alone, which most encodings read alike."""
    with table.open() as file:
        return all(chunk.isascii() for chunk in iter(lambda: file.read(CHUNK), b""))


def _check(table: SealedFile, encoding: str, write: Callable[[str], object] = len, *, is_whole: bool) -> None:
    """Hand on the text piece by piece; raises InputError as `utf_8_text`."""
    codec = _checked_codec(table, encoding)
    line, has_cr, has_text, bad = 1, False, False, 0
    for text, is_good in _pieces(table, codec, is_whole=is_whole):
        at = text.find("\0")
        if at >= 0:
            line += text.count("\n", 0, at)
            raise InputError(
                f"line {line} contains a NUL byte",
                where=table.shown,
                hint="Give a plain text table; binary files cannot be read.",
            )
        line += text.count("\n")
        if not is_good:
            bad = line
            break
        has_text = has_text or bool(text.strip("\ufeff \t\r\n\v\f"))
        has_cr = has_cr or "\r" in text
        write(text)
    if bad and codec == UTF_8 and (damaged := _damaged_lines(table))[0]:
        raise _damaged(table, *damaged)
    if bad:
        hint = _advice(table, codec) + _also(table)
        raise InputError(f"line {bad} is not {encoding}", where=table.shown, hint=hint)
    if not has_text:
        hint = "Give a table with a line of column names and its rows."
        raise InputError("the file is empty", where=table.shown, hint=hint)
    if has_cr and line == 1:
        raise InputError("its lines end in CR alone", where=table.shown, hint=_also(table).strip())


def _checked_codec(table: SealedFile, encoding: str) -> str:
    """Return the codec of an encoding, with its order of bytes; raises InputError where the first bytes tell
    another one, or none of the two orders.
    """
    codec = codec_of(encoding)
    name, found = _unicode_by_bytes(table) or ("", "")
    if codec in (found, name):
        return found
    if name or codec in ("utf-16", "utf-32"):
        finding = f"is {name}, not {encoding}" if name else f"begins with no byte order mark of {encoding}"
        raise InputError(finding, where=table.shown, hint=_advice(table, codec, name) + _also(table))
    return codec


def _advice(table: SealedFile, codec: str, likely: str = "") -> str:
    """Return how to correct the encoding, which is likely this one."""
    likely = likely or guess_encoding(table)
    if codec_of(likely) == codec:  # a damaged file, or one that is no text
        return "Save the file as utf-8."
    if likely == UTF_8:
        return "Set source.encoding: utf-8."
    if read := readings(lines_beyond_ascii(table), likely):
        return f"Set source.encoding: {said_of(read)}; or save the file as utf-8."
    return f"Set source.encoding: {likely}, or save the file as utf-8."


def _also(table: SealedFile) -> str:
    """Return what else must be corrected before the file is read, so that one look at the file is enough."""
    text, _ = next(_pieces(table, _checked_codec(table, guess_encoding(table))))
    ends = "Save the file with LF or CRLF line ends." if "\r" in text and "\n" not in text else ""
    return "".join(f" {one}" for one in (ends, separator_advice(text)) if one)


def _pieces(table: SealedFile, codec: str, *, is_whole: bool = True) -> Iterator[tuple[str, bool]]:
    """Yield the text piece by piece; the last one is not good where it ends before what is no text.

    That is what the codec does not know and, except in UTF-8 and its kin, a control character: those of
    Latin-1 stand for letters in the encodings of Windows, and no table has them.
    """
    decoder = codecs.getincrementaldecoder(codec)("strict")
    chunk, is_good = b"-", True
    with table.open() as file:
        while chunk and is_good:
            chunk = file.read(CHUNK)
            try:
                text = decoder.decode(chunk, final=not chunk and is_whole)
            except UnicodeDecodeError as error:
                text, is_good = error.object[: error.start].decode(codec, "ignore"), False
            control = None if is_unicode(codec) else _CONTROLS.search(text)
            if control:
                text, is_good = text[: control.start()], False
            yield text, is_good


def _is_in(table: SealedFile, encoding: str) -> bool:
    """Tell whether the whole text is in an encoding."""
    return all(is_good for _, is_good in _pieces(table, codec_of(encoding)))


def _damaged_lines(table: SealedFile) -> tuple[list[int], bytes]:
    """Return the numbers of the lines that are not in UTF-8, with the first of them, where over twice as many
    others beyond ASCII are: letters of another encoding hardly ever follow one another as those of UTF-8.
    """
    damaged, sample = dict[int, None](), bytearray()
    n_good, number = 0, 1
    with table.open() as file:
        for line in iter(lambda: file.readline(_SAMPLE), b""):  # a line may be as long as the file
            try:
                n_good += bool(line.decode(UTF_8)) and not line.isascii()
            except UnicodeDecodeError:
                damaged[number] = None
                sample += line[: _SAMPLE - len(sample)]
            number += line.endswith(b"\n")
    return ([*damaged], bytes(sample)) if n_good >= max(_LEAST_GOOD, 2 * len(damaged) + 1) else ([], b"")


def _damaged(table: SealedFile, lines: Sequence[int], sample: bytes) -> InputError:
    """Return the error of a text in UTF-8 of which some lines are not."""
    told = ", ".join(map(str, lines[:_MOST_TOLD]))
    if len(lines) > _MOST_TOLD:
        told += f" and {len(lines) - _MOST_TOLD:,} more"
    return InputError(
        f"line {told} is not utf-8, and all others are"
        if len(lines) == 1
        else f"lines {told} are not utf-8, and all others are",
        where=table.shown,
        hint=f"Correct these lines, which may be in {_likely(sample)[0]}, and save the whole file as utf-8.",
    )


def _unicode_by_bytes(table: SealedFile) -> tuple[str, str] | None:
    """Return the encoding, and its codec, that a byte order mark or zeros among the first bytes tell."""
    with table.open() as file:
        head = file.read(_HEAD)
    for mark, name, codec in _MARKS:
        if head.startswith(mark):
            return name, codec
    quarter = len(head) // 4
    zeros = [head[place : 4 * quarter : 4].count(0) for place in range(4)]
    if not quarter or sum(zeros) < 2 * _ZEROS * quarter:
        return None
    places = {
        "utf-32-le": zeros[2:] == [quarter, quarter] and not zeros[0],
        "utf-32-be": zeros[:2] == [quarter, quarter] and not zeros[3],
        "utf-16-le": not zeros[0] and not zeros[2],
        "utf-16-be": not zeros[1] and not zeros[3],
    }
    codec = next((codec for codec, fits in places.items() if fits), "")
    return (codec, codec) if codec and re.search("[\r\n]", head.decode(codec, "ignore")) else None


def _decodes(sample: bytes, encoding: str) -> bool:
    """Tell whether bytes are text in an encoding."""
    try:
        text: str = sample.decode(codec_of(encoding))
    except UnicodeDecodeError:
        return False
    return _CONTROLS.search(text) is None


def lines_beyond_ascii(table: SealedFile) -> bytes:
    """Return the first lines that are not ASCII, each once."""
    found: dict[bytes, None] = {}
    size = 0
    with table.open() as file:
        for line in iter(lambda: file.readline(_SAMPLE), b""):  # a line may be as long as the file
            if not line.isascii() and line not in found:
                found[line] = None
                size += len(line)
                if size > _SAMPLE:
                    break
    return b"".join(found)[:_SAMPLE]


def _likely(sample: bytes) -> list[str]:
    """Return encodings, the likeliest first: by the script that the text would be in, and by its words."""
    from charset_normalizer import from_bytes

    several = _n_letters(sample) >= _LETTERS  # fewer tell no script
    best = from_bytes(sample, cp_isolation=list(_LIKELY)).best() if several else None
    by_script = _LIKELY.get(best.encoding, "windows-1252") if best else "windows-1252"
    if several and not _is_latin(sample) and (cyrillic := _cyrillic(sample, by_script)):
        return cyrillic
    names = (*_alphabetic(sample, "windows-1252"), *_RARE)
    names = (by_script, *names) if by_script == "windows-1254" else names  # Turkish looks like Icelandic
    latin = sorted(names, key=lambda name: _oddness(sample.decode(codec_of(name), "replace")))
    return latin if by_script in ("windows-1252", *_LATIN) or _is_latin(sample) else [by_script, *latin]


def _n_letters(sample: bytes) -> int:
    return len({byte for byte in sample if byte > 0x7F})


def _alphabetic(sample: bytes, encoding: str) -> tuple[str, ...]:
    """Return the encodings in the script of this one, Latin or Cyrillic; both where few letters tell none."""
    if encoding not in (*_LATIN, *_CYRILLIC):
        return ()
    if 1 < _n_letters(sample) < _LETTERS and not _is_latin(sample):
        return (*_LATIN, *_CYRILLIC)
    return _LATIN if encoding in _LATIN else _CYRILLIC


def _cyrillic(sample: bytes, by_script: str) -> list[str]:
    """Return the encodings of Cyrillic script, the likeliest first; nothing for a text in another one."""
    odd = {name: _oddness(sample.decode(codec_of(name))) for name in _CYRILLIC if _decodes(sample, name)}
    words = len({word for word in _WORDS.findall(sample) if not word.isascii()})
    good = [name for name, (n, _) in odd.items() if n <= _FEW_ODD * words]
    # Greek and Hebrew look like words in the two that are told by script.
    if by_script not in _BY_SCRIPT and (not good or {*good} & {*_BY_SCRIPT}):
        return []
    return sorted(odd, key=lambda name: (odd[name], name != by_script))


def _is_latin(sample: bytes) -> bool:
    """Tell whether letters of ASCII are most of the words that hold others, as in no other script."""
    words: list[bytes] = [word for word in _WORDS.findall(sample) if not word.isascii()]
    return sum(byte < 0x80 for word in words for byte in word) > sum(map(len, words)) / 2


def _oddness(text: str) -> tuple[int, int]:
    """Count the words that no language writes so, and those beside the language that writes most of them."""
    words = {
        word for word in re.split(r"[\x00-@\[-`{-\x7f]+", text) if not (word.isascii() or {*word} <= _SIGNS)
    }
    letters = [
        frozenset(letter for letter in word.casefold() if letter > "\x7f" and letter not in "\u2019€")
        for word in words
    ]
    known = [sum(own <= alphabet for own in letters) for alphabet in _ALPHABETS]
    odd = sum(
        _has_odd_case(word) or not any(own <= alphabet for alphabet in _ALPHABETS)
        for word, own in zip(words, letters, strict=True)
    )
    return odd, len(letters) - max(known)


def _has_odd_case(word: str) -> bool:
    """Tell whether a letter beyond ASCII is the only large one among small ones, or the other way round."""
    return any(
        (before.islower() and one.isupper()) or (before.isupper() and one.islower() and after.isupper())
        for before, one, after in zip(word, word[1:], word[2:] + "-", strict=False)
        if one > "\x7f"
    )


def readings(sample: bytes, encoding: str) -> dict[str, str]:
    """Return the encodings that are as likely as this one for lines in Latin or Cyrillic script, each with a
    word that it reads otherwise, or a letter where few lines share the word; nothing where no other is.
    """
    alphabetic = _alphabetic(sample, encoding)
    names = [name for name in (encoding, *alphabetic) if alphabetic and _decodes(sample, name)]
    texts = {name: sample.decode(codec_of(name)) for name in names}
    likely = min(map(_oddness, texts.values()), default=(0, 0))
    alike = {texts[name]: name for name in reversed(texts) if _oddness(texts[name]) == likely}
    names = sorted(alike.values(), key=[*texts].index)
    counts = Counter(word for word in _WORDS.findall(sample) if not word.isascii())

    def read(word: bytes) -> dict[str, str]:
        return {name: word.decode(codec_of(name), "replace") for name in names}

    if len(names) < 2:
        return {}
    word = max(counts, key=lambda one: (len({*read(one).values()}), counts[one], one))
    if counts[word] < _SHARED:
        word = next(byte for at in range(len(word)) if len({*read(byte := word[at : at + 1]).values()}) > 1)
    return read(word)


def said_of(readings: Mapping[str, str]) -> str:
    """Say by what is read which encoding is right."""
    return ", ".join(f"{name} if '{text}' is right" for name, text in readings.items())
