"""What a policy guards less than an earlier one of its series did: in words, with no value of the data.

The words stand in the manifest, so columns that nobody sees are not named.

Every field has a rule that says which way is looser. One that has none counts as looser where it differs, so
that a field of tomorrow is not forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from policy import categorical, gates, model, population_risk, privacy_models, roles
from policy.cells import STEPS
from policy.model import Expectations, ReleasePolicy
from policy.roles import Roles
from policy.section import Section

RULES = 4  # to be counted up with every change of what counts: what was judged by other rules is not again

Rule = Callable[[str, Any, Any], Iterator[str]]
_NO_ROLE, _KEPT, _UNREAD, _LOOKED_FOR = "without a role", "kept", "not read", "an identifier"
_KEY, _WEIGHT, _HOUSEHOLD = "key", "weight", "household"
_EPSILONS = ("epsilon_kept", "epsilon_raised")  # of noise on numbers: larger ones are less noise
_SHORT = ("privacy.", "approval.")  # sections whose fields are known by their own names


def loosened(earlier: ReleasePolicy, now: ReleasePolicy) -> list[str]:
    """Return what `now` guards less than `earlier`, a few words each; nothing where it guards as much.

    What does not guard is passed over: where the table comes from, the method but for its recoding, the seed,
    the calendar, the texts of the data package.
    """
    return [*_section("", earlier, now), *_nearer(earlier, now)]


def _section(place: str, earlier: Section, now: Section) -> Iterator[str]:
    for field in type(earlier).model_fields:
        rule = _RULES.get((type(earlier), field), _differs)
        yield from rule(f"{place}{field}", getattr(earlier, field), getattr(now, field))


# Rules: what is looser, by a field's place, its earlier value and its value now -----------------------------


def _free(_place: str, _was: Any, _now: Any) -> Iterator[str]:
    yield from ()


def _differs(place: str, was: Any, now: Any) -> Iterator[str]:
    """Which way is looser is not known, or depends."""
    if was != now:
        yield f"{_called(place)} changed"


def _part(place: str, was: Section | None, now: Section | None) -> Iterator[str]:
    """A gate, a model or a section: gone is looser, new is not."""
    if was is None:
        return
    if now is None:
        yield f"{_called(place)} was removed"
    elif type(was) is not type(now):
        yield f"{_called(place)} changed"
    else:
        yield from _section(f"{place}.", was, now)


def _no_less(place: str, was: float | None, now: float | None) -> Iterator[str]:
    if was is not None and (now is None or now < was):
        yield _instead(place, was, now)


def _no_more(place: str, was: float | None, now: float | None) -> Iterator[str]:
    if was is not None and (now is None or now > was):
        yield _instead(place, was, now)


def _names_all(place: str, was: Iterable[Any] | None, now: Iterable[Any] | None) -> Iterator[str]:
    """What is listed is held to something; no list stands for one that is not written here."""
    if was is None or now is None:
        yield from _differs(place, was, now)
    elif gone := [one for one in was if one not in tuple(now)]:
        yield f"{_called(place)} without {', '.join(map(str, gone))}"


def _names_no_more(place: str, was: Iterable[str], now: Iterable[str]) -> Iterator[str]:
    """What is listed is let off."""
    if more := [one for one in now if one not in tuple(was)]:
        yield f"{_called(place)} with {', '.join(more)}"


def _allows_no_more(
    place: str, was: dict[str, tuple[str, ...]], now: dict[str, tuple[str, ...]]
) -> Iterator[str]:
    """What columns may hold beside."""
    for name, marks in now.items():
        yield from _names_no_more(f"{place}.{name}", was.get(name, ()), marks)


def _listed_values(place: str, was: dict[str, Any] | None, now: dict[str, Any] | None) -> Iterator[str]:
    """Values of attributes that are held to something; all, where none are listed. They are not told."""
    for name, values in (now or {}).items():
        before = (was or {}).get(name)
        if before is None or not set(before) <= set(values):
            yield f"{_called(place)}.{name} lists fewer"


def _added(place: str, was: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Models of other packages: which way is looser, only they know."""
    for name, parameters in was.items():
        if name in now:
            yield from _differs(f"{place}.{name}", parameters, now[name])
        else:
            yield f"{place}.{name} was removed"


def _of_order(*strictest_first: str) -> Rule:
    def rule(place: str, was: str, now: str) -> Iterator[str]:
        if strictest_first.index(now) > strictest_first.index(was):
            yield _instead(place, was, now)

    return rule


def _repeats(place: str, was: str | tuple[str, ...], now: str | tuple[str, ...]) -> Iterator[str]:
    """Nothing, columns, whose names may be known to nobody, or everything."""
    if isinstance(was, tuple) and isinstance(now, tuple):
        if not {*now} <= {*was}:
            yield f"{_called(place)} with other columns"
        return
    some = "some columns"
    before, after = (one if isinstance(one, str) else some for one in (was, now))
    yield from _of_order("refused", some, "accepted")(place, before, after)


