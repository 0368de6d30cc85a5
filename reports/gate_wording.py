"""What each gate asks, and what it measured of people, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policy.errors import PolicyError
from policy.rounding import (
    RELATIONS,
    bound_text,
    limit_share,
    limit_text,
    measured_share,
    measured_text,
)
from policy.text import number_of
from tasks.privacy.added import added_models

# What a gate asks, and what it measured means for the people in the table, "" where it says nothing of them.
# `who` is the gate's own attacker; `earlier` and `attributes` are what was compared, as its witness has it.
GATES: dict[str, tuple[str, str]] = {
    "files": ("Are the files unchanged since they were sealed, with the same rows in every format?", ""),
    "truth": (
        "Does the output agree with the source?",
        "",
    ),
    "leak": ("Does a published text contain a name, a key, an address or a personal number?", ""),
    "unique": (
        "How many rows have a value that no other row has?",
        "In every column, at most {value:share} of the rows have a value that no other row has.",
    ),
    "k": (
        "How many rows are in the smallest class?",
        "Somebody who knows a person's quasi-identifiers finds at least {value} rows that could be theirs.",
    ),
    "p_max": (
        "What is the largest share of one sensitive value in a class?",
        "In every class, at most {value:share} of the rows have the same sensitive value.",
    ),
    "h_min": ("How mixed are the sensitive values of the least mixed class (entropy)?", ""),
    "e": (
        "How many different sensitive values, or how wide a range of numbers, does every class have?",
        "Every class has at least {value} different sensitive values, or a range that wide.",
    ),
    "spread": (
        "How far apart are the numbers of a class, relative to the largest?",
        "In no class are all numbers within {value:share} of the largest.",
    ),
    "distinct_l": (
        "How many different sensitive values does every class have (distinct l-diversity)?",
        "Every class has at least {value} different sensitive values.",
    ),
    "entropy_l": (
        "How many equally frequent values are as mixed as those of the least mixed class?",
        "The sensitive values of every class are as mixed as {value} equally frequent ones.",
    ),
    "recursive_cl": (
        "Are a class's rarer sensitive values frequent enough compared with the most frequent one?",
        "No class has one sensitive value that outweighs the rarer ones by more than the policy allows.",
    ),
    "t_closeness": (
        "How far is the mix of sensitive values in a class from that in the release, at most?",
        "In every class, the mix of sensitive values is within {value} of that in the whole release.",
    ),
    "alpha_k": (
        "What is the largest share of a sensitive value in a class, and the size of the smallest class?",
        "No class has a larger share of a sensitive value{listed} than {value:share}.",
    ),
    "beta_likeness": (
        "By how much is a sensitive value more frequent in a class than in the release, at most?",
        "In no class is a sensitive value's share over its share in the release by more than {value} times.",
    ),
    "delta_disclosure": (
        "How close is each sensitive value's share in a class to its share in the release, at least?",
        "A sensitive value's share in a class is at least {value} of that in the release, and the reverse.",
    ),
    "km": (
        "How many rows match a few known quasi-identifiers of a person, at least?",
        "An attacker who {who} finds at least {value} rows that match.",
    ),
    "lkc": (
        "How sure of a sensitive value is an attacker who knows a few quasi-identifiers?",
        "An attacker who {who} is at most {value:share} sure of a sensitive value{listed}.",
    ),
    "levels": (
        "Is every column published at the level that the policy decides?",
        "No column is generalized above the level that the policy decides.",
    ),
    "err": (
        "How likely is an attacker to pick a person's row, knowing all their quasi-identifiers?",
        "An attacker who {who} picks a person's row in {value:share} of the cases, on average.",
    ),
    "umr": (
        "For how many people can an attacker identify the class?",
        "An attacker who {who} can identify the class (not the row) of {value:share} of them.",
    ),
    "forced": (
        "How many people's classes can an attacker identify by assigning everyone jointly?",
        "An attacker who {who} is certain of the class, or of a value, of at most {value:share} of them.",
    ),
    "membership": (
        "How many people are certain to be in the table?",
        "An attacker who {who} is certain that {value:share} of the people published are in the table.",
    ),
    "sadr": (
        "How sure of a sensitive value is an attacker, at most?",
        "An attacker who {who} is at most {value:share} sure of a sensitive value of the people drawn.",
    ),
    "sadr_excess": (
        "How much more often are guesses right than for people who are not in the table?",
        "Guesses about the people drawn are right {value:share} more often than about people outside.",
    ),
    "pr_dr": (
        "How likely is an attacker to find a person's row or unknown cells?",
        "An attacker who {who} finds a row or unknown cells with a chance of {value:share}, on average.",
    ),
    "pr_dr_excess": (
        "How much likelier is that than for people who are not in the table?",
        "That chance is {value:share} higher for the people drawn than for people who are not in the table.",
    ),
    "inversion": (
        "How many exact quasi-identifiers does knowledge of the method reveal?",
        (
            "Knowledge of the method and the policy reveals the exact quasi-identifiers of {value:share} "
            "more people."
        ),
    ),
    "k_map": (
        "For how many people of the population does a class stand, at least?",
        "Each class is estimated to stand for at least {value} people of the population.",
    ),
    "population_uniqueness": (
        "How many people are estimated to be unique in the population?",
        "An estimated {value:share} of the people share their exact values with nobody in the population.",
    ),
    "delta_presence": (
        "How likely is it of anybody in the population that they are in the release?",
        "An attacker who {who} finds nobody's presence in the release more probable than {value:share}.",
    ),
    "pairwise": (
        "Does a class, combined with one of an earlier release, leave somebody too few sensitive values?",
        (
            "No class, combined with one of {earlier}, leaves people in both fewer than {l} values of "
            "{attributes}."
        ),
    ),
    "whole_history": (
        "Do all releases together leave somebody too few sensitive values?",
        "Combined with {earlier}, it leaves everyone at least {l} values of {attributes}, class by class.",
    ),
    "difference": (
        "Does the difference of nested classes of two releases leave too few sensitive values?",
        "Subtracting nested classes of {earlier} always leaves at least {l} values of {attributes}.",
    ),
    "size": (
        "Does the difference of nested classes of two releases single out a few people?",
        "Subtracting nested classes of {earlier} never isolates fewer than {k} people.",
    ),
    "person": (
        "Do the classes that a person was in leave them too few sensitive values?",
        (
            "Combining each person's class with their classes in {earlier} leaves everyone at least {l} "
            "possible values of {attributes}."
        ),
    ),
    "person_difference": (
        "Can comparing overlapping classes expose someone's value?",
        "Subtracting overlapping classes leaves everyone at least {l} values of {attributes}.",
    ),
    "worlds": (
        "Can an attacker who solves all releases jointly narrow somebody to too few possible values?",
        (
            "An attacker who solves {earlier} jointly still finds at least {l} possible "
            "values for each of {people}."
        ),
    ),
    "known": (
        "How many others lose their protection once one person's values are known?",
        "The values of any one person, known to an attacker, leave too few to at most {value} others.",
    ),
    "totals": (
        "Does the difference of two releases' totals reveal the values of the few who left or joined?",
        (
            "Comparing totals with {earlier} does not isolate a small group with fewer than {l} values of "
            "{attributes}."
        ),
    ),
    "suppression": ("What share of the records is left out?", ""),
    "ncp": ("What share of the detail is lost?", ""),
}


# Instead, where what was measured is 0 or less.
NO_MORE = {
    "inversion": (
        "Knowledge of the method and the policy reveals no more exact quasi-identifiers than guessing."
    ),
    "sadr_excess": "Guesses about the people drawn are right no more often than about people outside.",
    "pr_dr_excess": "That chance is no higher for the people drawn than for people who are not in the table.",
}


@dataclass(frozen=True)
class Value:
    """What a gate measured, which a sentence can name as a number or as a share."""

    value: float
    relation: str

    def __format__(self, asked: str) -> str:
        told = measured_share if asked == "share" else measured_text
        return told(self.value, self.relation)


# Gates whose value and limit are shares, and told in percent.
SHARES = frozenset(name for name, (_, said) in GATES.items() if "{value:share}" in said) | {
    "suppression",
    "ncp",
}


def measured_of(gate: Mapping[str, Any]) -> str:
    """Return what a gate measured, a share in percent; empty where it measured nothing."""
    told = measured_share if gate["gate"] in SHARES else measured_text
    return told(gate["value"], gate["relation"], gate["threshold"])


def limit_of(gate: Mapping[str, Any]) -> str:
    """Return what a gate's value must be, a share in percent: "at most 60%"; empty without a limit."""
    relation, threshold = gate["relation"], gate["threshold"]
    if gate["gate"] not in SHARES or threshold is None:
        return bound_text(relation, threshold)
    return f"{RELATIONS.get(relation, relation)} {limit_share(threshold)}"


