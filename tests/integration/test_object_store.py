"""Tables that are objects of an S3 store: read as files are, and told in one line where they cannot be."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from policy.errors import InputError, ReleaseGateError, TransientFailure, UsageError
from policy.load import load_policy
from policy.location import ObjectAddress, location_of
from policy.trusted import ObjectStore, Trusted
from services.awaited_input import ExpectedInput, look
from services.reproduction import reproduce
from tasks.intake import object_store, sealed
from tasks.intake.read import read_table
from tests.support.front_desk import Desk
from tests.support.s3_server import BUCKET, CREDENTIALS, S3


def trusting(desk: Desk, s3: S3, text: str | None = None) -> None:
    path = desk.folder / "trusted.yaml"
    path.write_text(s3.trusted if text is None else text)
    path.chmod(0o600)


def parquet(table: Path) -> Path:
    path = table.with_suffix(".parquet")
    duckdb.execute(f"COPY (FROM '{table}') TO '{path}' (FORMAT parquet)")
    return path


def refused(address: ObjectAddress, store: ObjectStore) -> ReleaseGateError:
    """Return why an object cannot be read; it names the address, and nothing of who asks or what is in it."""
    with pytest.raises(ReleaseGateError) as caught, sealed.sealed(address, objects=store):
        pass
    error = caught.value
    assert error.where == str(address)
    assert error.hint
    assert "\n" not in error.message
    assert error.__cause__ is None
    assert error.__context__ is None
    for secret in CREDENTIALS.values():
        assert secret not in str(error)
    return error


def test_a_policys_object_is_released_with_the_digest_of_its_bytes(desk: Desk, s3: S3) -> None:
    trusting(desk, s3)
    table = desk.table()
    s3.put("clinic/2026Q1.csv", table.read_bytes())
    policy = desk.policy(source={"path": f"s3://{BUCKET}/clinic/{{period}}.csv"})
    assert desk.say("run", policy, "--period", "2026Q1", "--by", "ann") == 0
    (release,) = desk.store.releases()
    assert reproduce(desk.store, release.release_id, table).same  # refused if the digest were another
    assert desk.say("reproduce", release.release_id) == 0
    assert desk.say("audit", "clinic", "--input", f"2026Q1=s3://{BUCKET}/clinic/2026Q1.csv") == 0
    s3.put("clinic/2026Q1.csv", desk.table("other.csv", seed=2).read_bytes())
    assert desk.say("reproduce", release.release_id) == UsageError.exit_code


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_an_object_that_a_command_names_is_read_as_the_file(desk: Desk, s3: S3, kind: str) -> None:
    table = desk.table()
    content = {
        "csv": table.read_bytes(),
        "csv.gz": gzip.compress(table.read_bytes()),
        "parquet": parquet(table).read_bytes(),
    }[kind]
    address = s3.put(f"given/people.{kind}", content)
    trusted = Trusted(objects=s3.objects)
    policy = load_policy(desk.policy())
    found = read_table(policy, input_path=address, period="2026Q1", base=desk.folder, trusted=trusted)
    file = desk.folder / f"copy.{kind}"
    file.write_bytes(content)
    same = read_table(policy, input_path=file, period="2026Q1", base=desk.folder)
    assert found.digest == same.digest == hashlib.sha256(content).hexdigest()
    assert found.frame.equals(same.frame)
    assert found.origin == f"people.{kind}"


def test_an_object_of_many_parts_is_whole(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "PART_BYTES", 5000)
    monkeypatch.setattr(sealed, "CHUNK", 1000)
    content = bytes(range(256)) * 200
    address = s3.put("many.csv", content)
    with sealed.sealed(address, objects=s3.objects) as found, found.open() as file:
        assert file.read() == content
        assert found.digest == hashlib.sha256(content).hexdigest()


def test_a_command_gives_an_object_with_input(desk: Desk, s3: S3) -> None:
    trusting(desk, s3, f"s3: {{endpoint: '{s3.endpoint}', region: us-east-1}}\n")
    address = s3.put("operator/people.csv", desk.table().read_bytes())
    assert desk.say("run", desk.policy(), "--input", address, "--period", "2026Q1", "--by", "ann") == 0
    assert len(desk.store.releases()) == 1


@pytest.mark.enemy("policy author", "reads a file")
def test_a_policy_alone_reads_no_object(
    desk: Desk, s3: S3, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `trusted.yaml` no store is asked at all, and with it only below its addresses."""
    asked: list[object] = []
    monkeypatch.setattr(object_store, "_file_system", asked.append)
    s3.put("secret/people.csv", desk.table().read_bytes())
    address = f"s3://{BUCKET}/secret/people.csv"
    sources = (
        {"path": address},
        {"query": "from a", "inputs": {"a": address}},
    )
    for text in ("", f"s3: {{prefixes: ['s3://{BUCKET}/open'], endpoint: '{s3.endpoint}'}}\n"):
        trusting(desk, s3, text)
        for source in sources:
            policy = desk.policy(source=source)
            assert desk.say("run", policy, "--period", "2026Q1", "--by", "ann") == UsageError.exit_code
            lines = [line for line in capsys.readouterr().err.splitlines() if "is not below" in line]
            assert len(lines) == 1
            assert address in lines[0]
    assert not asked


