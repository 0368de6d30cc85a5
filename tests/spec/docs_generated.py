"""The parts of the documentation that are made from the code: help texts, state diagrams, permissions.

    python -m tests.spec.docs_generated

writes them between their markers; a test fails where they are not what the code says.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from unittest import mock

from tests.spec import enemies_generated, kinds_generated

ROOT = Path(__file__).parents[2]
_PART = re.compile(r"(<!-- made by (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
WIDTH = 100


def commands() -> list[str]:
    """Return the words of every command; those of the whole program are ''."""
    from cli.app import COMMANDS

    return ["", *COMMANDS, "people add"]


def help_text(words: str) -> str:
    """Return what `--help` prints on a terminal of a fixed width."""
    from cli.__main__ import main

    out = io.StringIO()
    with mock.patch.dict(os.environ, {"COLUMNS": str(WIDTH)}), contextlib.redirect_stdout(out):
        main([*words.split(), "--help"])
    return "\n".join(line.rstrip() for line in out.getvalue().strip("\n").splitlines()).strip("\n") + "\n"


def diagram(transitions: Mapping[object, frozenset[object]], start: str) -> str:
    """Return a state diagram in Mermaid; states that lead nowhere are ends."""
    lines = ["stateDiagram-v2", f"    [*] --> {start}"]
    order = [str(state) for state in transitions]
    for state, following in transitions.items():
        lines += [f"    {state} --> {to}" for to in sorted(map(str, following), key=order.index)]
        if not following:
            lines.append(f"    {state} --> [*]")
    return "\n".join(lines) + "\n"


def permissions() -> str:
    """Return the table of who may do what, and in which states."""
    from release_store.permission import BY_A_SERVICE, REQUIRED_RULES, ROLES, Act
    from release_store.records import CandidateState, ReleaseState
    from release_store.states import may

    lines = ["| act | of | in state | role | who |", "| --- | --- | --- | --- | --- |"]
    for act, rules in REQUIRED_RULES.items():
        states = [state for state in (*CandidateState, *ReleaseState) if may(act, state)]
        kind = "candidate" if all(isinstance(state, CandidateState) for state in states) else "release"
        when = ", ".join(f"`{state}`" for state in states) or "none: it makes a new one"
        if act is Act.PURGE:
            kind = "candidate or release"
        if act is Act.CLOCK:
            kind, when = "log", "its last event is ahead of the clock"
        roles = " or ".join(f"`{role}`" for role in sorted(ROLES[act]))
        service = ", or a service" if act in BY_A_SERVICE else ""
        lines.append(f"| {act} | {kind} | {when} | {roles}{service} | {', '.join(rules)} |")
    return "\n".join(lines) + "\n"


def methods() -> str:
    """Return the table of the named methods, their parts, own defaults, sources and guarantees."""
    from tasks.methods.presets import PRESETS
    from tasks.methods.registry import parts_of

    lines = [
        "| method | representation | partition | aggregation | recoding | own defaults |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for method in PRESETS:
        parts = " | ".join(f"`{part.name}`" for part in parts_of(method))
        own = ", ".join(f"`{name}: {_value(value)}`" for name, value in method.defaults.items())
        lines.append(f"| [`{method.name}`](#{method.name}) | {parts} | {own} |")
    return "\n".join(lines) + "\n"


def parameters() -> str:
    """Return the table of every parameter of every part, and of what all methods have."""
    from tasks.aggregation.parts import AGGREGATIONS
    from tasks.partitioning.parts import PARTITIONS
    from tasks.parts import CommonParameters
    from tasks.recoding.parts import RECODINGS
    from tasks.representation.parts import REPRESENTATIONS

    having: dict[str, list[str]] = {}
    told: dict[str, tuple[str, str]] = {}
    for kind in (REPRESENTATIONS, PARTITIONS, AGGREGATIONS, RECODINGS):
        for part in kind.values():
            for name, info in part.parameters.model_fields.items():
                having.setdefault(name, []).append(f"`{part.name}`")
                told[name] = _value(info.default), info.description or ""
    for name, info in CommonParameters.model_fields.items():
        having[name] = ["all methods"]
        told[name] = _value(info.default), info.description or ""
    lines = ["| parameter | default | of | meaning |", "| --- | --- | --- | --- |"]
    for name, (default, meaning) in told.items():
        of = ", ".join(dict.fromkeys(having[name]))
        lines.append(f"| `{name}` | {default} | {of} | {meaning} |")
    return "\n".join(lines) + "\n"


def searched() -> str:
    """Return the table of the parameters that a search tries, and of the values of each."""
    from services.evaluation.search.parameters import AXES

    lines = ["| parameter | values tried | counts only with |", "| --- | --- | --- |"]
    for axis in AXES:
        values = "; " if any(isinstance(value, tuple) for value in axis.values) else ", "
        tried = values.join(map(_value, axis.values))
        with_ = "" if axis.needs is None else f"`{axis.needs[0]}`: {', '.join(map(_value, axis.needs[1]))}"
        lines.append(f"| `{axis.name}` | {tried} | {with_} |")
    return "\n".join(lines) + "\n"


def not_searched() -> str:
    """Return the table of the parameters that a search leaves as they are, and why."""
    from services.evaluation.search.parameters import NOT_SEARCHED

    names: dict[str, list[str]] = {}
    for name, reason in NOT_SEARCHED.items():
        names.setdefault(reason, []).append(f"`{name}`")
    lines = ["| parameters | why they are not searched |", "| --- | --- |"]
    lines += [f"| {', '.join(each)} | {reason} |" for reason, each in names.items()]
    return "\n".join(lines) + "\n"


def part_list() -> str:
    """Return the table of all parts."""
    from tasks.aggregation.parts import AGGREGATIONS
    from tasks.partitioning.parts import PARTITIONS
    from tasks.recoding.parts import RECODINGS
    from tasks.representation.parts import REPRESENTATIONS

    lines = ["| place | part | what it does |", "| --- | --- | --- |"]
    for place, kind in (
        ("representation", REPRESENTATIONS),
        ("partition", PARTITIONS),
        ("aggregation", AGGREGATIONS),
        ("recoding", RECODINGS),
    ):
        lines += [f"| {place} | `{part.name}` | {part.summary} |" for part in kind.values()]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value)


@cache
def parts() -> dict[str, str]:
    """Return every generated part by the name in its marker."""
    from release_store.states import CANDIDATE_TRANSITIONS, RELEASE_TRANSITIONS

    made = {
        f"releasegate {name} --help".replace("  ", " "): f"```text\n{help_text(name)}```\n"
        for name in commands()
    }
    made["CANDIDATE_TRANSITIONS"] = f"```mermaid\n{diagram(CANDIDATE_TRANSITIONS, 'staged')}```\n"
    made["RELEASE_TRANSITIONS"] = f"```mermaid\n{diagram(RELEASE_TRANSITIONS, 'published')}```\n"
    made["WHO and WHEN"] = permissions()
    made["PROMISES"] = kinds_generated.promises()
    made["ENEMIES"] = enemies_generated.enemies()
    made["METHODS"] = methods()
    made["PARTS"] = part_list()
    made["PARAMETERS"] = parameters()
    made["SEARCHED"] = searched()
    made["NOT SEARCHED"] = not_searched()
    return made


def filled(text: str) -> str:
    """Return a page with its generated parts as the code has them now. Raises KeyError for an unknown one."""
    made = parts()
    return _PART.sub(lambda part: part[1] + made[part[2]] + part[3], text)


def names(text: str) -> list[str]:
    """Return the names of the generated parts of a page."""
    return [part[2] for part in _PART.finditer(text)]


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for page in sorted((ROOT / "docs").glob("*.md")):
        found = page.read_text(encoding="utf-8")
        if (new := filled(found)) != found:
            page.write_text(new, encoding="utf-8")
            print(page.relative_to(ROOT))
