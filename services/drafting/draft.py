"""Draft a policy from a table: guesses with their reasons, for a person to check line by line."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap

from policy.load import parse_policy
from policy.location import Location
from policy.text import number_of
from policy.trusted import NEVER_NAMES, Trusted
from services.drafting.changes import Change, changes_of, moves_of
from services.drafting.facts import TableFacts, table_facts, with_rounded
from services.drafting.gate_limits import (
    MOST_CHANGED,
    WIDTH,
    accepted_lines,
    gate_lines,
    history_lines,
    stability_of,
)
from services.drafting.guesses import (
    MANY_VALUES,
    Guess,
    Role,
    are_places,
    guess_roles,
    hardly_repeats,
    is_amount,
    single_amounts,
)
from services.drafting.limits import RECODING, K, method_lines, privacy_lines
from services.drafting.population import overlap_of, population_lines
from services.drafting.quasi_identifiers import classes_of, quasi_identifier_lines
from services.drafting.second_release import MOST_ROWS, SecondRelease, raised, second_release
from services.drafting.series import in_order, period_of, source_of, table_name
from services.drafting.source_lines import query_line, source_lines
from services.drafting.steps import Steps, is_number
from services.drafting.tables import InputOptions
from services.drafting.trial import Trial, try_policy
from services.drafting.yaml_text import scalar as _scalar
from tasks.intake.repeated_people import RepeatedPeople
from tasks.sql import identifier

UNDECIDED = "DECIDE"
END = (
    "",
    "# Required approvals; 0 publishes as soon as every gate passes.",
    "approval: {approvers: 1}",
    "",
    "seed: 42",
)


def draft(table: Location, *more: Location, options: InputOptions | None = None, trial: bool = True) -> str:
    """Return the text of a commented policy guessed from tables that a run can read, each a period's.

    It holds column names, counts and bounds, and the values of categorical quasi-identifiers of at most
    50 values; never a value of another column, but for customary ways to write that one is unknown, and a
    word of 10 lines or more that likely encodings read otherwise. The
    policy is tried on the last table, unless `trial` is false: its method is the one that loses least, and
    its limits are those that the table keeps, by itself and beside a release of the table before it. Where
    no sensitive attribute or no quasi-identifier is recognised, a line marked DECIDE stands in its place, and
    the policy does not load until a person has replaced it. Raises UsageError where there is no such file,
    InputError where one is no table or lacks a column of another.
    """
    ordered = in_order([table, *more])
    tables = ordered or [table, *more]
    options = options or InputOptions()
    with table_facts(*tables, options=options) as read:
        facts, guesses = _facts_and_guesses(read)
        changes = _changes(facts, guesses)
        repeated = _repeated(facts, guesses)
        lines = [
            *_head(tables, options, facts, guesses, ordered=ordered is not None),
            *_roles(facts, guesses, changes),
            *_expectations(facts, guesses, repeated),
            *privacy_lines(facts, guesses),
        ]
        n_last_two = sum(facts.sizes[-2:])
        steps = facts.steps
        followed = any(guess.role == "key" and guess.column.unique for guess in guesses)
        overlap = overlap_of(facts, _key_of(guesses))
        accepted = accepted_lines(guesses, stay=overlap is not None and overlap.stays)
        leaving = 1 - overlap.share if followed and overlap is not None else 0.0
    undecided = not {"sensitive", "quasi-identifier"} <= {guess.role for guess in guesses}
    undecided |= not all(map(are_places, repeated))
    begun, history = "\n".join(lines), history_lines(guesses, changes, followed=followed, leaving=leaving)
    first = _trial(begun, tables[-1], options) if trial and not undecided else None
    beside: dict[str, SecondRelease] = {}
    if first is not None and not first.best.problem and n_last_two <= MOST_ROWS and accepted is not None:
        gates = ["gates:", *history, *accepted]
        beside = _beside(begun, first, gates, tables)
        if beside and list(beside)[-1] != first.best.label and list(beside.values())[-1].passes:
            first = _trial(begun, tables[-1], options, list(beside)[-1])
    grown = None
    if first is not None and not first.best.problem and not more and followed and 2 * n_last_two <= MOST_ROWS:
        grown = _grown(begun, first, steps, history, table)
    second = beside.get(first.best.label) if first is not None else None
    lines += [*method_lines(first, beside=beside), ""]
    lines += gate_lines(
        first, second, accepted or [], grown, undecided=undecided, followed=followed, leaving=leaving
    )
    lines += [*history, *END]
    return "\n".join([*lines, "", *_next(tables, undecided=undecided)]) + "\n"


def _facts_and_guesses(facts: TableFacts) -> tuple[TableFacts, list[Guess]]:
    """Guess the roles; where all sensitive attributes are numbers that hardly repeat, these are rounded.

    Where people are followed, exact numbers would tell whose rows two releases have in common: also those of
    many values that most people keep, which are read in bands too.
    """
    guesses = guess_roles(facts)
    followed = any(guess.role == "key" and guess.column.unique for guess in guesses)
    single = single_amounts(guesses)
    rounded = single or _kept_amounts(guesses, _changes(facts, guesses))
    if not rounded:
        return facts, guesses
    facts = with_rounded(facts, rounded, in_bands=followed, kept=not single)
    return facts, guess_roles(facts)


def _kept_amounts(guesses: Sequence[Guess], changes: Mapping[str, Change]) -> list[str]:
    """Return the sensitive numbers of many values that most people have in the next table, too."""
    sensitive = [one.column for one in guesses if one.role == "sensitive"]
    return [
        one.name
        for one in sensitive
        if one.numeric
        and one.distinct > MANY_VALUES
        and one.name in changes
        and changes[one.name].share <= MOST_CHANGED
    ]


def _changes(facts: TableFacts, guesses: list[Guess]) -> Mapping[str, Change]:
    """Return how many people's values changed, of columns that are published; none if nobody is followed."""
    keys = [guess.column for guess in guesses if guess.role == "key"]
    if facts.tables == 1 or not keys or not keys[0].unique:
        return {}
    published = [guess.column for guess in guesses if guess.role in ("quasi-identifier", "sensitive")]
    names, key = [column.name for column in published], keys[0].name
    numbers = {
        column.name: is_number(identifier(column.name), facts.source)
        for column in published
        if column.numeric
    }
    moves = moves_of(facts.connection, key, facts.number, numbers)
    found = changes_of(facts.connection, key, facts.number, names)
    return {name: replace(change, moves=moves.get(name)) for name, change in found.items()}


