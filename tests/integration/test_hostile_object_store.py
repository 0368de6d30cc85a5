"""An S3 store that belongs to an enemy: nothing is read but what was asked for, and nobody waits for ever."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from itertools import repeat
from threading import Event as Pause

import pytest

from policy.errors import ReleaseGateError
from policy.location import ObjectAddress
from policy.trusted import ObjectStore
from tasks.intake import object_store, s3_client
from tasks.intake.sealed import sealed
from tests.support.hostile_store import Answer, head, hostile_store, part, whole
from tests.support.s3_server import CREDENTIALS
from tests.support.timeouts import HANG_TIMEOUT

ADDRESS = ObjectAddress("tables", "people.csv")
CELL = "zebra-4711"
TEXT = b"a,b\n1,2\n"


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An account that has credentials and no other settings of AWS."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setattr(s3_client, "TRIES", 1)


def refused(
    store: ObjectStore, capfd: pytest.CaptureFixture[str], address: ObjectAddress = ADDRESS
) -> ReleaseGateError:
    """Return why the object cannot be read; nothing of what the store says is told or printed."""
    with pytest.raises(ReleaseGateError) as caught, sealed(address, objects=store):
        pass
    error = caught.value
    assert error.where == str(address)
    assert error.hint
    assert "\n" not in error.message
    assert error.__cause__ is error.__context__ is None
    shown = f"{error}{capfd.readouterr()}"
    assert CELL not in shown
    assert CREDENTIALS["AWS_SECRET_ACCESS_KEY"] not in shown
    return error


def answers(of_object: bytes, of_part: Answer) -> Answer:
    def answer(method: str, asked: tuple[int, int]) -> Iterable[bytes]:
        return [of_object] if method == "HEAD" else of_part(method, asked)

    return answer


def of_part(body: bytes, **headers: object) -> Answer:
    return answers(whole(len(TEXT)), lambda _, asked: [part(asked, len(TEXT), **headers), body])


def test_an_honest_store_is_read() -> None:
    with hostile_store(of_part(TEXT)) as (store, asked), sealed(ADDRESS, objects=store) as found:
        with found.open() as file:
            assert file.read() == TEXT
        assert [one.partition(" ")[0] for one in asked] == ["HEAD", "GET"]


def in_chunks(body: Iterable[bytes]) -> Iterator[bytes]:
    for one in body:
        yield b"%x\r\n%s\r\n" % (len(one), one)


PARTS: dict[str, Answer] = {
    "another place": of_part(TEXT, Content_Range="bytes 1-8/9"),
    "no place": of_part(TEXT, Content_Range=None),
    "another length": of_part(TEXT, Content_Length=4),
    "no length": of_part(TEXT, Content_Length=None),
    "a negative length": of_part(TEXT, Content_Length=-8),
    "another version": of_part(TEXT, ETag='"other"'),
    "no version": of_part(TEXT, ETag=None),
    "all of it": answers(whole(len(TEXT)), lambda *_: [whole(len(TEXT)), TEXT]),
    "nothing": of_part(b"", Content_Length=0),
    "chunks": of_part(b"8\r\na,b\n1,2\n\r\n0\r\n\r\n", Transfer_Encoding="chunked", Content_Length=None),
    "chunks of a length": of_part(b"8\r\na,b\n1,2\n\r\n0\r\n\r\n", Transfer_Encoding="chunked"),
    "an error with a cell": answers(
        whole(len(TEXT)),
        lambda *_: [head("403", Content_Length=64), f"<Error><Code>{CELL}</Code></Error>".encode().ljust(64)],
    ),
    "entities": answers(
        whole(len(TEXT)),
        lambda *_: [
            head("500 Internal Server Error", Content_Length=160),
            b'<!DOCTYPE a [<!ENTITY a "aaa"><!ENTITY b "&a;&a;">]><Error><Code>&b;</Code></Error>'.ljust(160),
        ],
    ),
    "a file of this machine": answers(
        whole(len(TEXT)),
        lambda *_: [
            head("500 Internal Server Error", Content_Length=160),
            b'<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><Error><Code>&a;</Code></Error>'.ljust(160),
        ],
    ),
    "another host": answers(
        whole(len(TEXT)), lambda *_: [head("307 x", Location="http://127.0.0.1:1/x", Content_Length=0)]
    ),
    "no HTTP": answers(whole(len(TEXT)), lambda *_: [b"SSH-2.0\r\n\r\n"]),
    "no size": answers(whole(len(TEXT), Content_Length=None), lambda *_: []),
    "a negative size": answers(whole(-5), lambda *_: []),
    "no tag": answers(whole(len(TEXT), ETag=None), lambda *_: []),
    "a thousand headers": answers(whole(8, **{f"x{i}": "x" for i in range(100_000)}), lambda *_: []),
    "a long header": answers(whole(8, x="x" * 1_000_000), lambda *_: []),
}  # fmt: skip


@pytest.mark.enemy("server of a table", "learns a value")
@pytest.mark.parametrize("what", PARTS)
@pytest.mark.by_day(7)
def test_what_is_not_what_was_asked_for_ends_in_one_line(
    what: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_client, "READ_SECONDS", 2)
    with hostile_store(PARTS[what]) as (store, _):
        refused(store, capfd)


def names_without_end(status: str) -> Answer:
    """Have no such object, and as many names as are read."""

    def answer(method: str, _: tuple[int, int]) -> Iterable[bytes]:
        if method == "HEAD":
            return [head("404 x", Content_Length=0)]
        return [head(status, Transfer_Encoding="chunked"), *in_chunks([b"x" * 65536] * 99)]

    return answer


ENDLESS: dict[str, Answer] = {
    "a refusal": answers(
        whole(8), lambda *_: [head("403 x", Transfer_Encoding="chunked"), *in_chunks([b"x" * 65536] * 99)]
    ),
    "a list of names": names_without_end("200 OK"),
    "a list of names as a part": names_without_end("206 Partial Content"),
}  # fmt: skip


@pytest.mark.enemy("server of a table", "stops the work")
@pytest.mark.parametrize("what", ENDLESS)
def test_a_body_without_end_is_not_gathered(
    what: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six megabytes are sent, and what says that they end is not: nobody waits for it."""
    monkeypatch.setattr(s3_client, "READ_SECONDS", HANG_TIMEOUT)
    monkeypatch.setattr(s3_client, "ANSWER_SECONDS", HANG_TIMEOUT)
    with hostile_store(ENDLESS[what]) as (store, _):
        refused(store, capfd)


