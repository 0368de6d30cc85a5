"""What the model finds wrong with a policy, as one finding: field, what was found, what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from policy import categorical, model, roles
from policy.errors import PolicyError, did_you_mean
from policy.section import Section
from policy.text import number_of

QI_TYPES = "'numeric', 'integer', 'categorical', 'ordinal', 'code' or 'date'"
LONGEST_VALUE = 100
_KINDS: dict[str, type[Section]] = {
    "numeric": roles.NumericQuasiIdentifier,
    "categorical": categorical.NominalQuasiIdentifier,
    "ordinal": categorical.OrdinalQuasiIdentifier,
    "code": categorical.CodeQuasiIdentifier,
    "date": categorical.DateQuasiIdentifier,
}

# The model's library speaks of Python's types; a policy has mappings, lists and texts.
_PLAIN = {
    "model_type": "should be a mapping",
    "model_attributes_type": "should be a mapping",
    "dict_type": "should be a mapping",
    "tuple_type": "should be a list",
    "string_type": "should be a text",
    "invalid_key": "should be a text",
    "string_pattern_mismatch": "should be letters, digits, '_' and '-', a letter or digit first, 64 at most",
    "union_tag_not_found": "is missing",
    "too_long": "should have {max_length} or fewer entries, found {actual_length}",
    "too_short": "should have {min_length} or more entries, found {actual_length}",
}
_HINTS = {
    "string_type": "Put it in quotes if it is a text.",
    "invalid_key": "Put it in quotes if it is a name.",
    "union_tag_not_found": f"Add this field: {QI_TYPES}.",
    "missing": "Add this field.",
}


def policy_error(error: ValidationError, path: Path) -> PolicyError:
    """Tell the first finding in full, and how many more there are."""
    details = error.errors(include_url=False)
    # A misspelt field is found twice, as unknown and as missing: tell the former.
    first: Any = min(details, key=lambda detail: detail["type"] != "extra_forbidden")
    parts = _field(first)
    field = ".".join(map(display_name, parts))
    if first["type"] == "extra_forbidden":
        known = _fields_beside(parts, first["loc"])
        finding = f"unknown field{_elsewhere(parts) or did_you_mean(parts[-1], known)}"
        hint = f"Allowed here: {', '.join(known)}." if known else "Remove it."
    else:
        finding = _finding(first)
        hint = _HINTS.get(first["type"], "See docs/policy.md for what is allowed.")
    n_more = len(details) - 1
    more = f" (and {number_of(n_more, 'more finding')})" if n_more else ""
    return PolicyError(finding + more, where=f"{path}: {field}" if field else str(path), hint=hint)


def _field(detail: Any) -> list[str]:
    """Return the path of the field in the policy; the library adds the kind of quasi-identifier to it."""
    parts = [str(part) for part in detail["loc"] if part != "[key]"]
    if parts[:2] == ["roles", "quasi_identifiers"] and detail["loc"][-1] != "[key]":
        parts = parts[:3] + parts[4:]
    return [*parts, "type"] if detail["type"].startswith("union_tag_") else parts


def _finding(detail: Any) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "union_tag_invalid":
        return f"should be {QI_TYPES}, found {display_value(context['tag'])}"
    found = detail.get("input")
    shown = (
        f", found {display_value(found)}"
        if isinstance(found, str | int | float | bool) or found is None
        else ""
    )
    if kind in _PLAIN:
        return _PLAIN[kind].format(**context) + shown
    message = detail["msg"].removeprefix("Value error, ")
    for start in ("Input should be ", "String should "):
        if message.startswith(start):
            message = f"should {'be ' if start.startswith('Input') else ''}{message.removeprefix(start)}"
    return f"{message}{shown}"


def display_value(value: object) -> str:
    """Return a value as Python writes it, cut where it is long."""
    return _cut(repr(value))


def display_name(name: str) -> str:
    """Return a field's name on one line, cut where it is long."""
    return _cut(name if name.isprintable() else ascii(name)[1:-1])


def _cut(text: str) -> str:
    return f"{text[:LONGEST_VALUE]}..." if len(text) > LONGEST_VALUE else text


def _elsewhere(parts: list[str]) -> str:
    """Tell that a field of a quasi-identifier is one of the other kind."""
    if parts[:2] != ["roles", "quasi_identifiers"] or len(parts) != 4:
        return ""
    names = [name for name, kind in _KINDS.items() if parts[3] in kind.model_fields]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    return f": it is one of {listed} quasi-identifiers" if names else ""


def _fields_beside(parts: list[str], place: Sequence[int | str]) -> list[str]:
    """Return the fields that may stand where the last of `parts` was found, the library's `place`."""
    section: Any = model.ReleasePolicy
    for part in parts[:-1]:
        if section is None:
            return []
        if isinstance(section, type) and issubclass(section, Section):
            field = section.model_fields.get(part)
            if field is None:
                return []
            section = _section_of(field.annotation)
            if part == "quasi_identifiers":
                section = "quasi_identifiers"
        elif section == "quasi_identifiers":
            return list(_KINDS.get(str(place[3]), roles.NumericQuasiIdentifier).model_fields)
        else:
            # A mapping of names to sections: the name is skipped.
            section = section[1]
    if isinstance(section, type) and issubclass(section, Section):
        return list(section.model_fields)
    return []


def _section_of(annotation: Any) -> Any:
    """Return the Section in an annotation: itself, behind Optional, or ("each", Section) in a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    arguments = [a for a in get_args(annotation) if a is not type(None)]
    if get_origin(annotation) is dict and len(arguments) == 2:
        inner = _section_of(arguments[1])
        return ("each", inner) if inner is not None else None
    return _section_of(arguments[0]) if len(arguments) == 1 else None
