"""The rule of questions: an answer is to one open question, and nobody approves before it is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from release_store.protocol.names import ANSWERED, ASKED


def question_errors(events: Iterable[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """Yield the number of each event that breaks the rule, and how; `events` are in the order of the log."""
    waiting: dict[str, set[str]] = {}  # by candidate, the hashes of the questions without an answer
    for event in events:
        name = event["object"]
        asked = waiting.setdefault(name, set())
        if event["action"] == ASKED:
            asked.add(event["hash"])
        elif event["action"] == ANSWERED:
            bound = event["payload"].get("bound")
            question = str(bound.get("question")) if isinstance(bound, dict) else ""
            if question not in asked:
                yield event["number"], "answers no open question"
            asked.discard(question)
        elif event["action"] == "decision.approve" and asked:
            yield event["number"], f"approves {name} while a question has no answer"
