"""The columns of a table against the roles of its policy, each that does not fit in a finding of its own."""

from __future__ import annotations

from collections.abc import Sequence

from policy.errors import InputError, did_you_mean
from policy.model import ReleasePolicy
from policy.text import number_of
from services.checking.findings import Finding, finding_of
from tasks.intake.columns import check_columns, display_column


def column_findings(names: Sequence[str], policy: ReleasePolicy, where: str) -> list[Finding]:
    """Return what is wrong with the columns of an input.

    The first line of a file without names is a person's row. So names that are in no role are told only if at
    least half of the roles' columns are there; otherwise they are counted.
    """
    roles = list(policy.roles.columns())
    missing = [role for role in roles if role not in set(names)]
    unknown = [name for name in names if name not in set(roles)]
    if not missing and not unknown:
        return _of_names(names, policy, where)
    known = len(roles) - len(missing)
    if 2 * known < len(roles):
        found = _of_names(names, policy, where) if not known else []
        return found or [
            Finding(
                where,
                "",
                f"{number_of(len(missing), 'column')} of the policy's roles "
                f"{'is' if len(missing) == 1 else 'are'} missing, and "
                f"{number_of(len(unknown), 'column')} of the input "
                f"{'has' if len(unknown) == 1 else 'have'} no role",
                "Line 1 must have the names of the columns. Correct the names in roles, or the input.",
            )
        ]
    shown = [name for name in unknown if name.isprintable()]
    found = [
        Finding(
            where,
            "",
            f"the column {display_column(role)} of the policy's roles is missing{did_you_mean(role, shown)}",
            "Correct the name in roles, or the input.",
        )
        for role in missing
    ]
    found += [
        Finding(
            where,
            "",
            f"the column {display_column(name)} has no role{did_you_mean(name, missing)}",
            "Give it a role in the policy; roles.dropped leaves a column out.",
        )
        for name in unknown
    ]
    return found


def _of_names(names: Sequence[str], policy: ReleasePolicy, where: str) -> list[Finding]:
    """Return what a run says of the names themselves: none of them known, one without a text, two alike."""
    try:
        check_columns(names, policy, where)
    except InputError as error:
        return [finding_of(error)]
    return []
