"""How far a run is: a bar on a terminal, a line a stage elsewhere; and outcomes that Prefect lost."""

from __future__ import annotations

import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from cli import progress
from flows.runtime import local_run as running
from flows.runtime.last_result import clear_last_result, remember_result
from policy.errors import InputError, TransientFailure
from services.outcome import Outcome
from tasks.types import no_progress

LOST = Outcome("clinic", "2026Q1", "published", "clinic-2026Q1-c1", "clinic-2026Q1-r1")


def test_elsewhere_each_stage_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress_reporter() as tell:
        for share, words in [
            (0.0, "intake"),
            (0.1, "risk gate: k"),
            (0.5, "risk gate: umr"),
            (1.0, "report"),
        ]:
            tell(share, words)
    assert capsys.readouterr().err == "  intake ...\n  risk gate ...\n  report ...\n"


def test_on_a_terminal_a_bar_tells_the_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(progress, "Console", lambda **_: terminal)
    with progress.progress_reporter() as tell:
        tell(0.25, "risk gate: k")
        tell(0.75, "risk gate: umr")
    assert "risk gate: umr" in screen.getvalue()


def broken() -> Any:
    """A flow whose last report Prefect's server did not take."""
    remember_result(lambda: SimpleNamespace(data=LOST))()
    raise ConnectionError("no server")


def ended(result: Any) -> Callable[[], Any]:
    state = SimpleNamespace(result=lambda **_: result)
    return lambda: state


@pytest.fixture(autouse=True)
def no_earlier_run() -> None:
    """Know nothing of earlier runs."""
    clear_last_result()


def test_what_a_flow_came_to_counts_where_the_server_goes_away(capsys: pytest.CaptureFixture[str]) -> None:
    assert running._outcome_of(broken, no_progress) == LOST
    assert "The connection to Prefect's server was lost (ConnectionError)" in capsys.readouterr().err


def test_a_run_of_which_nothing_is_known_may_be_run_again() -> None:
    def gone() -> Any:
        raise ConnectionError("no server")

    with pytest.raises(TransientFailure, match=r"before the run ended \(ConnectionError\)") as caught:
        running._outcome_of(gone, no_progress)
    assert caught.value.hint.startswith("Run it again")


def test_an_error_of_a_flow_is_raised_as_it_is() -> None:
    error = InputError("is not there", where="2026Q1.csv")
    with pytest.raises(InputError) as caught:
        running._outcome_of(ended(error), no_progress)
    assert caught.value is error
    with pytest.raises(Exception, match=r"without an outcome \(int\)"):
        running._outcome_of(ended(3), no_progress)
    assert running._outcome_of(ended(LOST), no_progress) == LOST
