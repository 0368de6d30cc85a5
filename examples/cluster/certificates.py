"""Make the certificates of a cluster: an authority of its own, and one certificate of it for all nodes.

    python -m examples.cluster.certificates FOLDER HOST [HOST ...]

writes `ca.pem`, `node.pem` and `node.key` into FOLDER, which must be new. HOST are the names and addresses by
which the scheduler is reached. The authority's own key is not kept: nobody can sign another node.
"""

from __future__ import annotations

import argparse
import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAYS = 365


def write_certificates(folder: Path, hosts: Sequence[str], now: datetime | None = None) -> None:
    """Write the three files, valid from `now` on, into a new folder; only its owner can read the key."""
    began = now or datetime.now(UTC)
    authority, node = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root, name = _name("releasegate cluster"), _name("node")
    is_authority = x509.BasicConstraints(ca=True, path_length=0)
    ca = _certificate(root, root, authority, authority, [(is_authority, True)], began)
    alternatives = x509.SubjectAlternativeName([_host(host) for host in hosts])
    signed = _certificate(name, root, node, authority, [(alternatives, False)], began)
    folder.mkdir(mode=0o700)
    (folder / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    (folder / "node.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key = folder / "node.key"
    key.touch(mode=0o600)
    key.write_bytes(
        node.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    extensions: Sequence[tuple[x509.ExtensionType, bool]],
    now: datetime,
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(signer, hashes.SHA256())


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m examples.cluster.certificates", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("hosts", nargs="+", metavar="HOST")
    chosen = parser.parse_args(arguments)
    write_certificates(chosen.folder, chosen.hosts)


if __name__ == "__main__":
    main()
