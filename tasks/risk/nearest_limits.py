"""The nearest limit that a gate's measured value keeps, for every gate that a policy gives a limit.

Numbers have at most four digits, rounded to the side on which the gate passes. A limit that every release
keeps is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import exp, isfinite, log

from policy.model import ReleasePolicy
from policy.privacy_models import Models
from release_store.records import GateResult

Place = tuple[str, ...]
Number = int | float
DIGITS = 4
_APART = 1e-9  # relative: what equals a limit that must be exceeded


@dataclass(frozen=True)
class PolicySetting:
    """A value for the field of a policy at `place`, such as ("gates", "umr", "max")."""

    place: Place
    value: Number | str

    @property
    def field(self) -> str:
        """The place as a policy's pages write it: "gates.umr.max"."""
        return ".".join(self.place)


Limits = Callable[[GateResult, Mapping[str, GateResult], ReleasePolicy], tuple[PolicySetting, ...]]
"""What a gate's limits must be to pass, by its result, those of all gates, and the policy; () for none."""


def rounded_up(value: float) -> float:
    """Return the smallest number of four digits that is not below `value`."""
    return float(Context(DIGITS, ROUND_CEILING).plus(Decimal(repr(float(value)))))


def rounded_down(value: float) -> float:
    """Return the largest number of four digits that is not above `value`."""
    return float(Context(DIGITS, ROUND_FLOOR).plus(Decimal(repr(float(value)))))


def _plain(value: float) -> Number:
    return int(value) if float(value).is_integer() else value


def _share(value: float) -> Number | None:
    """Return a share that a measured one keeps; None where only all would."""
    return found if (found := rounded_up(value)) < 1 else None


def _any_most(value: float) -> Number | None:
    return rounded_up(value) if isfinite(value) else None


def _least(floor: float) -> Callable[[float], Number | None]:
    """Return what rounds a least to the number that it keeps; None at `floor`, which every release keeps."""
    return lambda value: _plain(found) if (found := rounded_down(value)) > floor else None


def _count(least: int) -> Callable[[float], Number | None]:
    return lambda value: int(value) if value >= least else None


def _over_reciprocal(value: float) -> Number | None:
    """Return c where `value` must be over 1 / c."""
    return rounded_up((1 + _APART) / value) if value > 0 else None


def _over_exponential(value: float) -> Number | None:
    """Return delta where `value` must be over exp(-delta)."""
    return rounded_up(-log(value) * (1 + _APART) + _APART) if value > 0 else None


def _one(*place: str, keep: Callable[[float], Number | None] = _share) -> Limits:
    """Return the limit of a gate that has one, of its one measured value."""

    def limits(
        result: GateResult, _: Mapping[str, GateResult], __: ReleasePolicy
    ) -> tuple[PolicySetting, ...]:
        return () if result.value is None else _settings([(place, keep(result.value))])

    return limits


def _of_attributes(
    places: Callable[[ReleasePolicy], Mapping[str, Place]],
    limit: Callable[[ReleasePolicy, str], float],
    keep: Callable[[float], Number | None],
    *,
    most: bool,
) -> Limits:
    """Return the limits of a gate that holds each sensitive attribute to its own.

    Where only the worst of all was measured, each place gets its limit.
    """

    def limits(
        result: GateResult, _: Mapping[str, GateResult], policy: ReleasePolicy
    ) -> tuple[PolicySetting, ...]:
        if result.value is None:
            return ()
        place_of = places(policy)
        measured = result.witness.get("measured") or dict.fromkeys(place_of, result.value)
        worst: dict[Place, float] = {}
        for name, value in measured.items():
            if not _keeps(value, result.relation, limit(policy, name)):
                place, pick = place_of[name], max if most else min
                worst[place] = pick(worst.get(place, value), value)
        return _settings((place, keep(value)) for place, value in worst.items())

    return limits


def _keeps(value: float, relation: str, threshold: float) -> bool:
    if relation == "<=":
        return value <= threshold
    return value >= threshold if relation == ">=" else value > threshold * (1 + _APART)


def _settings(found: Iterable[tuple[Place, Number | None]]) -> tuple[PolicySetting, ...]:
    """Return the settings; none where one of them is none: alone, the others would not help."""
    listed = list(found)
    known = [PolicySetting(place, value) for place, value in listed if value is not None]
    return tuple(known) if len(known) == len(listed) else ()


def _privacy(field: str, keep: Callable[[float], Number | None], *, most: bool = False) -> Limits:
    def places(policy: ReleasePolicy) -> dict[str, Place]:
        held = policy.roles.sensitive.items()
        asked = [name for name, one in held if field != "spread" or one.type == "numeric"]
        own = policy.privacy.attributes
        return {
            name: ("privacy", "attributes", name, field)
            if name in own and field in own[name].own()
            else ("privacy", field)
            for name in asked
        }

    return _of_attributes(
        places, lambda policy, name: float(getattr(policy.privacy.of(name), field)), keep, most=most
    )


