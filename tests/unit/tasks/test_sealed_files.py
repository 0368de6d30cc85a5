"""A file that the system lets nobody copy into memory is told, whole or its beginning alone."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from policy.errors import InputError, ReleaseGateError, TransientFailure
from tasks.intake.sealed import head_of, sealed
from tasks.intake.sealed_file import SealedFile


def _nothing(_: Path) -> None:
    return None


def _head(path: Path) -> AbstractContextManager[SealedFile]:
    return head_of(path, _nothing, 100)


@pytest.mark.parametrize("copy", [sealed, _head], ids=["whole", "its beginning"])
@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        (errno.EFBIG, TransientFailure, "is larger than the file size limit of this process"),
        (errno.ENOSPC, InputError, "does not fit into memory"),
    ],
)
def test_a_limit_of_the_system_is_told_with_the_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    copy: Callable[[Path], AbstractContextManager[SealedFile]],
    code: int,
    kind: type[ReleaseGateError],
    message: str,
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("age\n1\n", encoding="utf-8")

    def refused(handle: int, data: bytes) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "write", refused)
    with pytest.raises(kind) as caught, copy(table):
        pass
    assert (caught.value.message, caught.value.where) == (message, str(table))
    assert caught.value.hint
