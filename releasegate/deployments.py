"""The flows that `prefect.yaml` deploys, under the one import name that no other project uses.

Prefect imports a flow in the folder of its deployment, and lets modules of that folder come first. A
`flows/` of another project there is not ours: here it is left out.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from releasegate.own_packages import check_own_packages, leave_out_working_folder

FLOWS = {
    "release": "flows.release",
    "decide_release": "flows.decision",
    "withdraw_release": "flows.withdraw",
    "restore_release": "flows.withdraw",
    "audit_review": "flows.audit_review",
    "evaluate_methods": "flows.evaluate_flow",
}
"""The deployed flows, each with its module."""


def __getattr__(name: str) -> Any:
    """Return a flow by its name, imported from our own packages. Raises ForeignPackageError for others."""
    if name not in FLOWS:
        raise AttributeError(name)
    leave_out_working_folder()
    check_own_packages()
    return getattr(import_module(FLOWS[name]), name)