def test_the_further_inputs_of_a_query_may_be_objects(desk: Desk, s3: S3) -> None:
    trusting(desk, s3)
    s3.put("parts/a.csv", desk.table().read_bytes())
    query = "from people"
    policy = desk.policy(source={"query": query, "inputs": {"people": f"s3://{BUCKET}/parts/a.csv"}})
    assert desk.say("run", policy, "--period", "2026Q1", "--by", "ann") == 0


def test_what_is_not_there_is_told(s3: S3) -> None:
    s3.put("folder/one.csv", b"a\n1\n")
    assert refused(ObjectAddress(BUCKET, "none.csv"), s3.objects).message == "no such object"
    assert refused(ObjectAddress("no-bucket", "none.csv"), s3.objects).message == "no such bucket"
    assert refused(ObjectAddress(BUCKET, "folder"), s3.objects).message == "is a folder"


def test_a_key_in_an_object_is_refused(s3: S3) -> None:
    address = s3.put("key.csv", b"-----BEGIN PRIVATE KEY-----\n")
    assert refused(address, s3.objects).message == "is a key (PEM), not a table"


def test_an_object_that_is_compressed_too_much_is_refused(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "HARMLESS_BYTES", 1000)
    address = s3.put("bomb.csv.gz", gzip.compress(b"0" * 10_000_000))
    assert "is compressed more than 200 times" in refused(address, s3.objects).message
    monkeypatch.setattr(sealed, "LARGEST_INPUT", 1000)
    assert "has more than" in refused(s3.put("large.csv", b"0" * 5000), s3.objects).message


