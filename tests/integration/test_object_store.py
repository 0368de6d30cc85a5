"""Tables that are objects of an S3 store: read as files are, and told in one line where they cannot be."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
import fsspec
import pytest

from policy.errors import InputError, ReleaseGateError, TransientFailure, UsageError
from policy.load import load_policy
from policy.location import ObjectAddress, location_of
from policy.trusted import ObjectStore, Trusted
from services.awaited_input import ExpectedInput, look
from services.reproduction import reproduce
from tasks.intake import object_store, s3_client, sealed
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
    monkeypatch.setattr(s3_client, "PART_BYTES", 5000)
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
    monkeypatch.delitem(sys.modules, "tasks.intake.s3_client")
    with (
        pytest.raises(UsageError) as caught,
        sealed.sealed(ObjectAddress(BUCKET, "a.csv"), objects=s3.objects),
    ):
        pass
    assert caught.value.message == "needs the package s3fs, which is not installed"
    assert "[s3]" in caught.value.hint


def test_an_object_that_changes_meanwhile_is_refused(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_client, "PART_BYTES", 1000)
    address = s3.put("growing.csv", b"a\n" * 5000)
    with object_store.open_object(address, s3.objects, sealed.LARGEST_INPUT) as file:
        assert file.read(1000) == b"a\n" * 500
        s3.put("growing.csv", b"b\n" * 5000)
        with pytest.raises(InputError) as caught:
            list(iter(lambda: file.read(1000), b""))
    assert caught.value.message == "changed while it was being read"
    assert caught.value.where == str(address)


Handler = http.server.BaseHTTPRequestHandler


@contextmanager
def serving(answer: Callable[[Handler], None]) -> Iterator[str]:
    """A server on the loopback that answers GET, HEAD and CONNECT with `answer`; its address."""

    class Answering(Handler):
        def do_GET(self) -> None:  # noqa: N802 -- the server's own name
            answer(self)

        do_HEAD = do_CONNECT = do_GET  # noqa: N815 -- as above

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def sent(handler: Handler, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    if handler.command == "GET":
        handler.wfile.write(body)


@contextmanager
def answering(
    status: int, code: str = "AccessDenied", headers: Mapping[str, str] = {}
) -> Iterator[ObjectStore]:
    """A server that answers every request with the same status, and says something secret."""
    body = f"<Error><Code>{code}</Code><Message>canarysecretcanarysecret</Message></Error>".encode()
    length = {"Content-Length": str(len(body))}
    with serving(lambda handler: sent(handler, status, body, {**length, **headers})) as address:
        yield ObjectStore((), address, "us-east-1")


def test_an_object_that_this_account_may_not_read_is_told(s3: S3) -> None:
    with answering(403) as store:
        error = refused(ObjectAddress(BUCKET, "a.csv"), store)
    assert isinstance(error, InputError)
    assert error.message == "this account may not read it"


def test_a_store_that_is_broken_or_silent_may_be_asked_again(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_client, "TRIES", 1)
    monkeypatch.setattr(s3_client, "READ_SECONDS", 0.2)
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
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(s3: S3, status: int) -> None:
    asked: list[str] = []

    def other(handler: Handler) -> None:
        asked.append(handler.path)
        sent(handler, 200, b"a\n1\n", {"Content-Length": "4", "ETag": '"x"'})

    with serving(other) as elsewhere:
        headers = {"Location": f"{elsewhere}/{BUCKET}/a.csv", "x-amz-bucket-region": "eu-west-1"}
        with answering(status, "PermanentRedirect", headers) as store:
            error = refused(ObjectAddress(BUCKET, "a.csv"), store)
    assert isinstance(error, InputError)
    assert error.message == "the store redirects to another address, which is not asked"
    assert asked == []


WRITTEN = "Fri, 27 Nov 2026 10:00:00 GMT"
HEAD = {"Content-Length": "4", "ETag": '"x"', "Last-Modified": WRITTEN}
PART = {**HEAD, "Content-Range": "bytes 0-3/4"}


@contextmanager
def saying(
    head: Mapping[str, str], status: int, part: Mapping[str, str], body: bytes
) -> Iterator[ObjectStore]:
    """A server that answers HEAD with `head`, and GET with a status, the headers `part` and a body."""

    def answer(handler: Handler) -> None:
        if handler.command == "HEAD":
            sent(handler, 200, b"", head)
        else:
            sent(handler, status, body, part)

    with serving(answer) as address:
        yield ObjectStore((), address, "us-east-1")


def test_an_answer_to_what_was_asked_is_read(s3: S3) -> None:
    """The answers below differ from this one in one thing each."""
    with (
        saying(HEAD, 206, PART, b"a\n1\n") as store,
        object_store.open_object(ObjectAddress(BUCKET, "a.csv"), store, sealed.LARGEST_INPUT) as file,
    ):
        assert file.read() == b"a\n1\n"


def without(headers: Mapping[str, str], name: str) -> dict[str, str]:
    return {one: value for one, value in headers.items() if one != name}


@pytest.mark.parametrize(
    ("head", "status", "part", "body"),
    [
        pytest.param(without(HEAD, "ETag"), 206, PART, b"a\n1\n", id="no ETag of the object"),
        pytest.param(without(HEAD, "Content-Length"), 206, PART, b"a\n1\n", id="no size"),
        pytest.param(HEAD, 200, PART, b"a\n1\n", id="not a part"),
        pytest.param(HEAD, 206, {**PART, "Content-Length": "2"}, b"a\n", id="shorter"),
        pytest.param(HEAD, 206, {**PART, "Content-Length": "8"}, b"a\n1\n2\n3\n", id="longer"),
        pytest.param(HEAD, 206, without(PART, "Content-Length"), b"a\n1\n", id="no length"),
        pytest.param(HEAD, 206, {**PART, "Content-Range": "bytes 4-7/8"}, b"a\n1\n", id="another part"),
        pytest.param(HEAD, 206, without(PART, "Content-Range"), b"a\n1\n", id="no range"),
        pytest.param(HEAD, 206, {**PART, "ETag": '"y"'}, b"a\n1\n", id="another version"),
        pytest.param(HEAD, 206, without(PART, "ETag"), b"a\n1\n", id="no ETag of the part"),
    ],
)
def test_an_answer_to_something_else_is_refused(
    s3: S3, head: Mapping[str, str], status: int, part: Mapping[str, str], body: bytes
) -> None:
    with saying(head, status, part, body) as store:
        error = refused(ObjectAddress(BUCKET, "a.csv"), store)
    assert isinstance(error, InputError)
    assert error.message == "the store sends other bytes than were asked for, or no ETag"


@pytest.mark.enemy("other account", "reads a file")
def test_a_store_on_this_machine_is_asked_without_a_proxy(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    written = s3.put("a.csv", b"a\n1\n")

    def proxy(handler: Handler) -> None:
        asked.append(f"{handler.command} {handler.path}")
        sent(handler, 502, b"", {"Content-Length": "0"})

    with serving(proxy) as address:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, address)
            monkeypatch.setenv(name.lower(), address)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        with sealed.sealed(written, objects=s3.objects) as found:
            assert found.size == 4
        assert asked == []
        store = ObjectStore((), "https://storage.example.org", "us-east-1")
        error = refused(ObjectAddress(BUCKET, "a.csv"), store)
    assert error.message == "the store does not answer (ProxyConnectionError)"
    assert set(asked) == {"CONNECT storage.example.org:443"}  # what follows is under TLS


@pytest.mark.enemy("owner of the folder", "reads a file")
def test_the_settings_of_fsspec_change_nothing(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """fsspec fills them from `FSSPEC_S3`, `FSSPEC_S3_NAME` and ~/.config/fsspec when it is imported."""
    settings = {
        "use_ssl": False,
        "key": "ANOTHER",
        "secret": "x",
        "requester_pays": True,
        "profile": "another",
    }
    for protocol in ("s3", "s3a"):
        monkeypatch.setitem(fsspec.config.conf, protocol, settings)
    system = object_store._file_system(ObjectStore((), None, "eu-central-1"))
    system.connect()
    assert system.s3.meta.endpoint_url == "https://s3.eu-central-1.amazonaws.com"
    assert (system.key, system.secret, system.requester_pays, system.kwargs) == (None, None, False, {})
    with sealed.sealed(s3.put("a.csv", b"a\n1\n"), objects=s3.objects) as found:
        assert found.size == 4


@pytest.mark.parametrize("code", ["ExpiredToken", "InvalidToken"])
def test_credentials_that_have_expired_are_told(s3: S3, code: str) -> None:
    with answering(400, code) as store:
        error = refused(ObjectAddress(BUCKET, "a.csv"), store)
    assert isinstance(error, UsageError)
    assert error.message == "the store refuses the credentials or the region"


@pytest.mark.parametrize(("status", "code"), [(412, "PreconditionFailed"), (416, "InvalidRange")])
def test_another_version_is_told_when_the_object_is_opened(s3: S3, status: int, code: str) -> None:
    with answering(status, code) as store:
        error = refused(ObjectAddress(BUCKET, "a.csv"), store)
    assert isinstance(error, InputError)
    assert error.message == "changed while it was being read"


@pytest.mark.parametrize(
    ("variable", "value", "config", "kind"),
    [
        ("AWS_PROFILE", "typo", "", "ProfileNotFound"),
        ("AWS_DEFAULT_REGION", "x.example.org/#", "", "InvalidRegionError"),
        ("AWS_EC2_METADATA_DISABLED", "true", "[broken\nx", "ConfigParseError"),
        (
            "AWS_PROFILE",
            "process",
            "[profile process]\ncredential_process = sh -c 'echo canarysecretcanarysecret >&2; exit 3'\n",
            "CredentialRetrievalError",
        ),
        (
            "AWS_PROFILE",
            "web",
            "[profile web]\nrole_arn = arn:aws:iam::123456789012:role/x\nweb_identity_token_file = /none\n",
            "FileNotFoundError",
        ),
    ],
)
def test_the_settings_of_the_account_are_told(
    s3: S3, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, config: str, kind: str
) -> None:
    address = s3.put("a.csv", b"a\n1\n")
    monkeypatch.setenv(variable, value)
    if variable == "AWS_PROFILE":
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
    folder = Path.home() / ".aws"
    folder.mkdir()
    (folder / "config").write_text(config)
    store = ObjectStore() if kind == "InvalidRegionError" else s3.objects
    error = refused(address, store)
    assert isinstance(error, UsageError)
    assert error.message == f"the AWS settings of this account cannot be used ({kind})"
    with pytest.raises(UsageError):  # it is not late either: nobody could look for it
        object_store.object_status(address, store)


@pytest.mark.parametrize("key", ["e\u0301te\u0301.csv", "\u0939\u093f\u0928\u094d\u0926\u0940.csv"])
def test_a_key_with_combining_marks_is_read(s3: S3, key: str) -> None:
    found = location_of(f"s3://{BUCKET}/{key}", "--input")
    assert found == s3.put(key, b"a\n1\n")
    assert isinstance(found, ObjectAddress)
    with sealed.sealed(found, objects=s3.objects) as read:
        assert read.size == 4


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
