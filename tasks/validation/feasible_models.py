"""Whether the whole table can hold the policy's privacy models: which it misses, and by how much.

Only models that look at a group alone can fail: the others compare it with the table itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp
from typing import Any

import numpy as np

from policy.privacy_models import Models
from policy.roles import SensitiveAttribute
from policy.text import number_of
from tasks.privacy.added import added_conditions
from tasks.privacy.condition import Attribute, Condition
from tasks.privacy.diversity import entropy, tails
from tasks.privacy.registry import CONDITIONS
from tasks.privacy.shares import Alpha
from tasks.types import BoolArray, FloatArray, IntArray

FIELD = "gates.models"


def largest_k(models: Models) -> tuple[str, int]:
    """Return the field of the model that asks for most people in a class, and how many; "", 0: none does."""
    asked = {"alpha_k": models.alpha_k, "km": models.km, "lkc": models.lkc}
    found = {f"{FIELD}.{name}.k": model.k for name, model in asked.items() if model is not None}
    return max(found.items(), key=lambda item: item[1]) if found else ("", 0)


def models_missed(
    name: str,
    attribute: SensitiveAttribute,
    numbers: IntArray,
    values: Sequence[frozenset[str]],
    people: int,
    counted: str,
    models: Models,
    rows: int | None = None,
) -> str:
    """Say which model no table with these counts of an attribute's values can hold; "" where there is none.

    `numbers` (m,) are of rows, or of people, of which the table has `people`; `counted` says of which. What
    counts as one of `values` (m,) may be several similar ones. With `rows`, who is counted may be in several
    classes, which have so many rows together: of shares alone that says something, beside distinct values.
    """
    together = people if rows is None else rows
    for model_name, model, bind in _bound(models.of(name)) if len(numbers) else ():
        if rows is not None and model_name not in ("distinct_l", "alpha_k"):
            continue
        chosen = (getattr(model, "values", None) or {}).get(name)
        protected = None if chosen is None else attribute.with_similar(chosen)
        listed = np.array(
            [protected is None or not each.isdisjoint(protected) for each in values], dtype=bool
        )
        condition = bind(model, Attribute(numbers, None, listed))
        if not condition.compares and float(condition.shortfall(numbers, np.asarray(together))) > 0:
            field = models.place(name, model_name)
            return f"'{name}' {_words(field, model_name, model, numbers, listed, people, counted, rows)}"
    return ""


def added_missed(name: str, counts: IntArray, numbers: FloatArray | None, people: int, models: Models) -> str:
    """Say which model of another package no table with these counts (m,) can hold; "" where there is none.

    `numbers` (m,) are those that the values of a numeric attribute stand for.
    """
    if not len(counts):
        return ""
    every = Attribute(counts, numbers, np.ones(len(counts), dtype=bool))
    for model_name, condition in added_conditions(models, lambda: every).items():
        if not condition.compares and float(condition.shortfall(counts, np.asarray(people))) > 0:
            return f"'{name}' misses {FIELD}.added.{model_name}"
    return ""


def _bound(models: Models) -> list[tuple[str, Any, Callable[[Any, Attribute], Condition]]]:
    """Return the models that a policy asks for, by name, with what makes their condition on a whole table.

    With all cells equal, everybody's share is that of the whole table: there, LKC asks what alpha does.
    """
    bound = {**CONDITIONS, "lkc": lambda model, it: Alpha(model.c, it.listed)}
    asked = ((name, getattr(models, name), bind) for name, bind in bound.items())
    return [each for each in asked if each[1] is not None]


def _words(
    field: str,
    model_name: str,
    model: Any,
    numbers: IntArray,
    listed: BoolArray,
    people: int,
    counted: str,
    rows: int | None,
) -> str:
    if model_name == "distinct_l":
        return f"has {number_of(len(numbers), 'distinct value')}, fewer than {field}.min ({model.min})"
    if model_name == "entropy_l":
        mixed = exp(float(entropy(numbers)))
        return f"is as mixed as {mixed:.3f} equally frequent values, under {field}.min ({model.min:g})"
    if model_name == "recursive_cl":
        first, tail = tails(numbers, model.l)
        share = float(tail / first)
        return f"has (r_l + ... + r_m) / r_1 of {share:.3f}, not over 1 / {field}.c ({1 / model.c:.3f})"
    most_frequent = int(numbers[listed].max())
    told = f"{most_frequent / people:.1%} of the {counted}"
    if rows is not None:
        told = f"{most_frequent:,} {counted} in {rows:,} rows"
    which = "most frequent value" if listed.all() else "most frequent listed value"
    limit, most = ("c", model.c) if model_name == "lkc" else ("alpha", model.alpha)
    return f"has a {which} of {told}, over {field}.{limit} ({most:g})"
