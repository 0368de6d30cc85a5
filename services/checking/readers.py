"""What a reader of the releases could do that a policy does not prevent, in sentences for its writer."""

from __future__ import annotations

from collections.abc import Iterator

from policy.model import ReleasePolicy
from tasks.history.following import follows_people

# What an attacker does whom a gate measures only if the policy sets it.
_MEASURED_IF_SET = {
    "forced": "assign everybody to classes at once",
    "inversion": "work back from the cells to exact quasi-identifiers, knowing the method",
    "membership": "guess who is in the table at all",
}


def reader_lines(policy: ReleasePolicy) -> list[str]:
    """Return what a reader could do; each line goes on after "could"."""
    return [*_of_one_release(policy), *_of_several_releases(policy), *_with_more_knowledge(policy)]


def _of_one_release(policy: ReleasePolicy) -> Iterator[str]:
    for name in policy.roles.sensitive:
        own = policy.privacy.of(name)
        if own.p_max < 1:
            place = policy.privacy.place(name, "p_max")
            yield f"be {own.p_max:.0%} sure of somebody's '{name}' by their class alone ({place})"
    if policy.roles.kept:
        names = ", ".join(policy.roles.kept)
        yield f"read {names} as it is, and tell a class's rows apart by it if others know it (roles.kept)"
    unset = [name for name in _MEASURED_IF_SET if getattr(policy.gates, name) is None]
    for name in unset:
        yield f"{_MEASURED_IF_SET[name]}: not measured (gates.{name})"


def _of_several_releases(policy: ReleasePolicy) -> Iterator[str]:
    if policy.population == "independent":
        yield "compare releases of different periods, if somebody is in two of them after all (population)"
    elif not follows_people(policy):
        yield "follow somebody from release to release by what is known of them: the gates cannot (roles.key)"
    if policy.gates.transient == "ignore":
        names = [name for name, one in policy.roles.sensitive.items() if one.stability == "transient"]
        if names:
            named = ", ".join(names)
            yield f"compare {named} of people for whom it did not change: not compared (gates.transient)"
    yield "compare the releases with those of other series about the same people: no gate does"


def _with_more_knowledge(policy: ReleasePolicy) -> Iterator[str]:
    yield "use values that they know of some people, such as their own, to work out those of others"
    yield "rule out values that cannot be true of somebody, such as an illness of old age of a child"
    if policy.roles.household is None:
        yield "use that people share a value, such as a family its income"
