"""The methods that a policy can name, as a document and for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cli.console import console
from policy.errors import UsageError, did_you_mean
from reports.documents import Document
from reports.text import escaped

if TYPE_CHECKING:
    from tasks.parts import Component


def methods_document(name: str | None) -> Document:
    """Return the methods, or one, as JSON values. Raises UsageError for an unknown one."""
    from tasks.methods.registry import methods, parameters_of, parts_of

    known = methods()
    if name is not None and name not in known:
        raise UsageError(
            f"unknown method '{name}'{did_you_mean(name, known)}",
            hint=f"Known methods: {', '.join(known)}.",
        )
    return {
        "methods": [
            {
                "name": method.name,
                "summary": method.summary,
                "source": method.source,
                "guarantees": method.guarantees,
                "parts": _parts(parts_of(method)),
                "parameters": {
                    field: {
                        "default": info.default,
                        "type": _type_name(info.annotation),
                        "meaning": info.description or "",
                    }
                    for field, info in parameters_of(method).model_fields.items()
                },
            }
            for method in known.values()
            if name in (None, method.name)
        ],
        "chosen": name,
    }


def _type_name(annotation: object) -> str:
    return str(getattr(annotation, "__name__", annotation)).replace("typing.", "")


def _parts(chosen: Sequence[Component[Any]]) -> Document:
    from tasks.methods.base import PLACES

    return {
        place: {"name": part.name, "summary": part.summary}
        for place, part in zip(PLACES, chosen, strict=True)
    }


def show_methods(document: Document) -> None:
    """Show the methods; the parameters too where one was chosen."""
    out = console()
    for method in document["methods"]:
        out.print(f"[bold]{method['name']}[/]  {escaped(method['summary'])}")
        out.print(f"    holds: {escaped(method['guarantees'])}")
        out.print(f"    from:  {escaped(method['source'])}")
        parts = method["parts"]
        if document["chosen"]:
            for place, part in parts.items():
                out.print(f"    {place}: {part['name']} ({escaped(part['summary'])})")
            for name, info in method["parameters"].items():
                out.print(f"    {name} = {info['default']}  ({info['meaning']})", markup=False)
        else:
            out.print(f"    parts: {', '.join(part['name'] for part in parts.values())}")
            out.print(f"    parameters: {', '.join(method['parameters'])}")