def _unless_new(place: str, was: Any, now: Any) -> Iterator[str]:
    if was is not None and was != ():
        yield from _differs(place, was, now)


def _privacy(place: str, was: model.Privacy, now: model.Privacy) -> Iterator[str]:
    """An attribute is held to its own limits, or else to those of all."""
    yield from _part(place, was, now)
    for name in dict.fromkeys((*was.attributes, *now.attributes)):
        before, after = was.of(name), now.of(name)
        for field in model.AttributePrivacy.model_fields:
            rule = _RULES[model.Privacy, field]
            yield from rule(
                f"{place}.attributes.{name}.{field}", getattr(before, field), getattr(after, field)
            )


def _models(place: str, was: privacy_models.Models, now: privacy_models.Models) -> Iterator[str]:
    """An attribute is held to its own models, or else to those of all."""
    yield from _part(place, was, now)
    for name in dict.fromkeys((*was.attributes, *now.attributes)):
        before, after = was.of(name), now.of(name)
        for field in privacy_models.OF_ONE_ATTRIBUTE:
            yield from _part(
                f"{place}.attributes.{name}.{field}", getattr(before, field), getattr(after, field)
            )


def _recoding_alone(place: str, was: model.Method, now: model.Method) -> Iterator[str]:
    """How cells are written says what the gates can read in them; all else of a method, they judge.

    No gate sees how much noise numbers have. Which default a parameter has that is not set is not known here.
    """
    yield from _differs(f"{place}.recoding", was.recoding, now.recoding)
    yield from _of_order("rounded", "attained")(f"{place}.ends", was.ends, now.ends)
    for name in _EPSILONS:
        before, after = (one.parameters.get(name) for one in (was, now))
        if before is None or after is None:
            yield from _differs(f"{place}.parameters.{name}", before, after)
        else:
            yield from _no_more(f"{place}.parameters.{name}", before, after)


def _source(place: str, was: model.Source, now: model.Source) -> Iterator[str]:
    """A query, a sheet or a table decides what stands in which column, and what is missing what is asked.

    Where the files lie does not count. Of duplicates that are kept, each counts as a person. Steps that
    read a cell otherwise decide what stands there, as a query does.
    """
    yield from _differs(f"{place}.query", was.query, now.query)
    yield from _differs(f"{place}.inputs", sorted(was.inputs), sorted(now.inputs))
    yield from _differs(f"{place}.sheet", was.sheet, now.sheet)
    yield from _differs(f"{place}.table", was.table, now.table)
    if not set(was.missing) <= set(now.missing):
        yield f"{place}.missing lists fewer"
    yield from _differs(f"{place}.missing_label", was.missing_label, now.missing_label)
    for step in STEPS:
        yield from _differs(f"{place}.{step}", getattr(was, step), getattr(now, step))
    yield from _of_order("removed", "kept")(f"{place}.duplicates", was.duplicates, now.duplicates)


def _expectations(place: str, was: Expectations, now: Expectations) -> Iterator[str]:
    yield from _section(f"{place}.", was, now)
    for name in dict.fromkeys((*was.missing_in, *now.missing_in)):
        before, after = (one.missing_in.get(name, one.missing) for one in (was, now))
        yield from _no_more(f"{place}.missing_in", before, after)


def _roles(place: str, was: Roles, now: Roles) -> Iterator[str]:
    before, after = _roles_by_column(was), _roles_by_column(now)
    for name, role in before.items():
        found = after.get(name, _NO_ROLE)
        # None of them is published; keys and identifiers are looked for in what is.
        unpublished = (_WEIGHT, _UNREAD, _LOOKED_FOR, _KEY, _HOUSEHOLD)
        tighter = {_UNREAD: unpublished, _WEIGHT: unpublished, _LOOKED_FOR: (_KEY,)}.get(role, ())
        if role not in (found, _KEPT) and found not in tighter:
            yield f"{_named(name, was, now)} is {found} instead of {role}"
    raw = [*((name, "kept") for name in now.kept), *((name, "sensitive") for name in now.sensitive)]
    yield from (f"{name} is {role}" for name, role in raw if name not in before)
    for field in ("quasi_identifiers", "sensitive"):
        ours, theirs = getattr(was, field), getattr(now, field)
        for name in ours:
            if name in theirs:
                yield from _part(f"{place}.{field}.{name}", ours[name], theirs[name])
    yield from _unless_new(f"{place}.weight", was.weight, now.weight)
    if was.household is not None and now.household is None:
        yield f"{place}.household was removed"
    elif was.household is None and now.household is not None:
        yield f"{place}.household: shares are of households in place of people"
    else:
        yield from _differs(f"{place}.household", was.household, now.household)
    for name, earlier in was.numeric.items():  # no sensitivity stands for the width of the bounds
        later = now.numeric.get(name)
        if later is not None and not (earlier.sensitivity is later.sensitivity is None):
            noise = earlier.noise_sensitivity, later.noise_sensitivity
            yield from _no_less(f"{place}.quasi_identifiers.{name}.sensitivity", *noise)
    for name in was.kept:  # listed values are held to the list, and `leak` looks less closely at them
        if name in now.kept:
            listed = was.kept_values.get(name), now.kept_values.get(name)
            yield from _differs(f"{place}.kept_values.{name}", *listed)


