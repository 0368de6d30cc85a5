"""People that would be taken for others: keys in another form, and people with several rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from policy.errors import InputError, ReleaseGateError
from policy.model import ReleasePolicy
from policy.text import number_of
from release_store.canonical_keys import canonical_key
from release_store.db.connection import DATABASE
from release_store.person_key import hashed_people, person_key
from services.checking.findings import Finding, finding_of
from tasks.history.following import follows_people
from tasks.intake.cell_table import TABLE, Cells
from tasks.sql import identifier

OTHER_FORM = "another form (zeros, case, blanks, `.0`, cut digits)"
_OTHERS = "Set population: overlapping, or correct the table."
_HINT = "Write keys as before, or set gates.person.other_forms: accept if they are different people."


def people_findings(cells: Cells, policy: ReleasePolicy, store: Path) -> list[Finding]:
    """Return warnings about keys in another form, and of keys few of which are known. O(n) hashes.

    Those of earlier releases are looked at if `store` is one and the key of its people is at hand.
    """
    column = policy.roles.key
    if column is None or not cells.has(column) or not follows_people(policy):
        return []
    name = identifier(column)
    keys = [key for (key,) in cells.all(f"SELECT DISTINCT {name} FROM {TABLE} WHERE {name} IS NOT NULL")]
    alike = len(keys) - len({canonical_key(key) for key in keys})
    said = [(f"{number_of(alike, 'key is', 'keys are')} another key in {OTHER_FORM}", _HINT)] * bool(alike)
    try:
        said += _beside_earlier(keys, column, policy, store)
    except ReleaseGateError as error:
        return [finding_of(error)]
    if policy.gates.person.other_forms == "accept":
        said = [(text, hint) for text, hint in said if hint != _HINT]
    return [Finding(cells.where, f"column '{column}'", text, hint, None) for text, hint in said]


def _beside_earlier(
    keys: list[str], column: str, policy: ReleasePolicy, root: Path
) -> Iterator[tuple[str, str]]:
    """Yield what is to be said of keys beside earlier releases, and what helps."""
    if not (root / DATABASE).exists() or (key := person_key(root)) is None:
        return
    from release_store.store import ReleaseStore  # and what follows: both take long to import
    from tasks.history.persons import (
        KEYS_CHANGED,
        few_followed,
        joinable,
        known_by_another_key,
        shares_followed,
    )

    own = hashed_people(key, column, ((one, 0) for one in keys))
    earlier = joinable(own.fingerprint, ReleaseStore.open(root).earlier_people(policy.series))
    if (known := known_by_another_key(own, earlier)) > 0:
        people = number_of(known, "new person has", "new people have")
        yield f"{people} the key of somebody in an earlier release in {OTHER_FORM}", _HINT
    last = [one for one in earlier[-1:] if one is not None]
    if policy.population == "independent":
        if share := min(shares_followed([*last, own]), default=0.0):
            yield (
                f"{share:.0%} of the people of the last release are in it, and `population` is independent",
                _OTHERS,
            )
    elif said := few_followed(own, earlier):
        yield said, KEYS_CHANGED


def repeated_findings(cells: Cells) -> list[Finding]:
    """Return what a run refuses, or warns of: people with several rows."""
    return [
        Finding(where, "", str(one), one.hint, InputError if one.certain else None)
        for where, one in cells.repeated
    ]
