"""The table of a period as a release needs it: its different rows where that is enough, else all."""

from __future__ import annotations

from pathlib import Path

from policy.errors import PolicyError, UsageError
from policy.model import ReleasePolicy
from policy.trusted import Trusted
from tasks.intake.read import read_table
from tasks.intake.source import Given
from tasks.methods.registry import bound_method
from tasks.repair.known_values import asks_for_known_values
from tasks.types import SourceTable


def read_source(
    policy: ReleasePolicy, *, input_path: Given | None, period: str, base: Path, trusted: Trusted
) -> SourceTable:
    """Read a period's table, with its different rows alone if nothing of the policy tells equal rows apart.

    Raises as `read_table`.
    """
    return read_table(
        policy,
        input_path=input_path,
        period=period,
        base=base,
        trusted=trusted,
        distinct=needs_no_rows(policy),
    )


def needs_no_rows(policy: ReleasePolicy) -> bool:
    """Tell whether a release of a policy depends on how many equal rows there are, and not on which."""
    roles, method = policy.roles, policy.method
    by_row = (
        roles.key is not None
        or roles.household is not None
        or roles.unpublished_weight is not None
        or roles.weight is not None
        or bool(roles.identifiers)
        or bool(roles.kept)
        or policy.rows != "one_per_person"
        or policy.source.duplicates == "removed"
        or method.reuse is not None
        or asks_for_known_values(policy)
    )
    if by_row:
        return False
    try:
        return not bound_method(policy).needs_rows
    except (PolicyError, UsageError):  # a method that this program does not have: the caller says so
        return False
