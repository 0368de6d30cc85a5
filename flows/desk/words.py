"""What each gate asks, and what a release protects against whom, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from release_store.records import Verdict

Document = Mapping[str, Any]

# What a gate asks, and what its pass means for the people in the table ("" where that is nothing of theirs).
GATES: dict[str, tuple[str, str]] = {
    "files": ("Are the files those that were sealed, with the same rows in every format?", ""),
    "truth": (
        "Does every record lie in what is published of it, and is no sensitive value there too often?",
        "",
    ),
    "k": (
        "How many rows has the smallest class: rows alike to who knows the quasi-identifiers?",
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
        "No class has a larger share of a sensitive value than {value:share}.",
    ),
    "km": (
        "How many rows match whoever knows a few of a person's quasi-identifiers, at least?",
        "Who knows a few of a person's quasi-identifiers finds at least {value} rows that match.",
    ),
    "lkc": (
        "How sure can one be of a sensitive value who knows a few quasi-identifiers?",
        "Who knows a few of a person's quasi-identifiers is sure of a value by {value:share} at most.",
    ),
    "err": (
        "How likely is it to pick a person's row, if one knows all their quasi-identifiers?",
        "Who knows all quasi-identifiers picks a person's row in {value:share} of the cases on average.",
    ),
    "umr": (
        "Of how many people is the class certain, if one knows all their quasi-identifiers?",
        "Who knows all quasi-identifiers is certain of the class, not the row, of {value:share} of people.",
    ),
    "sadr": (
        "How sure can one be of a sensitive value, at most, by what one knows of a person?",
        "Who knows people's quasi-identifiers is sure of a sensitive value by {value:share} at most.",
    ),
    "sadr_excess": (
        "How much better are guesses of sensitive values than those about people who are not in the table?",
        "Guesses are right {value:share} more often at most than of people who are not in the table.",
    ),
    "pr_dr": (
        "How likely is it to find a person's row or unknown cells?",
        "Who knows quasi-identifiers finds a row or unknown cells with a chance of {value:share} at most.",
    ),
    "pr_dr_excess": (
        "How much likelier is that than for people who are not in the table?",
        "That chance is {value:share} higher at most than for people who are not in the table.",
    ),
    "pairwise": (
        "Does a class, together with one of an earlier release, leave somebody too few sensitive values?",
        "No class together with an earlier one leaves whoever is in both under {l} sensitive values.",
    ),
    "whole_history": (
        "Do all releases together leave somebody too few sensitive values?",
        "All releases together leave nobody under {l} sensitive values, by the cells of their classes.",
    ),
    "difference": (
        "Does what nested classes of two releases do not share leave too few sensitive values?",
        "What nested classes do not share leaves nobody under {l} sensitive values.",
    ),
    "size": (
        "Do nested classes of two releases set a few people apart?",
        "Nested classes of two releases set no group of fewer than {k} people apart.",
    ),
    "person": (
        "Do the classes that a person was in leave them too few sensitive values?",
        "The classes that each person was in, followed by the key, leave nobody under {l} sensitive values.",
    ),
    "person_difference": (
        "Does what two classes with the same people differ in leave somebody too few sensitive values?",
        "What two classes that share known people differ in leaves nobody under {l} sensitive values.",
    ),
    "suppression": ("How large is the share of records that are left out?", ""),
    "ncp": ("How large is the share of detail that is lost?", ""),
}
_HISTORY = ("pairwise", "whole_history", "difference", "size", "person", "person_difference")


class _Value(float):
    """A measured value, which a sentence can name as a number or as a share."""

    def __format__(self, asked: str) -> str:
        if asked == "share":
            return f"{100 * self:.3g}%"
        return f"{int(self):,}" if self.is_integer() else f"{self:.4g}"


def asks(gate: str) -> str:
    """Return what a gate asks; of one that is not known here, nothing."""
    return GATES.get(gate, ("", ""))[0]


def measured(gate: Document) -> str:
    """Return what a gate measured as a sentence about people; "" of one that says nothing about them."""
    sentence = GATES.get(gate["gate"], ("", ""))[1]
    return sentence.format(value=_Value(gate["value"]), l="l", k="k") if sentence else ""


def protected(gates: Sequence[Document], policy: Document, n_earlier: int) -> list[str]:
    """Return what holds against whom, one line a gate that passed and says something about people."""
    privacy = policy.get("privacy", {})
    names = {"l": privacy.get("l", "l"), "k": privacy.get("k", "k")}
    lines = []
    for gate in gates:
        sentence = GATES.get(gate["gate"], ("", ""))[1]
        if not sentence or gate["verdict"] != Verdict.PASS or gate["value"] is None:
            continue
        if gate["gate"] in _HISTORY and not n_earlier:
            continue
        lines.append(sentence.format(value=_Value(gate["value"]), **names))
    return lines


def not_protected(gates: Sequence[Document], policy: Document, n_earlier: int) -> list[str]:
    """Return against what nothing here protects: what failed first, then what no gate can see."""
    lines = [
        f"{gate['gate']} does not pass ({str(gate['verdict']).replace('_', ' ')}): {asks(gate['gate'])}"
        for gate in gates
        if gate["verdict"] != Verdict.PASS
    ]
    roles = policy.get("roles", {})
    named = ", ".join(str(column["name"]) for column in roles.get("quasi_identifiers", ()))
    lines.append(
        f"Somebody who knows more of a person than the quasi-identifiers ({named}) may learn more. "
        "This is no differential privacy."
    )
    passed = {gate["gate"]: gate["value"] for gate in gates if gate["verdict"] == Verdict.PASS}
    if passed.get("p_max") is not None:
        lines.append(
            f"A likely guess: in some class one sensitive value has {100 * passed['p_max']:.3g}% of the rows."
        )
    if n_earlier == 0:
        lines.append("Nothing was compared: it is the first release of its series, or no earlier one counts.")
    elif not _follows(policy):
        lines.append(
            "People are not followed over the releases by a key: who changed more than the policy says "
            "that people change is not seen in the comparison."
        )
    transient = [
        str(column["name"]) for column in roles.get("sensitive", ()) if column.get("stability") == "transient"
    ]
    if transient:
        ignored = policy.get("gates", {}).get("transient") == "ignore"
        lines.append(
            f"{', '.join(transient)} may change between releases: "
            + (
                "it is not compared with earlier ones."
                if ignored
                else "the comparison takes that it did not."
            )
        )
    kept = roles.get("kept", ())
    if kept:
        lines.append(f"{', '.join(map(str, kept))} are published as they are, and no gate looks at them.")
    lines.append("What others publish about the same people, and other series, are not compared.")
    lines.append(
        "The comparison is made of local checks: sets of releases exist that pass all of them and still give "
        "a value away."
    )
    return lines


def _follows(policy: Document) -> bool:
    followed = policy.get("gates", {}).get("person", {}).get("compare", True)
    return policy.get("roles", {}).get("key") is not None and bool(followed)