def _beside(
    begun: str, trial: Trial, gates: Sequence[str], tables: Sequence[Location]
) -> dict[str, SecondRelease]:
    """Try the last two tables by the methods, the best one first, until a second release passes.

    Returns what came of each, by the method's label; nothing where there are no two that any store may read.
    """
    last = [table for table in tables[-2:] if isinstance(table, Path)]
    made = [one for one in trial.methods if not one.problem and one.label != trial.best.label]
    found: dict[str, SecondRelease] = {}
    for label in (trial.best.label, *(one.label for one in sorted(made, key=lambda one: one.ncp))):
        if len(last) < 2 or (found and list(found.values())[-1].passes):
            break
        text = "\n".join([begun, *method_lines(trial, label), *gates])
        found[label] = second_release(text, *last)
    return found


def _grown(
    begun: str, trial: Trial, steps: Steps, history: Sequence[str], table: Location
) -> SecondRelease | None:
    """Try a second release of the only table, in which amounts have grown; None where there are none."""
    if not steps.rounded or not isinstance(table, Path):
        return None
    begun = begun.replace(query_line(steps), query_line(steps, raised(steps)))
    return second_release("\n".join([begun, *method_lines(trial), "gates:", *history]), table, table)


def _trial(begun: str, table: Location, options: InputOptions, chosen: str | None = None) -> Trial:
    """Try the policy that begins so."""
    policy = parse_policy(f"{begun}\nmethod: {{name: mondrian, recoding: {RECODING}}}\n", Path("draft"))
    return try_policy(policy, table, Trusted(objects=options.objects), chosen)


def _repeated(facts: TableFacts, guesses: Sequence[Guess]) -> list[RepeatedPeople]:
    """Return the columns for which a run would refuse a table, because they may be people.

    Where places are accepted, what else shows is asked again.
    """
    if any(guess.role == "key" and guess.column.repeats for guess in guesses):
        return []
    others, known = (
        [guess.column.name for guess in guesses if guess.role in roles]
        for roles in (("dropped", "identifier"), ("quasi-identifier",))
    )
    found: list[RepeatedPeople] = []
    while all(map(are_places, found)):
        more = facts.people_among(others, known, K, [name for one in found for name in one.columns])
        if not more:
            break
        found += more
    return found


