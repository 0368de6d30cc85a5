"""An S3 server on the loopback (moto), with a bucket of tables, and credentials for it in the environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from policy.location import ObjectAddress
from policy.trusted import ObjectStore

BUCKET = "tables"
REGION = "us-east-1"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIATESTTESTTESTTEST",
    "AWS_SECRET_ACCESS_KEY": "canarysecretcanarysecret",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass(frozen=True)
class S3:
    """The server: its address, what the owner of a store would say of it, and a client to write with."""

    endpoint: str
    objects: ObjectStore
    client: Any

    def put(self, key: str, content: bytes) -> ObjectAddress:
        """Write an object, and return its address."""
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)
        return ObjectAddress(BUCKET, key)

    @property
    def trusted(self) -> str:
        """What `trusted.yaml` says of it."""
        return f"s3: {{prefixes: ['s3://{BUCKET}'], endpoint: '{self.endpoint}', region: {REGION}}}\n"


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    """The server of a session."""
    import boto3
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )
    client.create_bucket(Bucket=BUCKET)
    yield S3(endpoint, ObjectStore((ObjectAddress(BUCKET, ""),), endpoint, REGION), client)
    client.close()
    server.stop()


@pytest.fixture
def s3(s3_server: S3, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> S3:
    """The server, and an account that has credentials for it and no other settings of AWS."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    return s3_server