def test_without_credentials_nothing_is_asked(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    address = s3.put("a.csv", b"a\n1\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    error = refused(address, s3.objects)
    assert isinstance(error, UsageError)
    assert error.message == "has no credentials for S3"


def test_without_the_extra_it_is_told_how_to_install_it(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with (
        pytest.raises(UsageError) as caught,
        sealed.sealed(ObjectAddress(BUCKET, "a.csv"), objects=s3.objects),
    ):
        pass
    assert caught.value.message == "needs the package s3fs, which is not installed"
    assert "[s3]" in caught.value.hint


def test_an_object_that_changes_meanwhile_is_refused(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "PART_BYTES", 1000)
    address = s3.put("growing.csv", b"a\n" * 5000)
    with object_store.open_object(address, s3.objects) as file:
        assert file.read(1000) == b"a\n" * 500
        s3.put("growing.csv", b"b\n" * 5000)
        with pytest.raises(InputError) as caught:
            list(iter(lambda: file.read(1000), b""))
    assert caught.value.message == "changed while it was being read"
    assert caught.value.where == str(address)


@contextmanager
def answering(status: int) -> Iterator[ObjectStore]:
    """A server that answers every request with the same status, and says something secret."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<Error><Code>AccessDenied</Code><Message>canarysecretcanarysecret</Message></Error>"
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 -- the server's own name

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield ObjectStore((), f"http://127.0.0.1:{server.server_address[1]}", "us-east-1")
        server.shutdown()


def test_an_object_that_this_account_may_not_read_is_told(s3: S3) -> None:
    with answering(403) as store:
        error = refused(ObjectAddress(BUCKET, "a.csv"), store)
    assert isinstance(error, InputError)
    assert error.message == "this account may not read it"


def test_a_store_that_is_broken_or_silent_may_be_asked_again(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "TRIES", 1)
    monkeypatch.setattr(object_store, "READ_SECONDS", 0.2)
    address = ObjectAddress(BUCKET, "a.csv")
    with answering(503) as store:
        assert isinstance(refused(address, store), TransientFailure)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = ObjectStore((), f"http://127.0.0.1:{silent.getsockname()[1]}", "us-east-1")
        error = refused(address, store)
        assert isinstance(error, TransientFailure)
        assert error.message == "the store does not answer (ReadTimeoutError)"
    error = refused(address, store)  # nobody listens there any more
    assert isinstance(error, TransientFailure)
    assert "the store does not answer" in error.message


@pytest.mark.enemy("owner of the folder", "reads a file")
def test_the_endpoint_is_that_of_the_stores_owner_alone(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "FSSPEC_S3_ENDPOINT_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    folder = Path.home() / ".aws"
    folder.mkdir()
    (folder / "config").write_text("[default]\nendpoint_url = http://127.0.0.1:1\n")
    address = s3.put("a.csv", b"a\n1\n")
    with sealed.sealed(address, objects=s3.objects) as found:
        assert found.size == 4
    system = object_store._file_system(ObjectStore((), None, "eu-central-1"))
    system.connect()
    assert system.s3.meta.endpoint_url == "https://s3.eu-central-1.amazonaws.com"


@pytest.mark.enemy("other account", "reads a file")
def test_nothing_of_an_object_reaches_a_disk(s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that is opened for writing while an object is read is told by Python's audit hook."""
    address = s3.put("people.csv", b"a\n" * 100_000)
    written: list[str] = []
    watching = True

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            written.append(str(arguments[0]))

    sys.addaudithook(hook)
    try:
        with sealed.sealed(address, objects=s3.objects) as found:
            assert found.size == 200_000
        assert written == []
        (tmp_path / "seen").write_text("this one is")
        assert written == [str(tmp_path / "seen")]
    finally:
        watching = False


def test_an_object_that_is_late_is_waited_for(desk: Desk, s3: S3) -> None:
    written = {"path": f"s3://{BUCKET}/late/{{period}}.csv", "wait": {"settled_seconds": 0}}
    policy = load_policy(desk.policy(source=written))
    trusted = Trusted(objects=s3.objects)
    expected = ExpectedInput(policy, "2026Q1", None, desk.folder, trusted)
    assert look(expected).late == "is not there"
    s3.put("late/2026Q1.csv", b"a\n")
    first = look(expected)
    assert first.late == ""
    s3.put("late/2026Q1.csv", b"b\n")
    assert look(expected, first.seen).late == "has changed since the last check"
    unreachable = Trusted(objects=ObjectStore(s3.objects.prefixes, "http://127.0.0.1:1", "us-east-1"))
    assert look(ExpectedInput(policy, "2026Q1", None, desk.folder, unreachable)).late == ""


def test_a_bad_address_on_the_command_line_is_one_line(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ("run", desk.policy(), "--input", "https://user:hunter2@example.org/people.csv", "--by", "ann")
    assert desk.say(*said) == UsageError.exit_code
    told = capsys.readouterr().err
    assert "releasegate: --input: is an address that is not of S3" in told
    assert "hunter2" not in told


def test_the_address_is_the_text_that_was_given() -> None:
    assert str(location_of("s3://tables/a/b.csv", "--input")) == "s3://tables/a/b.csv"
