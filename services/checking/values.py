"""What is wrong with the cells of a table, in one light pass: counts, and values that k rows share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from expectations.number_text import NOT_WHOLE_HINT, WHOLE_LIMIT
from policy.errors import did_you_mean
from policy.findings import display_value
from policy.model import ReleasePolicy
from policy.text import number_of
from services.checking.findings import Finding, hidden_finding
from tasks.intake import lengths
from tasks.intake.cell_table import TABLE, Cells
from tasks.intake.cells import visible
from tasks.sql import identifier
from tasks.validation.whole_table import units_of

ROUNDING = 1e-9  # a share such as 1 - 0.58 is not exact in binary: a count that meets it exactly passes
MOST_NAMED = 5  # values of a column
MOST_COMPARED = 1000  # values of a policy among which the nearest to another is looked for


def value_findings(cells: Cells, policy: ReleasePolicy) -> list[Finding]:
    """Return what the cells of the roles' columns do not meet, in the order of the roles. O(n) a column."""
    return [
        *_rows(cells, policy),
        *_key(cells, policy),
        *_household(cells, policy),
        *_weight(cells, policy),
        *_numeric(cells, policy),
        *_listed(cells, policy),
        *_missing(cells, policy),
        *_hidden(cells, policy),
    ]


def _hidden(cells: Cells, policy: ReleasePolicy) -> Iterator[Finding]:
    for name in policy.roles.columns_read():
        if cells.has(name) and name not in cells.native:
            column = identifier(name)
            (count,) = cells.one(f"SELECT count(*) FROM {TABLE} WHERE {column} <> {visible(column)}")
            if count:
                yield hidden_finding(cells.where, name, count)


def _rows(cells: Cells, policy: ReleasePolicy) -> Iterator[Finding]:
    wanted = policy.expectations.rows
    most = math.inf if wanted.max is None else wanted.max
    if not wanted.min <= cells.rows <= most:
        allowed = f"{wanted.min:,} or more" if wanted.max is None else f"{wanted.min:,} to {wanted.max:,}"
        said = f"has {number_of(cells.rows, 'row')}, and {allowed} are allowed"
        hint = "Check that the input covers the whole period, or change expectations.rows."
        yield Finding(cells.where, "", said, hint)


def _key(cells: Cells, policy: ReleasePolicy) -> Iterator[Finding]:
    key = policy.roles.key
    unique = policy.rows == "one_per_person" and policy.expectations.unique_key
    if key is None or not unique or not cells.has(key):
        return
    column = identifier(key)
    hint = "Give one row per person, or set rows: several to count people."
    (missing,) = cells.one(f"SELECT count(*) FROM {TABLE} WHERE {column} IS NULL")
    if missing:
        yield _of(cells, key, missing, "have no key", hint)
    (repeated,) = cells.one(
        f"SELECT coalesce(sum(n), 0) FROM (SELECT count(*) AS n FROM {TABLE} WHERE {column} IS NOT NULL "
        f"GROUP BY {column} HAVING count(*) > 1)"
    )
    if repeated:
        yield _of(cells, key, int(repeated), "share their key with another row", hint)


def _household(cells: Cells, policy: ReleasePolicy) -> Iterator[Finding]:
    name = policy.roles.household
    if name is None or not cells.has(name):
        return
    (missing,) = cells.one(f"SELECT count(*) FROM {TABLE} WHERE {identifier(name)} IS NULL")
    if missing:
        hint = "Give every row a household, of its own for who lives alone, or remove roles.household."
        yield _of(cells, name, missing, "have no household", hint)


