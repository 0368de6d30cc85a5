"""The control group: a file about people who are not in the table, read and checked as the source is."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policy.errors import InputError
from policy.model import Expectations, ReleasePolicy
from policy.trusted import Trusted
from tasks.intake.control_file import control_policy
from tasks.intake.read import read_table
from tasks.intake.source import with_period
from tasks.preprocessing.prepare import prepare
from tasks.types import PreparedTable, SourceTable
from tasks.validation.check import raise_if_failed, validate


def read_control(
    policy: ReleasePolicy, source: SourceTable, period: str, base: Path, trusted: Trusted | None = None
) -> PreparedTable | None:
    """Read the people of `linkage.control`, a path seen from `base`; None where the policy names no file.

    They have the columns of the roles, with the source's types and bounds, and are read without
    `source.query`, from the only sheet or table of a workbook or database. How many they are and how many of
    their cells are missing is not held to the policy.
    Raises InputError where the file cannot be read, does not meet these, is the source, or where one of its
    people is in the source by `roles.key`.
    """
    if policy.linkage.control is None:
        return None
    trusted = trusted or Trusted()
    named = with_period(policy.linkage.control, period, "linkage.control")
    found = trusted.located(named, base, "linkage.control")
    path = base / named if isinstance(found, Path) else found
    loose = Expectations(missing=1, unique_key=policy.expectations.unique_key)
    plain = control_policy(policy).model_copy(update={"expectations": loose})
    table = read_table(plain, input_path=None, period=period, base=base, trusted=trusted)
    raise_if_failed(validate(table, plain, None), str(path))
    if table.digest == source.digest:
        raise InputError(
            "is the source itself", where=str(path), hint="Give people who are not in the table."
        )
    key = policy.roles.key
    if key is not None:
        both = int(np.isin(table.frame[key].dropna().unique(), source.frame[key].dropna().unique()).sum())
        if both:
            raise InputError(
                f"{both} of its people are also in the source",
                where=str(path),
                hint="Leave them out: a control group has only people who are not in the table.",
            )
    return prepare(table, policy)
