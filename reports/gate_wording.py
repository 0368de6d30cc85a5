"""What each gate asks, and what it measured of people, in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from policy.rounding import measured_share, measured_text

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
    "km": (
        "How many rows match a few known quasi-identifiers of a person, at least?",
        "An attacker who {who} finds at least {value} rows that match.",
    ),
    "lkc": (
        "How sure of a sensitive value is an attacker who knows a few quasi-identifiers?",
        "An attacker who {who} is at most {value:share} sure of a sensitive value{listed}.",
    ),
    "err": (
        "How likely is an attacker to pick a person's row, knowing all their quasi-identifiers?",
        "An attacker who {who} picks a person's row in {value:share} of the cases, on average.",
    ),
    "umr": (
        "For how many people can an attacker identify the class?",
        "An attacker who {who} is certain of the class, but not the row, of {value:share} of them.",
    ),
    "forced": (
        "For how many people can an attacker who assigns everybody to classes at once identify the class?",
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
    "pairwise": (
        "Does a class, combined with one of an earlier release, leave somebody too few sensitive values?",
        (
            "No class, combined with one of {earlier}, leaves people in both fewer than {l} values of "
            "{attributes}."
        ),
    ),
    "whole_history": (
        "Do all releases together leave somebody too few sensitive values?",
        "Combined with {earlier}, it leaves nobody fewer than {l} values of {attributes}, class by class.",
    ),
    "difference": (
        "Does the difference of nested classes of two releases leave too few sensitive values?",
        (
            "The differences of its classes and nested ones of {earlier} have at least {l} values of "
            "{attributes}."
        ),
    ),
    "size": (
        "Does the difference of nested classes of two releases single out a few people?",
        "No difference of its classes and nested ones of {earlier} singles out fewer than {k} people.",
    ),
    "person": (
        "Do the classes that a person was in leave them too few sensitive values?",
        "The classes that people were in, in {earlier}, leave nobody fewer than {l} values of {attributes}.",
    ),
    "person_difference": (
        "Can comparing overlapping classes expose someone's value?",
        "The differences of overlapping classes leave nobody fewer than {l} values of {attributes}.",
    ),
    "worlds": (
        "Solving all releases at once, does anybody keep too few possible values?",
        (
            "An attacker who solves for all {people} people of {earlier} and this release finds at least {l} "
            "values each."
        ),
    ),
    "totals": (
        "Does the difference of two releases' totals reveal the values of the few who left or joined?",
        (
            "Its totals differ from those of {earlier} by no small group with fewer than {l} values of "
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


def asks(gate: str) -> str:
    """Return what a gate asks; of one that is not known here, nothing."""
    return GATES.get(gate, ("", ""))[0]
