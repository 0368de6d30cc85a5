"""What each gate asks, and what it measured of people, in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from policy.rounding import measured_share, measured_text

# What a gate asks, and what it measured means for the people in the table, "" where it says nothing of them.
# `who` is the gate's own attacker; `earlier` and `attributes` are what was compared, as its witness has it.
GATES: dict[str, tuple[str, str]] = {
    "files": ("Are the files those that were sealed, with the same rows in every format?", ""),
    "truth": (
        "Does the output agree with the source?",
        "",
    ),
    "leak": ("Does a published text hold a name, a key, an address or a number of somebody?", ""),
    "unique": (
        "How many rows have a value that no other row has?",
        "In no column have more than {value:share} of the rows a value that no other row has.",
    ),
    "k": (
        "How many rows are in the smallest class?",
        "Who knows a person's quasi-identifiers finds at least {value} rows that could be theirs.",
    ),
    "p_max": (
        "How large is the share of one sensitive value in a class, at most?",
        "In no class has more than {value:share} of the rows the same sensitive value.",
    ),
    "h_min": ("How mixed are the sensitive values of a class, at least (entropy)?", ""),
    "e": (
        "How many sensitive values has a class, at least (of numbers: how wide is their range)?",
        "Every class has at least {value} different sensitive values, or a range that wide.",
    ),
    "spread": (
        "How far apart are the numbers of a class, at least, beside the largest?",
        "The numbers of no class are all within {value:share} of the largest of them.",
    ),
    "distinct_l": (
        "How many different sensitive values has a class, at least (distinct l-diversity)?",
        "Every class has at least {value} different sensitive values.",
    ),
    "entropy_l": (
        "As how many equally frequent values do the sensitive values of a class count, at least?",
        "The sensitive values of every class are as mixed as {value} equally frequent ones.",
    ),
    "recursive_cl": (
        "Are a class's rarer sensitive values frequent enough beside the most frequent one?",
        "No class has one sensitive value that outweighs the rarer ones by more than the policy lets it.",
    ),
    "t_closeness": (
        "How far is the mix of sensitive values of a class from that of the whole release, at most?",
        "The mix of sensitive values of no class is further than {value} from that of the whole release.",
    ),
    "alpha_k": (
        "How large is the share of a sensitive value in a class, and how small a class?",
        "No class has a larger share of a sensitive value{listed} than {value:share}.",
    ),
    "km": (
        "How many rows match whoever knows a few of a person's quasi-identifiers, at least?",
        "An attacker who {who} finds at least {value} rows that match.",
    ),
    "lkc": (
        "How sure can one be of a sensitive value who knows a few quasi-identifiers?",
        "An attacker who {who} is sure of a sensitive value{listed} by {value:share} at most.",
    ),
    "err": (
        "How likely is it to pick a person's row, if one knows all their quasi-identifiers?",
        "An attacker who {who} picks a person's row in {value:share} of the cases, on average.",
    ),
    "umr": (
        "For how many people can an attacker identify the class?",
        "An attacker who {who} is certain of the class, not of the row, of {value:share} of them.",
    ),
    "forced": (
        "For how many people can an attacker who assigns everybody to classes at once identify the class?",
        "An attacker who {who} is certain of the class, or of a value, of at most {value:share} of them.",
    ),
    "membership": (
        "Of how many people is it certain that they are in the table?",
        "An attacker who {who} is certain that {value:share} of the people published are in the table.",
    ),
    "sadr": (
        "How sure can one be of a sensitive value, at most, by what one knows of a person?",
        "An attacker who {who} is sure of a sensitive value by {value:share} at most, of the people drawn.",
    ),
    "sadr_excess": (
        "How much better are guesses of sensitive values than those about people who are not in the table?",
        "Guesses about the people drawn are right {value:share} more often than about people outside.",
    ),
    "pr_dr": (
        "How likely is it to find a person's row or unknown cells?",
        "An attacker who {who} finds a row or unknown cells with a chance of {value:share}, on average.",
    ),
    "pr_dr_excess": (
        "How much likelier is that than for people who are not in the table?",
        "That chance is {value:share} higher for the people drawn than for people who are not in the table.",
    ),
    "inversion": (
        "How many exact quasi-identifiers does it give away to know the method?",
        "Knowing the method and the policy tells the exact quasi-identifiers of {value:share} more people.",
    ),
    "pairwise": (
        "Does a class, together with one of an earlier release, leave somebody too few sensitive values?",
        "No class with any of {earlier} leaves whoever is in both under {l} values of {attributes}.",
    ),
    "whole_history": (
        "Do all releases together leave somebody too few sensitive values?",
        "With {earlier} it leaves nobody under {l} values of {attributes}, by the cells of the classes.",
    ),
    "difference": (
        "Does what nested classes of two releases do not share leave too few sensitive values?",
        "What its classes and nested ones of {earlier} do not share has no under {l} values of {attributes}.",
    ),
    "size": (
        "Do nested classes of two releases set a few people apart?",
        "Its classes and nested ones of {earlier} set no group of fewer than {k} people apart.",
    ),
    "person": (
        "Do the classes that a person was in leave them too few sensitive values?",
        "The classes of {earlier} that people were in leave nobody under {l} values of {attributes}.",
    ),
    "person_difference": (
        "Can comparing overlapping classes expose someone's value?",
        "What classes with the same people differ in leaves nobody under {l} values of {attributes}.",
    ),
    "worlds": (
        "Do all releases together, solved at once, leave somebody too few possible values?",
        "Whoever solves for all {people} people of {earlier} and this one finds {l} values each at least.",
    ),
    "totals": (
        "Do the totals of two releases differ by the values of the few who left or joined in between?",
        "Its totals and those of {earlier} differ by no few people with under {l} values of {attributes}.",
    ),
    "suppression": ("How large is the share of records that are left out?", ""),
    "ncp": ("How large is the share of detail that is lost?", ""),
}


# Instead, where what was measured is 0 or less.
NO_MORE = {
    "inversion": "Knowing the method and the policy recovers no more exact quasi-identifiers than guessing.",
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