def _head(
    tables: list[Location], options: InputOptions, facts: TableFacts, guesses: list[Guess], *, ordered: bool
) -> Iterator[str]:
    series, path = source_of(tables)
    keys = [guess.column for guess in guesses if guess.role == "key"]
    rows, columns = number_of(facts.rows, "row"), number_of(len(facts.columns), "column")
    whole = "a table" if facts.tables == 1 else f"{facts.tables} tables"
    yield f"# A policy drafted from {whole} of {rows} and {columns}."
    if facts.tables > 1:
        order = "of the periods in" if ordered else "in which they were given, as no period of time is in all"
        yield f"# The tables are taken in the order {order} their names: check it."
        yield from (f"#   {_plain(table_name(table))}" for table in tables)
    yield "# Every line is a guess from names and counts: check and correct each before a release."
    yield "# Only somebody who knows the data and the people in them can decide the roles. Check with care"
    yield "# `sensitive` (is one missing?) and `quasi_identifiers` (what may a neighbour know?)."
    yield "# This file contains names, counts, bounds, and the values of quasi-identifiers that have few."
    yield ""
    yield "# The name under which the releases are published."
    yield f"series: {_scalar(series)}"
    yield ""
    if any(column.repeats for column in keys):
        yield "# A person has several rows with the same key: k and all risks count people. No second release"
        yield "# with the same people can pass: for a release every period, publish one row a person by a"
        yield "# `query` in source, or let each be assessed by itself (`gates.worlds.unfollowed: accept` and"
        yield "# `gates.person.compare: false`)."
        yield "rows: several"
        yield ""
    followed = bool(keys) and keys[0].unique
    yield from population_lines(facts, _key_of(guesses), followed=followed)
    yield from source_lines(facts, guesses, path, options)


def _key_of(guesses: Sequence[Guess]) -> str | None:
    return next((guess.column.name for guess in guesses if guess.role == "key"), None)


def _roles(facts: TableFacts, guesses: list[Guess], changes: Mapping[str, Change]) -> Iterator[str]:
    def having(role: Role) -> list[Guess]:
        return [guess for guess in guesses if guess.role == role]

    yield "roles:"
    yield "  # Identifies a person across releases, never published. Check that it never changes."
    if keys := having("key"):
        yield f"  # {keys[0].why}"
        yield f"  key: {_scalar(keys[0].column.name)}"
    else:
        yield "  # None was found: people cannot be followed across releases, and k counts rows, not people."
    yield ""
    yield "  # Identifies a person by itself: read, and not published."
    yield from _names("identifiers", having("identifier"))
    yield ""
    yield "  # What others may know of a person: generalized into classes of at least k."
    yield "  quasi_identifiers:"
    described = having("quasi-identifier")
    if described:
        classes = classes_of(facts, [guess.column for guess in described])
        for guess in described:
            change = changes.get(guess.column.name)
            yield from quasi_identifier_lines(facts, guess, classes, change)
    else:
        yield f"    # {UNDECIDED}: no column was recognised. Move at least one here from `dropped`."
        yield f'    {UNDECIDED}: {{type: "{UNDECIDED}: name the columns that others may know"}}'
    yield ""
    yield "  # What must not be linked to a person: published unchanged."
    yield "  # stability: stable where a person's value stays in later releases, transient where it may not."
    yield "  sensitive:"
    repeated = next((one.column.name for one in having("key") if one.column.repeats), None)
    for guess in having("sensitive"):
        several = 0 if repeated is None else facts.people_of_several_values(guess.column.name, repeated)
        yield from _sensitive(guess, changes.get(guess.column.name), several)
    if not having("sensitive"):
        yield f"    # {UNDECIDED}: no column was recognised. Name at least one, and take it out of its list."
        what = "name the sensitive column, and say stable or transient"
        yield f'    {UNDECIDED}: {{stability: "{UNDECIDED}: {what}"}}'
    yield ""
    yield "  # Published unchanged and unprotected: only what is neither sensitive nor known to others."
    yield "  kept: []"
    yield ""
    yield "  # Left out."
    yield from _names("dropped", having("dropped"))
    yield ""


