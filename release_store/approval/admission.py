"""What lets a candidate out: every gate that was to be asked, or an override of some, and enough people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from policy.text import number_of
from release_store.permission import Act
from release_store.protocol.overrides import OVERRIDES_NEEDED
from release_store.records import Verdict

OVERRIDABLE = frozenset({Verdict.FAIL, Verdict.UNKNOWN})  # a gate that broke or was not run says nothing


def admission_errors(
    verdicts: Sequence[tuple[str, str]], asked: Collection[str], words: Sequence[str], needed: int
) -> list[str]:
    """Return why a candidate may not be published; nothing where it may.

    `verdicts` are its gates and what each says, `asked` the gates that were to be asked, `words` what people
    decided, and `needed` how many had to agree.
    """
    overridden = is_overridden(verdicts, words)
    wrong = [] if verdicts else ["no gate was run"]
    wrong += [f"gate {gate} says {verdict}" for gate, verdict in held_back(verdicts) if not overridden]
    missing = sorted({*asked} - {gate for gate, _ in verdicts})
    wrong += [f"gate {gate} has no result, though the release had to pass it" for gate in missing]
    agreed, needed = words.count(Act.APPROVE.value), 0 if overridden else needed
    if Act.REJECT.value in words or agreed < needed:
        wrong.append(f"has {agreed} of {number_of(needed, 'required approval')}")
    return wrong


def held_back(verdicts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the gates that did not pass, which is what an override is about, and what they say."""
    return [(gate, verdict) for gate, verdict in verdicts if verdict != Verdict.PASS]


def is_overridden(verdicts: Sequence[tuple[str, str]], words: Sequence[str]) -> bool:
    """Tell whether administrators let out what these gates held back: enough words, no gate that broke."""
    told = {verdict for _, verdict in verdicts}
    return (
        words.count(Act.OVERRIDE.value) >= OVERRIDES_NEEDED
        and Act.REJECT.value not in words
        and not told.isdisjoint(OVERRIDABLE)
        and told <= {Verdict.PASS, *OVERRIDABLE}
    )
