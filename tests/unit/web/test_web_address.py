"""Where a server listens: this machine alone, unless it speaks TLS; and what it needs to start."""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from cli.__main__ import main
from policy.errors import UsageError
from release_store.store import ReleaseStore
from tests.support.at_work import key_file
from tests.support.strangers import give_away, needs_root
from web.serve import Address, check_address, is_loopback, origins_of, server_config
from web.settings import Settings

Capture = pytest.CaptureFixture[str]
PUBLIC = "https://gate.example.org:8765"


@pytest.mark.parametrize(
    ("host", "is_it"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 -- it is to be refused
        ("::", False),
        ("10.0.0.7", False),
        ("gate.example.org", False),
        ("", False),
    ],
)
def test_what_only_this_machine_reaches(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it


def test_another_address_needs_tls_and_a_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no TLS"):
        check_address(Address("10.0.0.7", 8765, PUBLIC))
    with pytest.raises(UsageError, match="a certificate and its key"):
        check_address(Address("127.0.0.1", 8765, certificate=tmp_path / "a.pem"))
    with pytest.raises(UsageError, match="browsers use is not known"):
        check_address(Address("10.0.0.7", 8765, "", tmp_path / "a.pem", tmp_path / "b.pem"))
    with pytest.raises(UsageError, match="cannot be used as a certificate"):
        check_address(Address("10.0.0.7", 8765, PUBLIC, tmp_path / "a.pem", tmp_path / "b.pem"))


def tls_files(folder: Path, key: Any, days: tuple[int, int] = (-1, 10)) -> tuple[Path, Path]:
    """Write a certificate that is valid on these days from now on, and its key."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gate.example.org")])
    first, last = (datetime.now(UTC) + timedelta(days=day) for day in days)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(first)
        .not_valid_after(last)
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM
    own = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    certificate, private = folder / "serve.pem", folder / "serve.key"
    certificate.write_bytes(made.public_bytes(form))
    private.write_bytes(key.private_bytes(form, *own))
    private.chmod(0o600)
    return certificate, private


@pytest.mark.enemy("other account", "gains a role")
def test_a_certificate_that_protects_nobody_is_refused(tmp_path: Path) -> None:
    curve = ec.generate_private_key(ec.SECP256R1())
    certificate, key = tls_files(tmp_path, curve)
    served = Address("10.0.0.7", 8765, PUBLIC, certificate, key)
    for mode in (0o400, 0o600, 0o640):  # a group of its own may read it
        key.chmod(mode)
        check_address(served)
    for mode in (0o644, 0o604, 0o602):
        key.chmod(mode)
        with pytest.raises(UsageError, match="can be read by others"):
            check_address(served)
    for days in ((-10, -1), (1, 10)):
        tls_files(tmp_path, curve, days)
        with pytest.raises(UsageError, match=r"is valid from \d{4}-\d\d-\d\d to .* only"):
            check_address(served)
    tls_files(tmp_path, rsa.generate_private_key(65537, 1024))  # noqa: S505 -- it is to be refused
    with pytest.raises(UsageError, match="cannot be used as a certificate"):
        check_address(served)
    tls_files(tmp_path, curve)
    (other := tmp_path / "other").mkdir()
    theirs, _ = tls_files(other, ec.generate_private_key(ec.SECP256R1()))
    with pytest.raises(UsageError, match="cannot be used as a certificate"):  # of somebody else's key
        check_address(Address("10.0.0.7", 8765, PUBLIC, theirs, key))


@pytest.mark.enemy("other account", "gains a role")
def test_no_old_tls_is_spoken(store: ReleaseStore, tmp_path: Path) -> None:
    files = tls_files(tmp_path, ec.generate_private_key(ec.SECP256R1()))
    config = server_config(Settings(store.root, (PUBLIC,)), Address("10.0.0.7", 8765, PUBLIC, *files))
    config.load()
    assert config.ssl is not None
    assert config.ssl.minimum_version >= ssl.TLSVersion.TLSv1_2
    ciphers = config.ssl.get_ciphers()
    assert ciphers
    assert all(
        one["name"].startswith(("TLS_", "ECDHE-", "DHE-")) for one in ciphers
    )  # no key reads old talks


@needs_root
@pytest.mark.enemy("other account", "forges a word")
@pytest.mark.parametrize("name", ["a.pem", "b.pem"])
def test_a_strangers_certificate_or_key_serves_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    give_away(tmp_path / name)
    with pytest.raises(UsageError, match="belongs to user"):
        check_address(Address("10.0.0.7", 8765, PUBLIC, tmp_path / "a.pem", tmp_path / "b.pem"))


@pytest.mark.parametrize(
    "origin",
    [
        "http://gate.example.org",
        f"{PUBLIC}/a",
        "https://Gate.example.org",
        "https://x:y@gate",
        "https://",
        "gate",
        "https://a:b",
    ],
)
def test_an_origin_is_an_address_under_tls_and_nothing_more(origin: str) -> None:
    check_address(Address("127.0.0.1", 8765, PUBLIC))
    with pytest.raises(UsageError, match="is not the origin of a page under TLS"):
        check_address(Address("127.0.0.1", 8765, origin))


def test_the_origins_are_those_of_the_address() -> None:
    assert origins_of(Address("127.0.0.1", 0), 99) == ("http://127.0.0.1:99", "http://localhost:99")
    assert origins_of(Address("::1", 0), 80) == ("http://[::1]", "http://localhost")
    assert origins_of(Address("127.0.0.1", 0, PUBLIC), 99) == (PUBLIC,)


def serve(root: Path, *options: str) -> int:
    return main(["--store", str(root), "serve", *options])


def test_a_store_without_people_or_with_a_port_in_use_is_told_in_one_line(
    store: ReleaseStore, capsys: Capture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert serve(store.root, "--port", port) == 2
    assert f"127.0.0.1:{port} cannot be listened on (Address already in use)" in capsys.readouterr().err
    assert serve(store.root, "--port", "70000") == 2
    assert "is not a port" in capsys.readouterr().err
    assert serve(store.root, "--host", "0.0.0.0") == 2  # noqa: S104
    assert "there is no TLS" in capsys.readouterr().err
    (store.root.parent / "people.yaml").unlink()
    assert serve(store.root, "--port", "0") == 2
    told = capsys.readouterr().err
    assert "no approvers are configured" in told
    assert "releasegate people add" in told
    assert serve(store.root.parent / "nothing") == 2
    assert "there is no store here" in capsys.readouterr().err


def test_questions_are_asked_and_answered_by_commands(
    store: ReleaseStore, waiting: str, tmp_path: Path, capsys: Capture
) -> None:
    def say(*words: str, by: str) -> int:
        return main(["--store", str(store.root), *words, "--by", by, "--key", str(key_file(tmp_path, by))])

    assert say("ask", waiting, "--question", "why?", by="bob") == 0
    assert f"next: releasegate answer {waiting}" in capsys.readouterr().out
    assert say("ask", waiting, "--question", " ", by="bob") == 2
    assert say("answer", waiting, "--answer", "so", by="ann") == 0
    assert say("answer", waiting, "--answer", "so", by="ann") == 2
    capsys.readouterr()
    assert main(["--store", str(store.root), "show", waiting]) == 0
    shown = capsys.readouterr().out
    assert "bob: why?" in shown
    assert "ann: so" in shown
    (question,) = store.questions(waiting)
    assert question.answer is not None