def _weight(cells: Cells, policy: ReleasePolicy) -> Iterator[Finding]:
    name = policy.roles.weight
    if name is None or not cells.has(name):
        return
    column, number = identifier(name), cells.number(name)
    missing, wrong, low = cells.one(
        f"SELECT count(*) FILTER (v IS NULL), count(*) FILTER (v IS NOT NULL AND x IS NULL), "
        f"count(*) FILTER (x <= 0) FROM (SELECT {column} AS v, {number} AS x FROM {TABLE})"
    )
    hint = "Give every row the number of people that it stands for, or remove roles.weight."
    for count, said in (
        (missing, "have no weight"),
        (wrong, "hold a weight that is no finite number"),
        (low, "hold a weight that is not over 0"),
    ):
        if count:
            yield _of(cells, name, count, said, hint)


def _numeric(cells: Cells, policy: ReleasePolicy) -> Iterator[Finding]:
    roles = policy.roles
    sensitive = [name for name, one in roles.sensitive.items() if one.type == "numeric"]
    for name in (*roles.numeric, *sensitive):
        if not cells.has(name):
            continue
        qi = roles.numeric.get(name)
        low, high = (-math.inf, math.inf) if qi is None else qi.bounds
        column, number = identifier(name), cells.number(name)
        wrong, broken, outside = cells.one(
            "SELECT count(*) FILTER (v IS NOT NULL AND x IS NULL), "
            f"count(*) FILTER (x != round(x) OR abs(x) >= {WHOLE_LIMIT}), "
            "count(*) FILTER (x < ?::DOUBLE OR x > ?::DOUBLE) "
            f"FROM (SELECT {column} AS v, {number} AS x FROM {TABLE})",
            [low, high],
        )
        if wrong:
            hint = "Write numbers as 12, -3.5 or 1e3; source.missing names what stands for missing."
            yield _of(cells, name, wrong, "hold no finite number", hint)
        field = f"roles.quasi_identifiers.{name}"
        if qi is not None and qi.type == "integer" and broken:
            hint = NOT_WHOLE_HINT.format(field=field)
            yield _of(cells, name, broken, "hold a number that is not whole, or one of 2^53 or more", hint)
        if outside:
            said = f"lie outside the bounds {low:g} to {high:g}"
            yield _of(cells, name, outside, said, f"Correct the input, or change {field}.bounds.")


def _listed(cells: Cells, policy: ReleasePolicy) -> Iterator[Finding]:
    """Yield a finding for each column that holds values that the policy does not list, or too many values."""
    roles = policy.roles
    for name, qi in roles.categorical.items():
        if cells.has(name) and not _has_only(cells, name, qi.allowed):
            yield from _too_many(cells, name)
            origin = "" if qi.tree is None else qi.tree.origin
            whose = f", whose hierarchy is {origin}" if origin else ""
            field = f"roles.quasi_identifiers.{name}{whose}"
            yield from _not_allowed(cells, policy, name, qi.allowed, field, sensitive=False)
    for name, attribute in roles.sensitive.items():
        if cells.has(name) and not _has_only(cells, name, attribute.allowed):
            if attribute.type == "categorical":
                yield from _too_many(cells, name)
            yield from _not_allowed(
                cells, policy, name, attribute.allowed, f"roles.sensitive.{name}", sensitive=True
            )
    for name, values in roles.kept_values.items():
        if cells.has(name) and not _has_only(cells, name, values):
            yield from _not_allowed(cells, policy, name, values, f"roles.kept_values.{name}", sensitive=False)


def _has_only(cells: Cells, name: str, allowed: Sequence[str] | None) -> bool:
    """Tell whether a column's texts are known to be few, and each of them allowed: then nothing is wrong."""
    if allowed is None or len(allowed) > lengths.MOST_VALUES or name in cells.texts:
        return False
    found = cells.all(
        f"SELECT DISTINCT CAST({identifier(name)} AS VARCHAR) FROM {TABLE} "
        f"WHERE {identifier(name)} IS NOT NULL LIMIT {len(allowed) + 1}"
    )
    return {value for (value,) in found} <= set(allowed)