def _names(field: str, guesses: list[Guess]) -> Iterator[str]:
    if not guesses:
        yield f"  {field}: []"
        return
    yield f"  {field}:"
    for guess in guesses:
        yield f"    - {_scalar(guess.column.name)} # {guess.why}"


def _sensitive(guess: Guess, change: Change | None, several: int) -> Iterator[str]:
    """Write a sensitive attribute, of which `several` people have more than one value in a table."""
    column = guess.column
    yield f"    {_scalar(column.name)}:"
    distinct, most = number_of(column.distinct, "distinct value"), number_of(column.most, "row")
    yield f"      # {guess.why}; {distinct}, the most frequent in {most}"
    if column.distinct > MANY_VALUES:
        yield "      # So many values can identify a person by themselves: group them by a `query` in source."
    if change is not None and change.changed:
        yield f"      # {change.said}"
    if several:
        people = number_of(several, "person has", "people have")
        yield f"      # {people} several values in a table, so that none of them stays."
    yield f"      stability: {'transient' if several else stability_of(column, change)}"
    if is_amount(column):
        yield "      type: numeric"
        if hardly_repeats(column):
            yield "      # Most values appear in one row only, which the gate `unique` blocks: round them."


def _expectations(
    facts: TableFacts, guesses: list[Guess], repeated: Sequence[RepeatedPeople]
) -> Iterator[str]:
    yield "expectations:"
    which, rows = "This" if facts.tables == 1 else "The smallest", number_of(facts.fewest_rows, "row")
    yield f"  # {which} table has {rows}; fewer than half of them stop a run."
    yield f"  rows: {{min: {max(1, facts.fewest_rows // 2)}}}"
    yield "  # Largest share of missing cells in a column."
    yield "  missing: 0.05"
    incomplete = [
        guess.column
        for guess in guesses
        if guess.role in ("quasi-identifier", "sensitive") and guess.column.largest_missing_share > 0.04
    ]
    if incomplete:
        yield "  # These columns exceed it already:"
        yield "  missing_in:"
    for column in incomplete:
        allowed = min(1.0, math.ceil(column.largest_missing_share * 100 + 1) / 100)
        yield f"    {_scalar(column.name)}: {allowed}"
    yield from _repeats(repeated)
    yield ""


def _repeats(repeated: Sequence[RepeatedPeople]) -> Iterator[str]:
    """Accept columns that are named like places, and leave open what others are."""
    for found in repeated:
        said = str(found)
        yield from (f"  # {line}" for line in wrap(f"{said[0].upper()}{said[1:]}.", WIDTH))
    columns = ", ".join(dict.fromkeys(_scalar(name) for one in repeated for name in one.columns))
    if repeated and all(map(are_places, repeated)):
        yield "  # By the names, these are places or employers with different people: check that they are. If"
        yield "  # they are people, make them `roles.key` with `rows: several`, and remove this line:"
        yield f"  repeats: [{columns}]"
    elif repeated:
        yield f"  # {UNDECIDED}: `check` and `run` refuse such a table. If they are people, make them"
        yield "  # `roles.key` with `rows: several`, and remove the line `repeats`. If they are places or"
        yield f"  # employers with different people, write `repeats: [{columns}]`."
        yield f"  repeats: {UNDECIDED}"


def _next(tables: list[Location], *, undecided: bool) -> Iterator[str]:
    """Say what to run next, for a file name that no shell reads otherwise."""
    if undecided:
        yield f"# First replace the lines that are marked {UNDECIDED}: before, the policy does not load."
    policy, file = _policy_file(source_of(tables)[0]), shlex.quote(str(tables[0]))
    names = [table_name(table) for table in tables]
    period = period_of(names[0], names) or "FIRST"
    yield f"# Next, once the roles are checked and this is saved as {policy}:"
    yield "#   releasegate init"
    yield f"#   releasegate check {policy} --input {_plain(file)}"
    yield f"#   releasegate run {policy} --period {period} --input {_plain(file)}"


def _policy_file(series: str) -> str:
    """Return a name for the policy's file that is not one of the files beside a store."""
    name = f"{series}.yaml"
    return f"{series}-policy.yaml" if name.casefold() in NEVER_NAMES else name


def _plain(file: str) -> str:
    """Return a file's name for a comment: one line."""
    return file if file.isprintable() else "FILE"
