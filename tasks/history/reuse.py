"""Which earlier release a policy uses the cells of, and whether its cells are those of today's columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from policy.errors import PolicyError, did_you_mean
from policy.model import ReleasePolicy, Reuse
from release_store.records import Release, ReleaseState

LAST = "last"
FIELD = "method.reuse.release"
LIST_THEM = "Run `releasegate history` to list the releases."


def release_to_reuse(
    releases: Sequence[Release], series: str, reuse: Reuse, period: str, purged: Collection[str] = ()
) -> Release | None:
    """Return the release of a `series` whose cells a release of `period` uses; None before the first release.

    `releases` are those of all series, oldest first. `last` is the last one that is published, of another
    period. Raises PolicyError where the policy names a release or period that is not public in this series.
    """
    own = [one for one in releases if one.series == series]
    published = [one for one in own if one.state is ReleaseState.PUBLISHED]
    if reuse.release == LAST:
        others = [one for one in own if one.period != period]
        found = [one for one in others if one.state is ReleaseState.PUBLISHED]
        if others and not found:
            raise PolicyError(
                f"no release of another period than {period} is published any more",
                where=FIELD,
                hint="Leave out method.reuse for this period.",
            )
        return found[-1] if found else None
    named = [one for one in own if reuse.release in (one.release_id, one.period)]
    public = [one for one in named if one in published]
    if public:
        return public[-1]
    if named:
        last = named[-1]
        hint = "Name a release that is published, or `last`"
        is_latest = last == [one for one in own if one.period == last.period][-1]
        is_restorable = is_latest and last.release_id not in purged
        if last.state is ReleaseState.WITHDRAWN and is_restorable:
            hint += f"; `releasegate restore {last.release_id}` publishes its rows again"
        raise PolicyError(f"{last.release_id} was {last.state}", where=FIELD, hint=f"{hint}.")
    elsewhere = next((one for one in releases if one.release_id == reuse.release), None)
    if elsewhere is not None:
        finding = f"{elsewhere.release_id} is of the series {elsewhere.series}, not of {series}"
    else:
        known = [name for one in published for name in (one.release_id, one.period)]
        finding = f"the series {series} has no release '{reuse.release}'{did_you_mean(reuse.release, known)}"
    raise PolicyError(finding, where=FIELD, hint=LIST_THEM)


def check_same_columns(earlier: ReleasePolicy, policy: ReleasePolicy, release_id: str) -> None:
    """Raise PolicyError where cells under the `earlier` policy cannot be cells under `policy`.

    The quasi-identifiers must have the same names, types, bounds, widths and hierarchies, and the cells the
    same recoding and ends.
    """
    before, now = earlier.roles.quasi_identifiers, policy.roles.quasi_identifiers
    if different := sorted(before.keys() ^ now.keys()):
        raise _other(release_id, "roles.quasi_identifiers", f"'{different[0]}' is in one of the two policies")
    for name in now:
        for field in ("type", "bounds", "widths", "hierarchy"):
            if getattr(before[name], field, None) != getattr(now[name], field, None):
                raise _other(release_id, f"roles.quasi_identifiers.{name}.{field}", "it was another")
    for field in ("recoding", "ends"):
        if getattr(earlier.method, field) != getattr(policy.method, field):
            raise _other(release_id, f"method.{field}", f"it was {getattr(earlier.method, field)}")
    if earlier.source.missing_label != policy.source.missing_label:
        raise _other(release_id, "source.missing_label", "it was another")


def _other(release_id: str, where: str, finding: str) -> PolicyError:
    return PolicyError(
        f"{finding} when {release_id} was made: its cells cannot be used again",
        where=where,
        hint="Leave out method.reuse, or publish under the policy of then.",
    )