# Of gates whose value counts what is wrong: what that does.
_WRONG = {
    "pairwise": ("class leaves somebody", "classes leave somebody", "too few sensitive values"),
    "whole_history": ("class leaves somebody", "classes leave somebody", "too few sensitive values"),
    "difference": ("class differs", "classes differ", "from a nested class by too few sensitive values"),
    "size": ("class differs", "classes differ", "from a nested class by too few people"),
    "person": ("class narrows somebody", "classes narrow somebody", "to too few sensitive values"),
    "person_difference": ("class exposes", "classes expose", "a value beside overlapping classes"),
    "worlds": ("person keeps", "people keep", "too few possible values"),
}
_OUTCOMES = {"pass": "passed", "fail": "failed", "unknown": "is unknown", "error": "had an error"}


# What a failure means for the people in the table, or for the release; of other gates their question says it.
MEANS = {
    "files": "The files are not those that were made.",
    "truth": "Rows or values are published that the source does not have.",
    "leak": "A published text can name a person.",
    "unique": "Who knows such a value finds the person's row.",
    "k": "Who knows a person's quasi-identifiers is left with too few rows that could be theirs.",
    "p_max": "In some class, the most frequent sensitive value is a good guess about everybody in it.",
    "e": "Who knows a person's class is left with too few sensitive values.",
    "err": "Too often, an attacker picks the right row of a person.",
    "umr": "An attacker can identify the class of too many people.",
    "sadr": "An attacker is too sure of somebody's sensitive value.",
    "pairwise": "Who has this release and an earlier one can narrow somebody to too few sensitive values.",
    "whole_history": "Who has all releases can narrow somebody to too few sensitive values.",
    "person": (
        "Who knows a person's class in this release and in the earlier ones can narrow that person to too "
        "few sensitive values."
    ),
    "person_difference": (
        "Who subtracts overlapping classes of this release and the earlier ones can expose somebody's value."
    ),
    "worlds": "Who combines all releases can tell, or nearly tell, a sensitive value of these people.",
    "known": "Who knows one person's values, such as their own, can work out those of too many others.",
    "suppression": "Too many records are left out.",
    "ncp": "Too much detail is lost for analysts.",
}


