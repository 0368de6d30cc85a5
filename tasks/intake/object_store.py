"""Objects of an S3 store: read in parts, all of one version, into memory alone.

The credentials are those that the environment, the AWS files or the machine's role give to the account that
runs the command. The endpoint is that of `trusted.yaml`, and else Amazon's.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, cast

from policy.errors import InputError, ReleaseGateError, TransientFailure, UsageError
from policy.location import ObjectAddress
from policy.trusted import ObjectStore

_MISSING = ("no such object", "Correct the address, or wait until the object is there.")
_NO_BUCKET = ("no such bucket", "Correct the address, or the endpoint in trusted.yaml.")
_FORBIDDEN = ("this account may not read it", "Check its credentials for S3, and the bucket's policy.")
_CHANGED = ("changed while it was being read", "Run again when the object is complete.")
_REDIRECTED = (
    "the store redirects to another address, which is not asked",
    "Correct the endpoint or the region in trusted.yaml.",
)
_OTHER = ("the store sends other bytes than were asked for, or no ETag", "Ask whoever runs the store.")
_NO_CREDENTIALS = (
    "has no credentials for S3",
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role.",
)
_REFUSED = (
    "the store refuses the credentials or the region",
    "Renew credentials that have expired, and check s3.region in trusted.yaml.",
)
# The answer to HEAD has no body: then S3 says 400 alone of a token that has expired, and of another region.
_REFUSED_CODES = (
    "400",
    "ExpiredToken",
    "InvalidToken",
    "TokenRefreshRequired",
    "AuthorizationHeaderMalformed",
)
_SLOW = ("is sent too slowly", "Ask whoever runs the store, or read the object over another connection.")
_CHANGED_CODES = ("412", "PreconditionFailed", "416", "InvalidRange")  # of another version, or a shorter one


PATIENCE_SECONDS = 600.0
LEAST_SPEED = 100_000  # bytes a second, after that


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
    except ReleaseGateError:
        raise
    except Exception as error:  # of s3fs, botocore, aiohttp and the system: they have no common base
        if isinstance(error, FileNotFoundError) and error.errno is None:
            return None
        failure = _failure(error, address)
    raise failure


@contextmanager
def open_object(address: ObjectAddress, store: ObjectStore, most: int) -> Iterator[BinaryIO]:
    """Open an object of at most `most` bytes for reading, once from its start to its end.

    Each part is asked for by the version that was there at first. Opening and reading raise UsageError
    without the extra `s3` or without credentials, InputError where there is no such object, this account may
    not read it, it is larger, or it changes meanwhile, and TransientFailure where the store does not answer,
    or sends less than `LEAST_SPEED` in the long run. They name the address.
    """
    failure: ReleaseGateError | None = None
    reader = None
    try:
        file = _file_system(store).open(_path(address), "rb")
        size = _status(file.details, address).size
        if size > most:
            finding, hint = f"has more than {most >> 30} GiB", "Give the table itself, or split it."
            raise _told((finding, hint), address)
        reader = _Reader(file, address, size)
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
        self._end = time.monotonic() + PATIENCE_SECONDS + size / LEAST_SPEED

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
        if time.monotonic() > self._end:
            raise TransientFailure(_SLOW[0], where=str(self._address), hint=_SLOW[1])
        buffer[: len(data)] = data
        return len(data)


def _file_system(store: ObjectStore) -> Any:
    """Return a client of the store. Raises UsageError without the extra `s3`."""
    try:
        from tasks.intake.s3_client import file_system
    except ImportError:
        raise UsageError(
            "needs the package s3fs, which is not installed",
            where="s3://",
            hint="Install it in the version of requirements.lock: pip install '.[s3]'.",
        ) from None
    return file_system(store)


def _path(address: ObjectAddress) -> str:
    return f"{address.bucket}/{address.key}"


def _status(found: Mapping[str, Any], address: ObjectAddress) -> ObjectStatus:
    if found["type"] != "file":
        raise InputError("is a folder", where=str(address), hint="Give the address of one object.")
    return ObjectStatus(int(found["size"]), found["LastModified"], str(found["ETag"]))


def _failure(error: Exception, address: ObjectAddress) -> ReleaseGateError:
    """Return one of our errors for one of the client's, whose text may hold what nobody should read."""
    if isinstance(error, IndexError) and isinstance(error.__context__, OSError):
        error = error.__context__  # s3fs reads the first word of an error that may have none
    account = _fault_of_the_account(error)
    if account is not None:
        finding, hint = account
        return UsageError(finding, where=str(address), hint=hint)
    told = _fault_of_the_object(error)
    return _unanswered(error, address) if told is None else _told(told, address)


