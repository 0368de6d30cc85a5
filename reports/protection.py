"""What is protected against whom, by what the gates measured, and what is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from policy.rounding import measured_share
from policy.text import number_of
from release_store.records import Verdict
from reports.compared import BY_CELLS, BY_PERSON, comparison_of, n_earlier, not_compared
from reports.gate_wording import GATES, NO_MORE, Value
from reports.sure import WORLDS, how_sure

Document = Mapping[str, Any]
_TRUE = ("sets", "hierarchy", "full-domain")  # recodings whose cells hold of everybody in the class


def measurement_sentence(gate: Document, policy: Document) -> str:
    """Return what a gate measured as a sentence about people.

    Empty where it measured nothing, compared nothing, or says nothing of people.
    """
    sentence = GATES.get(gate["gate"], ("", ""))[1]
    if not sentence or gate["value"] is None:
        return ""
    if gate["gate"] in NO_MORE and gate["value"] <= 0:
        return NO_MORE[gate["gate"]]
    privacy, models = policy.get("privacy", {}), policy.get("gates", {}).get("models", {})
    words: dict[str, Any] = {
        "value": Value(gate["value"], gate["relation"]),
        "who": gate["attacker"] or "reads it",
        "listed": " that the policy lists" if (models.get(gate["gate"]) or {}).get("values") else "",
        "l": privacy.get("l", "l"),
        "k": privacy.get("k", "k"),
    }
    if gate["gate"] in (*BY_CELLS, *BY_PERSON):
        found = comparison_of(gate, _compared(policy))
        if found is None or not found.anything:
            return ""
        one = "the earlier release" if found.releases == 1 else f"the {found.releases} earlier releases"
        words |= {"earlier": one, "names": found.attributes, "attributes": " and ".join(found.attributes)}
    if gate["gate"] == WORLDS:
        solved = gate.get("witness") or {}
        if not solved.get("people"):
            return ""
        n = int(solved["releases"]) - 1
        one = "the earlier release" if n == 1 else f"the {n} earlier releases"
        one = f"{one} and this release" if n else "all classes of this release"
        stable = _stable(policy)
        people = number_of(solved["people"], "person", "people")
        words |= {"earlier": one, "people": people, "names": stable, "attributes": " and ".join(stable)}
    by_attribute = _by_attribute(gate)
    if not by_attribute:
        return _by_limit(sentence, words, policy)
    lines = [
        f"{name}: {_lower(sentence.format(**words | {'value': Value(value, gate['relation'])}))}"
        for name, value in by_attribute.items()
    ]
    return "; ".join(lines) + "."


def _by_limit(sentence: str, words: dict[str, Any], policy: Document) -> str:
    """Return a sentence about l once for each l of its attributes, where some have their own."""
    own = policy.get("privacy", {}).get("attributes", {})
    attributes: Sequence[str] = words.get("names", ())
    least = {name: own.get(name, {}).get("l") or words["l"] for name in attributes}
    if "{l}" not in sentence or len(set(least.values())) < 2:
        return sentence.format(**words | {"l": next(iter(least.values()), words["l"])})
    parts = []
    for one in dict.fromkeys(least.values()):
        names = " and ".join(name for name in attributes if least[name] == one)
        parts.append(sentence.format(**words | {"l": one, "attributes": names}))
    first, *others = parts
    return "; ".join([first.removesuffix("."), *map(_lower, others)]) + "."


def _by_attribute(gate: Document) -> Mapping[str, float]:
    """Return what a gate measured of each sensitive attribute, where their limits differ; else nothing."""
    measured: Mapping[str, float] = (gate.get("witness") or {}).get("measured") or {}
    return measured


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def protected(gates: Sequence[Document], policy: Document) -> list[str]:
    """Return what holds against whom, one line a gate that passed and says something about people."""
    disclosing = [gate for gate in gates if gate["verdict"] == Verdict.PASS and not _tells_nothing(gate)]
    return [line for gate in disclosing if (line := measurement_sentence(gate, policy))]


def rows_counted(policy: Document) -> str:
    """Return what to say first of a release whose rows were counted and not its people; "" of others."""
    if policy.get("roles", {}).get("key") is None:
        return (
            "Rows were counted, not people: the policy has no key. If a person can have several rows, "
            "k and all risks are understated, and a class of k rows can be about one person."
        )
    # Policies of before the field `rows` said no more than that a key repeats.
    if "rows" not in policy and policy.get("expectations", {}).get("unique_key", True) is False:
        return (
            "Rows were counted, not people: a person may have several rows, and this release was made "
            "before releasegate could count people. k and all risks are understated."
        )
    return ""


def _tells_nothing(gate: Document) -> bool:
    """Tell whether what a gate measured holds of every table: all of a share, or a count of one."""
    sentence = GATES.get(gate["gate"], ("", ""))[1]
    if gate["value"] is None or gate["gate"] in NO_MORE:
        return False
    if "{value:share}" in sentence:
        return bool(gate["value"] >= 1)
    return "{value}" in sentence and gate["relation"] == ">=" and bool(gate["value"] <= 1)


def not_protected(gates: Sequence[Document], policy: Document, figures: Document | None = None) -> list[str]:
    """Return against what nothing here protects, whichever gates pass."""
    lines = _of_attackers(gates, policy)
    lines += _of_placing((figures or {}).get("placing"))
    lines += _of_history(gates, policy)
    kept = policy.get("roles", {}).get("kept", ())
    if kept:
        lines.append(
            f"Published as it is: {', '.join(map(str, kept))}. The gates `leak` and `unique` look for "
            "names and personal numbers there; no gate measures what others may know of these columns."
        )
    lines.append("Other series, and what others publish about the same people, are not compared.")
    solved = any(_is_solved(gate, policy) for gate in gates)
    if not solved or not _follows(policy):
        lines.append(
            "The comparison consists of local checks: there are sets of releases that pass all of them "
            "and still reveal a value."
        )
    return lines


def _is_solved(gate: Document, policy: Document) -> bool:
    """Tell whether a gate solved all classes jointly and passed.

    Where people may have several rows, it did so just where it counted people, or nothing is stable.
    """
    if gate["gate"] != WORLDS or gate["verdict"] != Verdict.PASS:
        return False
    counted = bool((gate.get("witness") or {}).get("people"))
    return counted or policy.get("rows") != "several" or not _stable(policy)


def _of_attackers(gates: Sequence[Document], policy: Document) -> list[str]:
    named = ", ".join(str(one["name"]) for one in policy.get("roles", {}).get("quasi_identifiers", ()))
    more = f"Somebody who knows more of a person than the quasi-identifiers ({named}) may learn more. "
    lines = [more + "This is not differential privacy."]
    passed = {gate["gate"]: gate["value"] for gate in gates if gate["verdict"] == Verdict.PASS}
    if passed.get("p_max") is not None:
        shares = [list(_by_attribute(gate).values()) for gate in gates if gate["gate"] == "p_max"]
        largest = max([passed["p_max"], *shares[0]])
        share = measured_share(largest, "<=")
        lines.append(f"Likely guesses: in some class one sensitive value has {share} of the rows.")
    sure = how_sure(gates)
    lines += sure.sentences() if sure else []
    if {"err", "umr", "sadr"} & passed.keys():
        lines.append("Attacks are measured on people drawn from the source, not on everybody in it.")
    if policy.get("method", {}).get("recoding", "sets") not in _TRUE:
        lines.append(
            "Some cells are replaced or noised: they need not be true of anybody, and the rows of a "
            "class agree in the other cells only."
        )
    return lines


def _of_placing(found: Document | None) -> list[str]:
    """Return what whoever places everybody in a class at once is certain of."""
    if not found:
        return []
    certain = [
        f" and the {name} of {measured_share(share, '<=')}"
        for name, share in found["values"].items()
        if share
    ]
    what = f"the class of {measured_share(found['classes'], '<=')} of people"
    line = (
        "An attacker who knows everyone's quasi-identifiers and assigns all people to classes jointly can "
        f"identify {what}{''.join(certain) or ', but the value of nobody'}. Each person is still hidden "
        f"among at least {number_of(found['effective_k'], 'row')} ({found['rows']:,.1f} on average)."
    )
    return [line]


def _of_history(gates: Sequence[Document], policy: Document) -> list[str]:
    n, lines = n_earlier(gates), []
    if n is None:
        lines.append("It could not be compared with earlier releases of its series.")
    elif n == 0:
        lines.append("Nothing was compared: no earlier release of its series counts.")
    elif not _follows(policy):
        lines.append(
            "People are not followed across releases by a key: the comparison misses people who changed "
            "more than the policy assumes."
        )
    lines += [f"Not compared: {one}." for one in not_compared(gates)]
    sensitive = policy.get("roles", {}).get("sensitive", ())
    transient = [str(one["name"]) for one in sensitive if one.get("stability") == "transient"]
    if transient:
        ignored = policy.get("gates", {}).get("transient") == "ignore"
        what = "it is not compared" if ignored else "classes are compared as if it did not"
        if not ignored and any(gate["gate"] == WORLDS and gate["value"] is not None for gate in gates):
            what += (
                ". What all releases tell together is examined as if it did not in those in which most "
                "people keep it, or their numbers follow one rule, and in each of the others by itself"
            )
        lines.append(f"{', '.join(transient)} may change between releases: {what}.")
    return lines


def _compared(policy: Document) -> list[str]:
    """Return the sensitive attributes that the policy has compared with earlier releases."""
    everything = policy.get("gates", {}).get("transient") != "ignore"
    return [
        str(one["name"])
        for one in policy.get("roles", {}).get("sensitive", ())
        if everything or one.get("stability") == "stable"
    ]


def _stable(policy: Document) -> list[str]:
    """Return the sensitive attributes that never change, as the policy says."""
    sensitive = policy.get("roles", {}).get("sensitive", ())
    return [str(one["name"]) for one in sensitive if one.get("stability") == "stable"]


def _follows(policy: Document) -> bool:
    followed = policy.get("gates", {}).get("person", {}).get("compare", True)
    return policy.get("roles", {}).get("key") is not None and bool(followed)