def _model(
    model: str,
    field: str,
    keep: Callable[[float], Number | None],
    *,
    most: bool = False,
    threshold: Callable[[float], float] = float,
) -> Limits:
    def places(policy: ReleasePolicy) -> dict[str, Place]:
        models = policy.gates.models
        asked = [name for name in policy.roles.sensitive if getattr(models.of(name), model) is not None]
        return {name: (*model_place(models, name, model), field) for name in asked}

    def limit(policy: ReleasePolicy, name: str) -> float:
        return threshold(getattr(getattr(policy.gates.models.of(name), model), field))

    return _of_attributes(places, limit, keep, most=most)


def model_place(models: Models, attribute: str, model: str) -> Place:
    """Return the place that sets a model of a sensitive attribute: its own, or that of all."""
    own = models.attributes.get(attribute)
    mine = own is not None and model in own.own()
    return ("gates", "models", "attributes", attribute, model) if mine else ("gates", "models", model)


def _alpha_k(
    result: GateResult, results: Mapping[str, GateResult], policy: ReleasePolicy
) -> tuple[PolicySetting, ...]:
    """Return alpha, k, or both: the smallest class is what the gate `k` measured."""
    model = policy.gates.models.alpha_k
    if model is None or result.value is None:
        return ()
    smallest = results["k"].value if "k" in results else None
    if smallest is None:
        return ()
    by_k: tuple[tuple[Place, Number | None], ...] = ()
    if smallest < model.k:
        by_k = ((("gates", "models", "alpha_k", "k"), _count(2)(smallest)),)
    found = _settings(by_k)
    if result.relation == ">=":
        return found
    shares = _model("alpha_k", "alpha", _share, most=True)(result, results, policy)
    return (*shares, *found) if shares and len(found) == len(by_k) else ()


def _lkc(result: GateResult, _: Mapping[str, GateResult], __: ReleasePolicy) -> tuple[PolicySetting, ...]:
    """Return C, K, or both; none of combinations that were not all looked at."""
    if result.value is None or result.witness.get("unfinished"):
        return ()
    place = ("gates", "models", "lkc")
    if result.relation == ">=":
        return _settings([((*place, "k"), _count(2)(result.value))])
    fewest = result.witness.get("fewest_rows")
    rows = [] if fewest is None else [((*place, "k"), _count(2)(fewest))]
    return _settings([((*place, "c"), _share(result.value)), *rows])


def _km(result: GateResult, _: Mapping[str, GateResult], __: ReleasePolicy) -> tuple[PolicySetting, ...]:
    if result.value is None or result.witness.get("unfinished"):
        return ()
    return _settings([(("gates", "models", "km", "k"), _count(2)(result.value))])


def _attack(gate: str) -> Limits:
    """Return the limit of a gate on attackers; none where one of them could not be measured."""
    alone = _one("gates", gate, "max")

    def limits(
        result: GateResult, results: Mapping[str, GateResult], policy: ReleasePolicy
    ) -> tuple[PolicySetting, ...]:
        return () if result.witness.get("not_measured") else alone(result, results, policy)

    return limits


def _presence(
    result: GateResult, _: Mapping[str, GateResult], __: ReleasePolicy
) -> tuple[PolicySetting, ...]:
    """Return the least, the most, or both shares of people who are in the release."""
    place, between = ("gates", "delta_presence"), result.witness.get("probability")
    if not between:
        return ()
    least, most = between
    too_low = [((*place, "min"), rounded_down(least))] if result.witness["people_under_min"] else []
    too_high = [((*place, "max"), _share(most))] if result.witness["people_over_max"] else []
    return _settings([*too_low, *too_high])


LIMITS: dict[str, Limits] = {
    "unique": _one("gates", "unique", "max"),
    "k": _one("privacy", "k", keep=_count(2)),
    "p_max": _privacy("p_max", _share, most=True),
    "h_min": _privacy("h_min", _least(0)),
    "e": _privacy("e", _least(1)),
    "spread": _privacy("spread", _least(0)),
    "distinct_l": _model("distinct_l", "min", _count(2)),
    "entropy_l": _model("entropy_l", "min", _least(1)),
    "recursive_cl": _model("recursive_cl", "c", _over_reciprocal, threshold=lambda c: 1 / c),
    "t_closeness": _model("t_closeness", "max", _share, most=True),
    "alpha_k": _alpha_k,
    "beta_likeness": _model("beta_likeness", "max", _any_most, most=True),
    "delta_disclosure": _model("delta_disclosure", "max", _over_exponential, threshold=lambda d: exp(-d)),
    "km": _km,
    "lkc": _lkc,
    "k_map": _one("gates", "k_map", "k", keep=_count(2)),
    "population_uniqueness": _one("gates", "population_uniqueness", "max"),
    "delta_presence": _presence,
    **{name: _attack(name) for name in ("sadr", "sadr_excess", "pr_dr", "pr_dr_excess")},
    **{
        name: _one("gates", name, "max")
        for name in ("err", "umr", "forced", "membership", "inversion", "suppression", "ncp")
    },
}
