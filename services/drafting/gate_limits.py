"""Draft the limits of a policy's gates, from trials on the tables and from whose values changed.

A limit has room for the next table of the same people: a tenth of what was measured, or as much as random
parts of the table differ, whichever is more. Cuts are greedy, so that a few other rows change the first ones,
and all classes below them.

Earlier releases cost, too: each leaves out about as many rows as the first one did, and the third period has
two. Of ten surveys without a key, the second release left out 4.5% to 8.4% of the rows, the third 0.9 to 2.6
times as many. With a key, NCP rises once: in 33 series of eight kinds to at most 1.95 times that of the table
alone. And where many people leave, seats stay empty that a rare value needs: of students of whom 20% leave
each period, up to 0.4%, 2.4% and 5.8% were left out from the second period to the fourth; of 40%, up to 3.8%,
5.1% and 12%. Seats change hands, too: of registers of 20,000 people, one known person unlocked after twelve
releases 0.9 others on average and 8 at most where 5% left each period, 2.0 and 14 where 20% did.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from services.drafting.changes import Change
from services.drafting.facts import ColumnFacts
from services.drafting.guesses import MONEY_WORDS, Guess, is_amount
from services.drafting.second_release import SecondRelease
from services.drafting.trial import Trial
from tasks.intake.column_words import words_of

STEP = 0.05
WIDTH = 96  # of a comment's lines
ROOM = 1.1  # a limit over what was measured, for tables to come
ADDED = 2.3  # what two earlier releases add to the rows left out, as a multiple of what one adds
ALONE = 2.0  # NCP beside earlier releases, as a multiple of that of the table alone
LEAVING = 0.25  # of the share who leave, as a limit of the rows left out
LEAVE_FEW = 0.05  # share who leave, up to which one known person tells few others over twelve releases
NOT_FOLLOWED = 0.2  # least limit of the rows left out, where no key keeps the comparison from cells
LINKS = "which links rows of the two releases"  # in what `worlds` says
MOST_CHANGED = 0.5  # of the people in two tables, up to which a value is called stable
LEAST = {"err": 0.10, "ncp": 0.20, "suppression": 0.05}  # limits that are drafted


def gate_lines(
    trial: Trial | None,
    second: SecondRelease | None = None,
    accepted: Sequence[str] = (),
    grown: SecondRelease | None = None,
    *,
    undecided: bool = False,
    followed: bool = True,
    leaving: float = 0.0,
) -> Iterator[str]:
    """Write the limits of the gates: what the tables measured, and more room; usual ones without.

    `grown` is a second release of the only table, in which amounts have grown. `followed` says whether a key
    follows people, `leaving` what share of them is not in the next table.
    """
    yield "# Limits of what the gates measure in the staged files; over one, nothing is published."
    passes = second is not None and second.passes
    yield from _reasons(trial, passes=passes, undecided=undecided)
    if second is not None and not passes:
        yield "# Beside a release of the table before it, this table is not published:"
        yield from _blocked(second)
        yield "# `releasegate run` with both tells why. There is more room with fewer quasi-identifiers, and"
        yield "# with sensitive numbers in groups (a `query` in source)."
    if grown is not None and not grown.passes:
        yield "# If the sensitive amounts of the same people grow by 1% to 3% until the next table, that is"
        yield "# not published beside this one:"
        yield from _blocked(grown)
    if second is not None and accepted:
        yield "# A second release was tried with these lines, on which somebody has to decide (see above):"
        yield from (f"# {line}" for line in accepted)
    yield "gates:"
    tried = [one.measured for one in (trial.best if trial else None, second if passes else None) if one]
    for gate, least in LEAST.items():
        found = [measured[gate] for measured in tried if gate in measured]
        apart = _apart(trial, gate)
        told = f" # measured: {', '.join(f'{value:.3f}' for value in found)}" if found else ""
        told += f"; parts differ by {apart:.3f}" if apart else ""
        later = _later(gate, found, beside=passes)
        if gate == "suppression" and leaving:
            later = max(later, limit_over(LEAVING * leaving))
            told += f"; {leaving:.0%} of the people leave" if found else ""
        if trial is not None and not (passes or followed) and gate == "suppression":
            later = NOT_FOLLOWED
        limit = max(limit_over(max(found, default=0.0), least, apart), later)
        yield f"  {gate}: {{max: {limit:g}}}{told}"


def _blocked(second: SecondRelease) -> Iterator[str]:
    """Say why a second release is not published, and what to do where amounts link its rows to the first."""
    yield f"#   {second.said}"
    for told in second.unknown:
        yield from (f"#   {line}" for line in wrap(told, WIDTH))
    if any(LINKS in told for told in second.unknown):
        yield "# Before the first release, decide: publish one period only; or leave these numbers out,"
        yield "# with another column as sensitive; or, if nobody outside can know how people's numbers"
        yield "# change, call them `stability: transient` and set `gates.transient: ignore`, at the cost that"
        yield "# docs/gates.md tells."


def _later(gate: str, found: Sequence[float], *, beside: bool) -> float:
    """Return a limit for the third period, from what a table measured alone and, if it was, `beside` one."""
    if gate == "ncp" and found and not beside:
        return limit_over(found[0] * ALONE / ROOM)
    if gate == "suppression" and found and beside:
        alone = found[0] if len(found) == 2 else 0.0
        return limit_over(alone + ADDED * max(found[-1] - alone, 0.0))
    return 0.0


def _apart(trial: Trial | None, gate: str) -> float:
    """Return how far a measure differs between the sample and its parts; 0 where none was tried."""
    if trial is None or not trial.parts:
        return 0.0
    whole = next((one for one in trial.methods if one.label == trial.best.label), trial.best)
    found = [one.measured[gate] for one in (whole, *trial.parts) if gate in one.measured]
    return max(found, default=0.0) - min(found, default=0.0)


CELLS = "  person: {cells: unfollowed} # everybody has a key: people are compared, not cells that overlap"


def _reasons(trial: Trial | None, *, passes: bool, undecided: bool) -> Iterator[str]:
    """Say where the limits come from."""
    if trial is None:
        reason = "a line above is marked DECIDE" if undecided else "the draft was made with --no-trial"
        yield f"# These limits are usual ones: nothing was measured, because {reason}."
        yield "# A table that exceeds them is not published. Measure before a run: `releasegate evaluate"
        yield "# POLICY --input FILE --methods mondrian,ae-lrhma`. Then choose the method, and the limits."
    elif trial.best.problem:
        yield "# These limits are usual ones: no method could be tried on this table, for the reasons above."
    else:
        yield "# The limits are what the last table measured with this method, rounded up, and room for the"
        yield "# next table: a tenth, or as much as random thirds of this one differ, if that is more."
        yield "# They say what is possible, not what is safe: the owner of the data decides that."
        if passes:
            yield "# A second figure is what it measured beside a release of the table before it."
            yield "# Each earlier release leaves out as many rows again: `suppression` has room for two."
        else:
            yield "# What a release costs beside earlier ones was not measured: `ncp` has room for twice as"
            yield "# much, and `suppression` for 20% of the rows where no key follows people."
        if trial.best.failing:
            yield f"# These gates fail on this table, and block it: {', '.join(trial.best.failing)}."


def stability_of(column: ColumnFacts, change: Change | None) -> str:
    """Return `transient` for amounts of money, and where most people's values changed; else `stable`."""
    most_changed = change is not None and change.share > MOST_CHANGED
    named = column.money or words_of(column.name) & MONEY_WORDS
    money = named and (is_amount(column) or change is None)
    return "transient" if most_changed or money else "stable"


