"""Is the set-up fit for work? What stands around the store: versions, server, people, settings, notices."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from policy.errors import ReleaseGateError
from policy.text import number_of
from release_store.approval.approvals import needed_by
from release_store.approval.reviewers import load_reviewers, people_path
from release_store.checkup import Check, Condition
from release_store.permission import Act
from release_store.store import ReleaseStore
from services.doctor.installed_files import installed_files
from services.doctor.required_settings import REQUIRED
from services.doctor.server import server
from services.doctor.versions import versions
from services.observability import lineage, logs
from services.observability.notice_channels import channels, check_channels
from services.observability.notice_delivery import pending_counts


def check_environment(root: Path, contradicted: Sequence[str]) -> list[Check]:
    """Look at what the store in `root` is run with; never raise, and change nothing.

    `contradicted` are the required settings that the environment has otherwise.
    """
    store = _opened(root)
    looks: dict[str, Callable[[], Iterable[Check]]] = {
        "packages": versions,
        "files": installed_files,
        "people": lambda: _people(root, store),
        "settings": lambda: _settings(contradicted),
        "log": lambda: [_file("log", os.environ.get(logs.VARIABLE, ""))],
        "lineage": _lineage,
        "notices": lambda: _notices(store),
        "server": server,
    }
    return [check for name, look in looks.items() for check in _guarded(name, look)]


def _guarded(name: str, look: Callable[[], Iterable[Check]]) -> list[Check]:
    """Carry out a check; what it stumbles over is what it finds."""
    try:
        return list(look())
    except ReleaseGateError as error:
        where = f"{error.where}: " if error.where else ""
        return [Check(name, Condition.WRONG, f"{where}{error.message}", error.hint)]
    except Exception as error:
        hint = "Check the setting, and the permissions of the file it names."
        return [Check(name, Condition.WRONG, f"cannot be read ({type(error).__name__})", hint)]


def _opened(root: Path) -> ReleaseStore | None:
    """Return the store, or None where it cannot be opened: why, its own checks tell."""
    try:
        return ReleaseStore.open(root)
    except Exception:
        return None


def _people(root: Path, store: ReleaseStore | None) -> list[Check]:
    """Are there people who can decide, as many as the newest policy of some series asks for?"""
    staff = load_reviewers(root)
    asked = _approvals_asked(store) if store else 0
    path = people_path(root)
    add = "Run `releasegate people add NAME --role approver --make-key FILE`."
    if staff is None:
        condition = Condition.WRONG if asked else Condition.FINE
        found = f"there is no {path.name}, so nobody can decide on a candidate"
        return [Check("people", condition, found, add if asked else "")]
    approvers = [one for one in staff.members if one.may(Act.APPROVE)]
    asked = max(asked, staff.approvers_at_least)
    if len(approvers) < asked:
        required = number_of(asked, "approval is required", "approvals are required")
        found = f"{required}, but {path.name} lists {number_of(len(approvers), 'approver')}"
        return [Check("people", Condition.WRONG, found, add)]
    people = number_of(len(staff.members), "person", "people")
    found = f"{path.name} lists {people}, including {number_of(len(approvers), 'approver')}"
    return [Check("people", Condition.FINE, found)]


def _approvals_asked(store: ReleaseStore) -> int:
    """Return the most approvals that the newest candidate of some series asks for."""
    newest = {record.series: record for record in store.candidates()}.values()
    return max((needed_by(store.policy(one.policy_digest), one.summary) for one in newest), default=0)


def _settings(contradicted: Sequence[str]) -> list[Check]:
    """Does the environment say otherwise than what keeps data out of Prefect? Runs set it themselves."""
    if not contradicted:
        return [Check("settings", Condition.FINE, "Prefect stores no data")]
    return [
        Check(
            "settings",
            Condition.WRONG,
            f"the environment sets {name} differently; a server or worker there may store data",
            f"Set {name}={REQUIRED[name]}.",
        )
        for name in contradicted
    ]


def _lineage() -> list[Check]:
    wanted = os.environ.get(lineage.VARIABLE, "")
    if not lineage.is_address(wanted):
        return [_file("lineage", wanted)]
    lineage.check_target()
    return [Check("lineage", Condition.FINE, "goes to a server, which is not checked here")]


def _file(name: str, wanted: str) -> Check:
    """Can the file of a setting be written, or made?"""
    if wanted in ("", "-"):
        found = "none is configured" if not wanted else "goes to the standard error"
        return Check(name, Condition.FINE, found)
    path = Path(wanted)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        found = f"{path} cannot be written"
        return Check(name, Condition.WRONG, found, "Name another file, or fix the permissions of its folder.")
    return Check(name, Condition.FINE, f"{path} can be written")


def _notices(store: ReleaseStore | None) -> list[Check]:
    check_channels()
    left = {name: number for name, number in (pending_counts(store) if store else {}).items() if number}
    if left:
        told = ", ".join(f"{number} by {name}" for name, number in left.items())
        return [
            Check("notices", Condition.WRONG, f"due: {told}", "Run `releasegate notify` to deliver them.")
        ]
    found = f"go by {', '.join(channels())}; none is due" if channels() else "no channel is set"
    return [Check("notices", Condition.FINE, found)]
