"""Objects of an S3 store: read in parts, all of one version, into memory alone.

The credentials are those that the environment, the AWS files or the machine's role give to the account that
runs the command. The endpoint is that of `trusted.yaml`, and else Amazon's.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, cast

from policy.errors import InputError, ReleaseGateError, TransientFailure, UsageError
from policy.location import ObjectAddress
from policy.trusted import ObjectStore

CONNECT_SECONDS = 10
READ_SECONDS = 30  # without a byte
TRIES = 3
PART_BYTES = 16 << 20
_MISSING = ("no such object", "Correct the address, or wait until the object is there.")
_NO_BUCKET = ("no such bucket", "Correct the address, or the endpoint in trusted.yaml.")
_FORBIDDEN = ("this account may not read it", "Check its credentials for S3, and the bucket's policy.")
_CHANGED = ("changed while it was being read", "Run again when the object is complete.")


@dataclass(frozen=True)
class ObjectStatus:
    """The size in bytes of an object, when it was written, and the tag of its version."""

    size: int
    modified: datetime
    tag: str


def object_status(address: ObjectAddress, store: ObjectStore) -> ObjectStatus | None:
    """Return the status of an object, or None where there is none. Raises as `open_object`."""
    failure: ReleaseGateError | None = None
    try:
        return _status(_file_system(store).info(_path(address)), address)
    except FileNotFoundError:
        return None
    except ReleaseGateError:
        raise
    except Exception as error:  # of s3fs, botocore, aiohttp and the system: they have no common base
        failure = _failure(error, address)
    raise failure


@contextmanager
def open_object(address: ObjectAddress, store: ObjectStore) -> Iterator[BinaryIO]:
    """Open an object for reading, once from its start to its end.

    Each part is asked for by the version that was there at first. Opening and reading raise UsageError
    without the extra `s3` or without credentials, InputError where there is no such object, this account may
    not read it, or it changes meanwhile, and TransientFailure where the store does not answer. They name the
    address.
    """
    failure: ReleaseGateError | None = None
    reader = None
    try:
        file = _file_system(store).open(_path(address), "rb")
        reader = _Reader(file, address, _status(file.details, address).size)
    except ReleaseGateError:
        raise
    except Exception as error:
        failure = _failure(error, address)
    if reader is None:
        raise failure or _told(_MISSING, address)
    with reader:
        yield cast("BinaryIO", reader)


class _Reader(io.RawIOBase):
    """The bytes of an object; what goes wrong is raised as an error of ours."""

    def __init__(self, file: Any, address: ObjectAddress, size: int) -> None:
        self._file = file
        self._address = address
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        failure: ReleaseGateError | None = None
        data = b""
        try:
            data = self._file.read(len(buffer))
        except MemoryError:
            raise
        except Exception as error:
            failure = _failure(error, self._address)
        if failure is not None:
            raise failure
        self._left -= len(data)
        if self._left < 0 or (not data and self._left):
            raise _told(_CHANGED, self._address)
        buffer[: len(data)] = data
        return len(data)


def _file_system(store: ObjectStore) -> Any:
    """Return a client of the store: it keeps no listing and no file, and asks no other endpoint."""
    try:
        from s3fs import S3FileSystem
    except ImportError:
        raise UsageError(
            "needs the package s3fs, which is not installed",
            where="s3://",
            hint="Install it in the version of requirements.lock: pip install '.[s3]'.",
        ) from None
    system = S3FileSystem(
        anon=False,
        endpoint_url=store.endpoint,
        client_kwargs={} if store.region is None else {"region_name": store.region},
        config_kwargs={
            "connect_timeout": CONNECT_SECONDS,
            "read_timeout": READ_SECONDS,
            "retries": {"total_max_attempts": 1},  # s3fs tries again itself
            "ignore_configured_endpoint_urls": True,
        },
        default_block_size=PART_BYTES,
        default_cache_type="readahead",
        use_listings_cache=False,
        skip_instance_cache=True,
    )
    system.retries = TRIES
    return system


def _path(address: ObjectAddress) -> str:
    return f"{address.bucket}/{address.key}"


def _status(found: Mapping[str, Any], address: ObjectAddress) -> ObjectStatus:
    if found["type"] != "file":
        raise InputError("is a folder", where=str(address), hint="Give the address of one object.")
    return ObjectStatus(int(found["size"]), found["LastModified"], str(found["ETag"]))


def _failure(error: Exception, address: ObjectAddress) -> ReleaseGateError:
    """Return one of our errors for one of the client's, whose text may hold what nobody should read."""
    from aiohttp import ClientError
    from botocore.exceptions import ConnectionError as NotConnected
    from botocore.exceptions import HTTPClientError, NoCredentialsError, PartialCredentialsError
    from fsspec.exceptions import FSTimeoutError
    from s3fs.utils import FileExpired

    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return UsageError(
            "has no credentials for S3",
            where=str(address),
            hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role.",
        )
    if isinstance(error, FileNotFoundError):
        code = getattr(error.__cause__, "response", {}).get("Error", {}).get("Code")
        return _told(_NO_BUCKET if code == "NoSuchBucket" else _MISSING, address)
    if isinstance(error, PermissionError):
        return _told(_FORBIDDEN, address)
    if isinstance(error, FileExpired):
        return _told(_CHANGED, address)
    no_answer = (HTTPClientError, NotConnected, ClientError, FSTimeoutError, ConnectionError, TimeoutError)
    if isinstance(error, no_answer):
        finding = f"the store does not answer ({type(error).__name__})"
        return TransientFailure(finding, where=str(address), hint="Check the endpoint and the connection.")
    return TransientFailure(
        f"cannot be read ({type(error).__name__})", where=str(address), hint="Ask whoever runs the store."
    )


def _told(what: tuple[str, str], address: ObjectAddress) -> InputError:
    finding, hint = what
    return InputError(finding, where=str(address), hint=hint)