def _known_line(leaving: float) -> str:
    """Limit to how many others one person's values tell theirs, by the share of the people who leave."""
    times = max(1, math.ceil(leaving / LEAVE_FEW - 1e-9))
    why = f"; {leaving:.0%} of the people leave" if times > 1 else ""
    return f"  known: {{max: {10 * times}, mean: {times}}} # others of whom one known person tells{why}"


def history_lines(
    guesses: Sequence[Guess], changes: Mapping[str, Change], *, followed: bool, leaving: float = 0.0
) -> list[str]:
    """Write for what share of people attackers must allow that a stable value changed; nothing for nobody.

    And, where everybody is `followed`, that people are compared, and whom one person's values may tell: more
    where many are `leaving`.
    """
    stable = {
        guess.column.name
        for guess in guesses
        if guess.role == "sensitive"
        and stability_of(guess.column, changes.get(guess.column.name)) == "stable"
    }
    found = [CELLS] if followed else []
    found += [_known_line(leaving)] if followed and stable else []
    most = max((change.share for name, change in changes.items() if name in stable), default=0.0)
    if most:
        found.append(f"  worlds: {{changes: {limit_over(most):g}}} # of stable values, measured: {most:.3f}")
    return found


def accepted_lines(guesses: Sequence[Guess], *, stay: bool) -> list[str] | None:
    """Return the gates' settings without which there is no second release, if nobody can be followed.

    None if there is to be no second release: without a key, if nearly all `stay`.
    """
    key = next((guess.column for guess in guesses if guess.role == "key"), None)
    if key is None:
        return None if stay else ["  worlds: {unfollowed: accept}"]
    if key.repeats:
        return ["  worlds: {unfollowed: accept}", "  person: {compare: false}"]
    return []


def limit_over(measured: float, least: float = 0.0, apart: float = 0.0) -> float:
    """Return a limit over what was measured, with room for tables to come: a multiple of STEP, or `least`.

    `apart` is how far measures of tables of the same people are apart.
    """
    room = max(measured * ROOM, measured + apart)
    return round(min(1.0, max(least, math.ceil(room / STEP - 1e-9) * STEP)), 2)
