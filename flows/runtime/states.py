"""The state of a flow run that an outcome stands for."""

from __future__ import annotations

from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from services.outcome import Outcome


def state_of(outcome: Outcome) -> State[Outcome]:
    """Return the state that Prefect keeps: a candidate that gates hold back is a run that failed."""
    message = outcome.message or f"{outcome.release_id} is published"
    made = Failed if outcome.state == "blocked" else Completed
    return made(message=message, data=outcome)
