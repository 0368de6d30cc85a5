"""The methods that a policy can name, as a document and for people."""

from __future__ import annotations

from flows.documents import Document
from flows.layout import console, escaped
from policy.errors import UsageError, did_you_mean


def methods_document(name: str | None) -> Document:
    """Return the methods, or one, as JSON values. Raises UsageError for an unknown one."""
    from tasks.methods.registry import METHODS

    if name is not None and name not in METHODS:
        raise UsageError(
            f"unknown method '{name}'{did_you_mean(name, METHODS)}",
            mend=f"Known methods: {', '.join(METHODS)}.",
        )
    return {
        "methods": [
            {
                "name": method.name,
                "summary": method.summary,
                "source": method.source,
                "guarantees": method.guarantees,
                "parameters": {
                    field: {"default": info.default, "type": str(info.annotation).replace("typing.", "")}
                    for field, info in method.parameters.model_fields.items()
                },
            }
            for method in METHODS.values()
            if name in (None, method.name)
        ],
        "chosen": name,
    }


def show_methods(document: Document) -> None:
    """Show the methods; the parameters too where one was chosen."""
    out = console()
    for method in document["methods"]:
        out.print(f"[bold]{method['name']}[/]  {escaped(method['summary'])}")
        out.print(f"    holds: {escaped(method['guarantees'])}")
        out.print(f"    from:  {escaped(method['source'])}")
        if document["chosen"]:
            for name, info in method["parameters"].items():
                out.print(f"    {name} = {info['default']}", markup=False)
        else:
            out.print(f"    parameters: {', '.join(method['parameters'])}")