def _nearer(was: ReleasePolicy, now: ReleasePolicy) -> Iterator[str]:
    """Values that t-closeness counted as far apart as can be, and that may be nearer now."""
    for name, attribute in was.roles.sensitive.items():
        before, after = (one.gates.models.of(name).t_closeness for one in (was, now))
        if before is not None and after is not None and name in now.roles.sensitive:
            distance = after.distance_of(name, now.roles.sensitive[name])
            if before.distance_of(name, attribute) == "equal" != distance:
                yield _instead(f"gates.models.t_closeness.distance.{name}", "equal", distance)


def _named(column: str, was: Roles, now: Roles) -> str:
    """Return a column's name if anybody may know it: what is said here stands in the public manifest."""
    public = (*was.quasi_identifiers, *was.sensitive, *was.kept)
    return column if column in (*public, *now.quasi_identifiers, *now.sensitive, *now.kept) else "a column"


def _roles_by_column(roles: Roles) -> dict[str, str]:
    return {
        **dict.fromkeys(roles.dropped, _UNREAD),
        **dict.fromkeys(roles.identifiers, _LOOKED_FOR),
        **dict.fromkeys(roles.quasi_identifiers, "quasi-identifier"),
        **dict.fromkeys(roles.sensitive, "sensitive"),
        **dict.fromkeys(roles.kept, _KEPT),
        **({} if roles.unpublished_weight is None else {roles.unpublished_weight: _WEIGHT}),
        **({} if roles.household is None else {roles.household: _HOUSEHOLD}),
        **({} if roles.key is None else {roles.key: _KEY}),
    }


def _called(place: str) -> str:
    return next((place.removeprefix(one) for one in _SHORT if place.startswith(one)), place)


def _instead(place: str, was: Any, now: Any) -> str:
    return f"{_called(place)} {_told(now)} instead of {_told(was)}"


def _told(value: Any) -> str:
    match value:
        case None:
            return "any"
        case bool():
            return str(value).lower()
        case float() if value.is_integer():
            return str(int(value))
    return str(value)


# The rules of every field of the policy ---------------------------------------------------------------------


def _all(section: type[Section], rule: Rule, *fields: str) -> dict[tuple[type[Section], str], Rule]:
    return {(section, field): rule for field in fields or section.model_fields}


