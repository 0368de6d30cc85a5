"""The limits that gates hold a candidate to."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from policy.population_risk import DeltaPresence, KMap, PopulationUniqueness
from policy.privacy_models import Models
from policy.section import Section, Share


class Limit(Section):
    """The largest share at which a gate passes; 1 lets every one pass."""

    max: Share


class PersonGates(Section):
    """Whether people are followed over the releases by `roles.key`.

    `without` names earlier releases whose people cannot be joined, or are others, accepted as they are.
    `cells` says whether overlapping cells are compared where everybody is followed, too. `followed` is the
    least share of the people of the period before who must be in the candidate; without it, half the least
    share between the last periods. `other_forms` says whether keys that differ only in form, as in zeros or
    case, may belong to different people.
    """

    compare: bool = True
    without: tuple[str, ...] = ()
    cells: Literal["always", "unfollowed"] = "always"
    followed: Annotated[Share | None, Field(exclude_if=lambda value: value is None)] = None
    other_forms: Annotated[Literal["ask", "accept"], Field(exclude_if=lambda value: value == "ask")] = "ask"


class Worlds(Section):
    """How many calls of the solver are allowed before a release is undecided; for what share of the people
    in several releases attackers must allow that a stable value changed; and how likely one value may be, by
    worlds that are sampled in so many sweeps. If nobody is followed, what all releases together leave
    possible is unknown: a release beside earlier ones is blocked, or assessed by itself if the policy accepts
    that. Kept columns may link the rows of releases, which is examined unless the policy accepts it.
    """

    calls: Annotated[int, Field(ge=0, le=1_000_000)] = 2_000
    changes: Share = 0.0
    p_max: Annotated[float, Field(gt=0, le=1)] | None = None
    sweeps: Annotated[int, Field(ge=0, le=100_000)] = 25
    unfollowed: Literal["block", "accept"] = "block"
    kept: Literal["ask", "accept"] = "ask"

    @model_validator(mode="after")
    def _limit_is_sampled(self) -> Self:
        if self.p_max is not None and not self.sweeps:
            raise ValueError("p_max needs sampled worlds: sweeps must be at least 1")
        return self


class KnownPeople(Section):
    """To how many others one person's values may leave too few once known: of anybody, and on average."""

    max: Annotated[int, Field(ge=0)]
    mean: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


Attacker = Literal["half", "all", "sensitive", "half_and_sensitive", "outside"]


class AttackLimit(Limit):
    """The largest share at which a gate on attacks passes, and the attackers who are held to it.

    Without attackers: those of the gate's own default.
    """

    attackers: Annotated[tuple[Attacker, ...], Field(min_length=1)] | None = None

    @field_validator("attackers")
    @classmethod
    def _each_once(cls, attackers: tuple[Attacker, ...] | None) -> tuple[Attacker, ...] | None:
        if attackers is not None and len(set(attackers)) != len(attackers):
            raise ValueError("attackers must be named once each")
        return attackers


Mark = Literal["identifier", "email", "telephone", "card", "account", "insurance"]


class Leak(Section):
    """What columns may hold that would block a release elsewhere: `note: [email]`."""

    allow: dict[str, Annotated[tuple[Mark, ...], Field(min_length=1)]] = Field(default={})


class Unique(Limit):
    """The largest share of rows whose value stands in no other row, in any column but those of `allow`."""

    max: Share = 0.2
    allow: tuple[str, ...] = ()


class Gates(Section):
    """Which measured risks and losses are held to a limit.

    The gates on k, p_max, e, h_min (`privacy`) and on the comparison with earlier releases cannot be
    left out. The comparison's l is `privacy.l`.
    """

    err: Limit | None = None
    umr: Limit | None = None
    forced: Limit | None = None
    membership: Limit | None = None
    sadr: AttackLimit | None = None
    sadr_excess: AttackLimit | None = None
    pr_dr: AttackLimit | None = None
    pr_dr_excess: AttackLimit | None = None
    inversion: Limit | None = None
    k_map: KMap | None = None
    population_uniqueness: PopulationUniqueness | None = None
    delta_presence: DeltaPresence | None = None
    ncp: Limit = Limit(max=0.5)
    suppression: Limit = Limit(max=0.05)
    leak: Leak = Leak()
    unique: Unique = Unique()
    models: Models = Models()
    transient: Literal["compare", "ignore"] = "compare"
    person: PersonGates = PersonGates()
    worlds: Worlds = Worlds()
    known: Annotated[KnownPeople | None, Field(exclude_if=lambda value: value is None)] = None
