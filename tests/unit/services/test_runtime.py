"""Stages without Prefect: what is tried again, and where a run is carried out."""

from __future__ import annotations

import pytest

from flows.runtime.local_run import server_is_named
from policy.errors import InputError, ReleaseGateError, StoreError, TransientFailure
from services.observability.notice_channels import API_VARIABLE
from services.runtime import Runtime, Stage
from tasks.types import Progress

TWICE = Stage("intake", "read the period's table", retries=2)


def tries(monkeypatch: pytest.MonkeyPatch, *errors: ReleaseGateError) -> tuple[str, int]:
    """Carry out a stage that raises these errors in turn; return what came of it, and how often it waited."""
    waits: list[float] = []
    monkeypatch.setattr("services.runtime.time.sleep", waits.append)
    left = list(errors)

    def work(_: Progress) -> str:
        if left:
            raise left.pop(0)
        return "done"

    try:
        return Runtime().stage(TWICE, work), len(waits)
    except ReleaseGateError as error:
        return type(error).__name__, len(waits)


def test_what_passes_by_itself_is_tried_again_as_often_as_the_stage_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    busy, refused = StoreError("is busy"), TransientFailure("was refused")
    assert tries(monkeypatch, busy, refused) == ("done", 2)
    assert tries(monkeypatch, busy, refused, busy) == ("StoreError", 2)


def test_a_bad_table_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tries(monkeypatch, InputError("has no rows")) == ("InputError", 0)


def test_an_address_in_the_environment_names_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(API_VARIABLE, "http://127.0.0.1:9/api")
    assert server_is_named()
