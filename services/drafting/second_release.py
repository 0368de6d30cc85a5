"""Try a drafted policy on two periods: a release of the last table beside one of the table before it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from policy.accepted import TRUST_VARIABLE
from policy.errors import ReleaseGateError
from release_store.records import Verdict
from release_store.store import ReleaseStore
from services.drafting.steps import Steps
from services.outcome import Outcome
from services.release import release
from tasks.sql import literal

PERIODS = ("1", "2")
OF_A_STORE = ("RELEASEGATE_", "PREFECT_API_")  # settings of keys, people, logs, notices and a server
UNLIMITED = """\
  err: {max: 1}
  ncp: {max: 1}
  suppression: {max: 1}
approval: {approvers: 0}
publication: {formats: [parquet]}
"""
MOST_ROWS = 50_000  # of both tables: with more, the trial would take minutes


@dataclass(frozen=True)
class SecondRelease:
    """What the gates measured of the second release, by gate, and those that fail; or the `problem` that kept
    one of the two from being made.
    """

    measured: Mapping[str, float]
    failing: tuple[str, ...] = ()
    problem: str = ""
    unknown: tuple[str, ...] = ()  # what the gates said that cannot tell

    @property
    def passes(self) -> bool:
        """Whether the second release was published."""
        return not self.problem and not self.failing

    @property
    def said(self) -> str:
        """Why it was not."""
        return self.problem or f"it fails {', '.join(self.failing)}"


def raised(steps: Steps) -> dict[str, str]:
    """Return the SQL of amounts in bands that in the second period have grown by 1% to 3%, each by itself."""
    return {
        name: rounding.sql(
            f"({steps.exact[name]}) * CASE WHEN '{{period}}' = {literal(PERIODS[1])} "
            f"THEN 1.01 + (({steps.exact[name]}) * 7919 % 97) / 4850 ELSE 1 END"
        )
        for name, rounding in steps.rounded.items()
    }


def second_release(begun: str, before: Path, last: Path) -> SecondRelease:
    """Release two tables, one beside the other, in a store that is removed.

    `begun` is a policy as text, with the roles, the model and the method; no limit on risks and losses holds.
    The store is in a folder of this account alone, and has what any store has: cells that would be published,
    and hashes of people under a key of its own. No key, file of people, log or notice that the environment
    names for other stores is used.
    """
    with _own_environment(), tempfile.TemporaryDirectory() as parent:
        folder = Path(parent)
        os.environ[TRUST_VARIABLE] = parent  # the account's configuration keeps nothing of a store that goes
        file = folder / "policy.yaml"
        file.write_text(f"{begun}\n{UNLIMITED}", encoding="utf-8")
        ReleaseStore.create(folder / "store")
        try:
            for period, table in zip(PERIODS, (before, last), strict=True):
                outcome = release(file, store=folder / "store", period=period, input_path=table)
                if outcome.state != "published" and period == PERIODS[0]:
                    problem = f"the release before it fails {', '.join(_failing(outcome))}"
                    return SecondRelease({}, problem=problem, unknown=_unknown(outcome))
        except ReleaseGateError as error:
            return SecondRelease({}, problem=" ".join(error.message.split()))
    measured = {one.gate: one.value for one in outcome.gates if one.value is not None}
    return SecondRelease(measured, _failing(outcome), unknown=_unknown(outcome))


@contextmanager
def _own_environment() -> Iterator[None]:
    """Take the settings of stores out of this process's environment, and put them back."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(OF_A_STORE)}
    for name in kept:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.pop(TRUST_VARIABLE, None)
        os.environ.update(kept)


def _failing(outcome: Outcome) -> tuple[str, ...]:
    return tuple(one.gate for one in outcome.gates if one.verdict is not Verdict.PASS)


def _unknown(outcome: Outcome) -> tuple[str, ...]:
    return tuple(f"{one.gate}: {one.detail}" for one in outcome.gates if one.verdict is Verdict.UNKNOWN)