def _too_many(cells: Cells, name: str) -> Iterator[Finding]:
    if cells.different_texts(name) > lengths.MOST_VALUES:
        said = f"has more than {lengths.MOST_VALUES:,} different values"
        hint = "Group its values in the input, or drop it (roles.dropped)."
        yield Finding(cells.where, f"column '{name}'", said, hint)


def _not_allowed(
    cells: Cells,
    policy: ReleasePolicy,
    name: str,
    allowed: Sequence[str] | None,
    field: str,
    *,
    sensitive: bool,
) -> Iterator[Finding]:
    if allowed is None:
        return
    key = units_of(policy)[0]
    units = "count(*)" if key is None or not cells.has(key) else "count(DISTINCT whose)"
    whose = "0" if key is None or not cells.has(key) else identifier(key)
    number, listed = "0", "v NOT IN (SELECT unnest(?::VARCHAR[]))"
    parameters: list[object] = [list(allowed)]
    if sensitive and policy.roles.sensitive[name].type == "numeric":
        # 5 in the policy is 5.0 in a column of numbers.
        number = cells.number(name)
        listed += " AND coalesce(x NOT IN (SELECT unnest(?::DOUBLE[])), true)"
        parameters.append([float(value) for value in allowed if _is_number(value)])
    rows = cells.all(
        f"SELECT v, count(*), {units} FROM (SELECT CAST({identifier(name)} AS VARCHAR) AS v, "
        f"{number} AS x, {whose} AS whose FROM {TABLE}) "
        f"WHERE v IS NOT NULL AND {listed} GROUP BY v ORDER BY 2 DESC, 1",
        parameters,
    )
    if not rows:
        return
    k = policy.privacy.k
    shared = [] if sensitive or policy.source.query is not None else [r for r in rows if min(r[1], r[2]) >= k]
    near = allowed if len(allowed) <= MOST_COMPARED else ()
    told = [
        f"{display_value(str(v))} ({n:,} rows){did_you_mean(str(v), near)}" for v, n, _ in shared[:MOST_NAMED]
    ]
    left = len(rows) - len(told)
    if left:
        told.append(
            _unnamed(left, policy, sensitive=sensitive, hidden=len(shared) <= MOST_NAMED, more=bool(told))
        )
    said = f"hold a value that the policy does not allow: {', '.join(told)}"
    yield _of(cells, name, sum(n for _, n, _ in rows), said, f"Correct the input, or change {field}.")


def _unnamed(n: int, policy: ReleasePolicy, *, sensitive: bool, hidden: bool, more: bool) -> str:
    """Say how many values are not named, and why."""
    values = number_of(n, "more value" if more else "value")
    if sensitive:
        return f"{values} of a sensitive attribute"
    if policy.source.query is not None:
        return f"{values} of the query"
    if not hidden:
        return values
    each = " each" if n > 1 else ""
    return f"{values} that fewer than {policy.privacy.k} {units_of(policy)[1]}{each} have"


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _missing(cells: Cells, policy: ReleasePolicy) -> Iterator[Finding]:
    wanted, roles = policy.expectations, policy.roles
    names = [
        name
        for name in roles.columns_read()
        if cells.has(name)
        and name not in (roles.unpublished_weight, roles.household)
        and (name != roles.key or name in wanted.missing_in)
    ]
    if not names:
        return
    counts = cells.one(f"SELECT {', '.join(f'count({identifier(name)})' for name in names)} FROM {TABLE}")
    for name, known in zip(names, counts, strict=True):
        share = wanted.missing_in.get(name, wanted.missing)
        missing = cells.rows - known
        if missing > cells.rows * (share + ROUNDING):
            hint = f"Correct the input, or set expectations.missing_in.{name}."
            yield _of(cells, name, missing, f"are missing; the limit is {100 * share:g}%", hint)


def _of(cells: Cells, name: str, count: int, said: str, hint: str) -> Finding:
    return Finding(
        cells.where, f"column '{name}'", f"{count:,} of {number_of(cells.rows, 'row')} {said}", hint
    )