def failure_meaning(gate: str) -> str:
    """Return what a failure of a gate means; of one without such a sentence, what the gate asks."""
    return MEANS.get(gate) or asks(gate)


def asks(gate: str) -> str:
    """Return what a gate asks; of one that is not known here, nothing."""
    if gate in GATES:
        return GATES[gate][0]
    try:
        return added_models()[gate].question
    except (KeyError, PolicyError):
        return ""


def outcome(verdict: str) -> str:
    """Return what became of a gate, as the rest of a sentence that begins with its name."""
    return _OUTCOMES.get(str(verdict), "was not run")


def why_not_passed(gate: Mapping[str, Any]) -> str:
    """Return a sentence about a gate that did not pass: what became of it, and what it measured."""
    name, value, threshold = gate["gate"], gate["value"], gate["threshold"]
    said = f"{name} {outcome(gate['verdict'])}"
    if value is None or threshold is None or (name in _WRONG and value <= threshold):
        return f"{said}."
    if name in _WRONG:
        one, several, what = _WRONG[name]
        return f"{said}: {number_of(int(value), one, several)} {what} (allowed: {limit_text(threshold)})."
    return f"{said}: measured {measured_of(gate)}, must be {limit_of(gate)}."


def attacker_text(attacker: str) -> str:
    """Return whom a gate is about, as its result names them."""
    if attacker.startswith("nobody: "):
        return f"none ({attacker.removeprefix('nobody: ')})"
    return attacker if attacker.startswith("anyone ") else f"someone who {attacker}"