_RULES: dict[tuple[type[Section], str], Rule] = {
    **_all(ReleasePolicy, _free, "series", "period", "timezone", "seed"),
    **_all(ReleasePolicy, _part, "publication"),
    **_all(model.Publication, _free, "title", "description", "licence", "formats"),
    **_all(model.Publication, _of_order("quoted", "kept"), "csv_formulas"),
    **_all(ReleasePolicy, _source, "source"),
    **_all(ReleasePolicy, _differs, "population"),  # another comparison
    **_all(ReleasePolicy, _free, "rows"),  # one row a person is asked for, or people are counted
    **_all(ReleasePolicy, _roles, "roles"),
    **_all(ReleasePolicy, _expectations, "expectations"),
    **_all(ReleasePolicy, _recoding_alone, "method"),
    **_all(model.Reuse, _free),  # which cells: the gates judge classes with them as any others
    **_all(ReleasePolicy, _privacy, "privacy"),
    **_all(ReleasePolicy, _part, "gates", "linkage", "approval"),
    **_all(roles.NumericQuasiIdentifier, _differs, "type", "bounds", "widths", "weight", "moves"),
    **_all(roles.NumericQuasiIdentifier, _free, "sensitivity", "description"),  # `_roles` looks at the former
    **dict(
        rule
        for section in (
            categorical.NominalQuasiIdentifier,
            categorical.OrdinalQuasiIdentifier,
            categorical.CodeQuasiIdentifier,
            categorical.DateQuasiIdentifier,
        )
        for rule in {**_all(section, _differs), **_all(section, _free, "description")}.items()
    ),
    **_all(roles.SensitiveAttribute, _of_order("stable", "transient"), "stability"),
    **_all(roles.SensitiveAttribute, _differs, "type", "values", "hierarchy"),
    **_all(roles.SensitiveAttribute, _free, "ordered"),  # `_nearer` looks at it
    **_all(roles.SensitiveAttribute, _no_less, "width"),  # more numbers count as different
    **_all(roles.SensitiveAttribute, _unless_new, "similar", "ranges"),
    **_all(roles.SensitiveAttribute, _unless_new, "change"),  # attackers know another rule
    **_all(roles.SensitiveAttribute, _free, "description"),
    **_all(roles.RuleOfChange, _differs, "factor", "sum"),
    **_all(model.RowCount, _no_less, "min"),
    **_all(model.RowCount, _no_more, "max", "drift"),
    **_all(Expectations, _part, "rows"),
    **_all(Expectations, _no_more, "missing", "sensitive_drift"),
    **_all(Expectations, _free, "missing_in"),  # `_expectations` looks at it column by column
    **_all(Expectations, _no_less, "unique_key"),
    **_all(Expectations, _repeats, "repeats"),
    **_all(model.Privacy, _no_less, "k", "e", "h_min", "spread", "l"),
    **_all(model.Privacy, _no_more, "p_max"),
    **_all(model.Privacy, _free, "attributes"),  # `_privacy` looks at what each attribute is held to
    **_all(model.AttributePrivacy, _free),  # `_privacy` again
    **_all(gates.Gates, _part),
    **_all(gates.Gates, _models, "models"),
    **_all(gates.Worlds, _free, "calls"),  # fewer leave more undecided, and more decide it rightly
    **_all(gates.Worlds, _of_order("block", "accept"), "unfollowed"),
    **_all(gates.Worlds, _of_order("ask", "accept"), "kept"),
    **_all(gates.Worlds, _free, "sweeps"),  # fewer leave worlds nearer to the known one: attackers look surer
    **_all(gates.Worlds, _no_more, "changes", "p_max"),
    **_all(gates.KnownPeople, _no_more, "max", "mean"),
    **_all(gates.Leak, _allows_no_more, "allow"),
    **_all(gates.Unique, _no_more, "max"),
    **_all(gates.Unique, _names_no_more, "allow"),
    **_all(gates.Gates, _of_order("compare", "ignore"), "transient"),
    **_all(gates.Limit, _no_more, "max"),
    **_all(gates.AttackLimit, _no_more, "max"),
    **_all(gates.AttackLimit, _names_all, "attackers"),
    **_all(gates.PersonGates, _no_less, "compare"),
    **_all(gates.PersonGates, _names_no_more, "without"),
    **_all(gates.PersonGates, _of_order("always", "unfollowed"), "cells"),
    **_all(gates.PersonGates, _differs, "followed"),
    **_all(gates.PersonGates, _of_order("ask", "accept"), "other_forms"),
    **_all(population_risk.DeltaPresence, _no_less, "min"),
    **_all(population_risk.DeltaPresence, _no_more, "max"),
    **_all(population_risk.KMap, _no_less, "k"),
    **_all(population_risk.PopulationUniqueness, _no_more, "max"),
    **_all(population_risk.PopulationUniqueness, _differs, "estimator", "values"),
    **_all(privacy_models.Models, _part),
    **_all(privacy_models.Models, _free, "attributes"),  # `_models` looks at what each attribute is held to
    **_all(privacy_models.AttributeModels, _free),  # `_models` again
    **_all(privacy_models.AttributeAlpha, _free),
    **_all(privacy_models.Models, _added, "added"),
    **_all(privacy_models.DistinctL, _no_less, "min"),
    **_all(privacy_models.EntropyL, _no_less, "min"),
    **_all(privacy_models.RecursiveCL, _no_more, "c"),
    **_all(privacy_models.RecursiveCL, _no_less, "l"),
    **_all(privacy_models.TCloseness, _no_more, "max"),
    **_all(privacy_models.TCloseness, _free, "distance"),  # `_nearer` looks at it
    **_all(privacy_models.AlphaK, _no_more, "alpha"),
    **_all(privacy_models.AlphaK, _no_less, "k"),
    **_all(privacy_models.AlphaK, _listed_values, "values"),
    **_all(privacy_models.BetaLikeness, _no_more, "max"),
    **_all(privacy_models.DeltaDisclosure, _no_more, "max"),
    **_all(privacy_models.KM, _no_less, "k", "m"),
    **_all(privacy_models.LKC, _no_less, "l", "k"),
    **_all(privacy_models.LKC, _no_more, "c"),
    **_all(privacy_models.LKC, _listed_values, "values"),
    **_all(model.Linkage, _names_all, "ext_frac"),
    **_all(model.Linkage, _differs, "seeds", "errors"),
    **_all(model.Linkage, _unless_new, "control"),
    **_all(model.Linkage, _no_less, "sampling_fraction"),
    **_all(model.Approval, _no_less, "approvers"),
    **_all(model.Approval, _no_more, "expires_days"),
}
