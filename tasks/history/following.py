"""Whether people are followed from release to release by their key, as the policy asks."""

from __future__ import annotations

from policy.model import ReleasePolicy


def follows_people(policy: ReleasePolicy) -> bool:
    """Tell whether the policy asks for people to be followed over the releases."""
    return policy.roles.key is not None and policy.gates.person.compare


def follows_nobody_into(policy: ReleasePolicy, release: str) -> bool:
    """Tell whether the policy does not follow people into an earlier release."""
    return not follows_people(policy) or release in policy.gates.person.without


def may_follow_nobody(policy: ReleasePolicy) -> bool:
    """Tell whether there may be releases into which the policy does not follow people."""
    return not follows_people(policy) or bool(policy.gates.person.without)