def _fault_of_the_account(error: Exception) -> tuple[str, str] | None:
    """Return what is wrong with the account's settings and credentials, and how to mend it."""
    from botocore.exceptions import NoCredentialsError, PartialCredentialsError

    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return _NO_CREDENTIALS
    if _is_of_settings(error):
        finding = f"the AWS settings of this account cannot be used ({type(error).__name__})"
        return finding, "Correct AWS_PROFILE, the region, or the files in ~/.aws and what they name."
    return _REFUSED if _code(error) in _REFUSED_CODES else None


def _fault_of_the_object(error: Exception) -> tuple[str, str] | None:
    """Return what is wrong with the object or with what the store sends, and how to mend it."""
    from s3fs.utils import FileExpired

    from tasks.intake.s3_client import OtherAnswer, Redirected

    code = _code(error)
    if isinstance(error, FileExpired) or code in _CHANGED_CODES:
        return _CHANGED
    if isinstance(error, FileNotFoundError):
        return _NO_BUCKET if code == "NoSuchBucket" else _MISSING
    kinds = ((PermissionError, _FORBIDDEN), (Redirected, _REDIRECTED), (OtherAnswer, _OTHER))
    return next((told for kind, told in kinds if isinstance(error, kind)), None)


def _code(error: Exception) -> str:
    """Return the code of the store's answer that the error is made of, or an empty text."""
    response = getattr(error, "response", None) or getattr(error.__cause__, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def _is_of_settings(error: Exception) -> bool:
    """Tell whether the error is of the AWS settings of this account: the store was not asked."""
    from botocore import exceptions as aws

    if isinstance(error, FileNotFoundError | PermissionError):
        return error.errno is not None  # of a file of this machine: those of the store have none
    return isinstance(
        error,
        aws.ProfileNotFound
        | aws.ConfigParseError
        | aws.ConfigNotFound
        | aws.CredentialRetrievalError
        | aws.InvalidConfigError
        | aws.InvalidRegionError
        | aws.NoRegionError
        | aws.SSOError
        | aws.TokenRetrievalError
        | aws.InvalidProxiesConfigError,
    )


def _unanswered(error: Exception, address: ObjectAddress) -> TransientFailure:
    from aiohttp import ClientError
    from botocore.exceptions import ConnectionError as NotConnected
    from botocore.exceptions import HTTPClientError
    from fsspec.exceptions import FSTimeoutError

    no_answer = (HTTPClientError, NotConnected, ClientError, FSTimeoutError, ConnectionError, TimeoutError)
    if isinstance(error, no_answer):
        finding = f"the store does not answer ({type(error).__name__})"
        hint = "Check the endpoint, its certificate (AWS_CA_BUNDLE), the connection and HTTPS_PROXY."
        return TransientFailure(finding, where=str(address), hint=hint)
    return TransientFailure(
        f"cannot be read ({type(error).__name__})", where=str(address), hint="Ask whoever runs the store."
    )


def _told(what: tuple[str, str], address: ObjectAddress) -> InputError:
    finding, hint = what
    return InputError(finding, where=str(address), hint=hint)