def drops(*before: bytes) -> Iterator[bytes]:
    """Give a byte at a time, for as long as somebody reads."""
    yield b"".join(before)
    pause = Pause()
    while True:
        pause.wait(0.05)
        yield b"x"


SLOW: dict[str, Answer] = {
    "of the object": lambda *_: drops(b"HTTP/1.1 200 OK\r\nx: "),
    "of a part": answers(whole(1 << 20), lambda _, asked: drops(part(asked, 1 << 20))),
    "of an error": answers(whole(8), lambda *_: drops(head("403 x", Content_Length=1 << 20))),
    "of a promise": lambda *_: repeat(b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@pytest.mark.enemy("server of a table", "stops the work")
@pytest.mark.parametrize("what", SLOW)
def test_a_byte_at_a_time_is_not_waited_for(
    what: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_client, "ANSWER_SECONDS", 1)
    with hostile_store(SLOW[what]) as (store, _):
        assert "the store does not answer" in refused(store, capfd).message


@pytest.mark.enemy("server of a table", "stops the work")
def test_parts_that_come_too_slowly_end_the_reading(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(object_store, "LEAST_SPEED", 1e12)
    with hostile_store(of_part(TEXT)) as (store, _):
        assert refused(store, capfd).message == "is sent too slowly"


@pytest.mark.enemy("server of a table", "stops the work")
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_what_the_store_calls_compressed_is_not_decompressed(
    coding: str, capfd: pytest.CaptureFixture[str]
) -> None:
    packed = gzip.compress(bytes(10_000_000))
    answer = answers(
        whole(len(packed)), lambda _, asked: [part(asked, len(packed), Content_Encoding=coding), packed]
    )
    with hostile_store(answer) as (store, _), sealed(ADDRESS, objects=store) as found:
        assert found.size == len(packed)


@pytest.mark.enemy("server of a table", "stops the work")
def test_a_size_that_no_table_has_is_refused_before_it_is_read(capfd: pytest.CaptureFixture[str]) -> None:
    with hostile_store(answers(whole(1 << 60), lambda *_: [])) as (store, asked):
        assert refused(store, capfd).message == "has more than 64 GiB"
    assert all(one.startswith("HEAD") for one in asked)
