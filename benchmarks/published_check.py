"""Check published tables against their source with pandas and DuckDB alone, independently of the gates.

A release is its `data.csv` and `datapackage.json`; the source is the table as a right reading gives it, with
the person of each row. Nothing here is imported from the stages, the gates or the store.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

Policy = Mapping[str, Any]
PARTS = re.compile(r"(?<!\\)\|")
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Published:
    """What was found of one release: its classes with their regions and people, and what is wrong."""

    period: str
    rows: int
    left_out: int
    k: int  # of the smallest class, in people
    regions: list[tuple[frozenset[str], ...]]  # of each class: per column, the values that a cell covers
    values: list[dict[str, Counter[str]]]  # of each class: the published values of each sensitive attribute
    people: list[frozenset[int]]  # of each class
    ambiguous: int  # rows of the source that could be in several classes: one of these is taken
    problems: tuple[str, ...] = field(default=())


def source_table(policy: Policy, clean: pd.DataFrame, written: pd.DataFrame) -> pd.DataFrame:
    """Return the source as the policy's query selects it, as text; None where a value is unknown.

    What the query makes of a column it makes of the file's cells, which are `written`.
    """
    query = policy["source"].get("query")
    if query is None:
        return clean
    made = [name for name in clean if f' AS "{name}"' in query]
    return _selected(query, clean).assign(**dict(_selected(query, written)[made]))


def _selected(query: str, table: pd.DataFrame) -> pd.DataFrame:
    with duckdb.connect() as con:
        con.register("input", table.astype("string"))
        found = con.execute(f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ({query})").df()
    return found.astype(object).where(found.notna(), None)


def values_of(policy: Policy, sources: Sequence[pd.DataFrame]) -> dict[str, pd.Index]:
    """Return, of each quasi-identifier, all values of several sources as the policy reads them."""
    return {
        name: pd.Index(pd.concat([_as_read(source, name, policy) for source in sources]).unique())
        for name in policy["roles"]["quasi_identifiers"]
    }


def check_release(
    folder: Path,
    policy: Policy,
    source: pd.DataFrame,
    people: NDArray[np.int64],
    period: str,
    values: Mapping[str, pd.Index] | None = None,
) -> Published:
    """Compare a release with its source, which has a row for each of `people`.

    The regions of classes are in terms of `values`, which are those of the source if they are not given.
    """
    values = values or values_of(policy, [source])
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    fields = {one["name"]: one for one in package["resources"][0]["schema"]["fields"]}
    data = pd.read_csv(folder / "data.csv", dtype=str, keep_default_na=False)
    known, sensitive = policy["roles"]["quasi_identifiers"], policy["roles"]["sensitive"]
    label = policy["source"].get("missing_label", "missing")
    cells = [name for name in data.columns if name not in sensitive]
    classes = data.groupby(cells, sort=False).ngroup().to_numpy()
    first = data.drop_duplicates(cells)
    covered: dict[str, NDArray[np.bool_]] = {}  # of each column: (n_classes, n_values)
    inside = np.ones((len(first), len(source)), dtype=bool)
    for name in known:
        ends = [f"{name}_min", f"{name}_max"]
        own = first[ends].agg("..".join, axis=1) if ends[0] in first else first[name]
        described = fields.get(name, {})
        covers = [[_covers(cell, value, described, label) for value in values[name]] for cell in own]
        covered[name] = np.array(covers, dtype=bool).reshape(len(first), len(values[name]))
        inside &= covered[name][:, values[name].get_indexer(_as_read(source, name, policy))]
    row_values = _tuples(data, sensitive, label)
    source_values = _tuples(source, sensitive, label)
    matched, ambiguous = _match(classes, row_values, inside, source_values)
    problems = []
    if (matched < 0).any():
        problems.append(f"{int((matched < 0).sum())} rows that no row of the source can be")
    missing = Counter(row_values) - Counter(source_values)
    if missing:
        problems.append(f"{missing.total()} sensitive values that the source has not")
    of_classes = [np.flatnonzero(classes == number) for number in range(len(first))]
    whose = [frozenset(people[matched[rows][matched[rows] >= 0]].tolist()) for rows in of_classes]
    counted = whose if policy.get("rows") == "several" else of_classes
    sizes = [len(one) for one in counted]
    if min(sizes) < policy["privacy"]["k"]:
        problems.append(f"k is {min(sizes)}")
    per_class = [{name: Counter(data[name].iloc[rows]) for name in sensitive} for rows in of_classes]
    problems += _not_diverse(policy, per_class)
    regions = [
        tuple(frozenset(map(str, values[name][covers[number]])) for name, covers in covered.items())
        for number in range(len(first))
    ]
    left_out = len(source) - len(data)
    if left_out > policy["gates"]["suppression"]["max"] * len(source):
        problems.append(f"{left_out} rows are left out, more than the policy allows")
    return Published(
        period, len(data), left_out, min(sizes), regions, per_class, whose, ambiguous, tuple(problems)
    )


def pinned_by_subtraction(policy: Policy, releases: Sequence[Published]) -> int:
    """Count nested classes of two releases whose newcomers, or leavers, are fewer than k with one value.

    Whoever knows who is in both classes subtracts the values of one from those of the other: that tells those
    of the people in one alone exactly, if no value of a newcomer takes away one of a leaver.
    """
    stable = [name for name, one in policy["roles"]["sensitive"].items() if one["stability"] == "stable"]
    k, found = policy["privacy"]["k"], 0
    for earlier, later in combinations(releases, 2):
        for before, region in enumerate(earlier.regions):
            for after, other in enumerate(later.regions):
                if not (_inside(region, other) or _inside(other, region)):
                    continue
                was, now = earlier.people[before], later.people[after]
                for name in stable:
                    values = earlier.values[before][name], later.values[after][name]
                    sides = ((now - was, values[1] - values[0]), (was - now, values[0] - values[1]))
                    found += any(
                        0 < len(who) < k and left.total() == len(who) and len(left) == 1
                        for who, left in sides
                    )
    return found


def _inside(region: tuple[frozenset[str], ...], other: tuple[frozenset[str], ...]) -> bool:
    return all(one <= another for one, another in zip(region, other, strict=True))


def _as_read(source: pd.DataFrame, name: str, policy: Policy) -> pd.Series[str]:
    role, label = policy["roles"]["quasi_identifiers"][name], policy["source"].get("missing_label", "missing")
    return source[name].map(lambda cell: _read(cell, role, label))


def _read(cell: str | None, role: Policy, label: str) -> str:
    """Return a quasi-identifier of the source as the policy reads it."""
    if cell is None:
        return label
    if role["type"] == "date":
        return cell[:4]
    if role["type"] == "code" and role.get("length"):
        cell = cell[: role["length"]]
    if role["type"] in ("numeric", "integer") or role.get("others") is None:
        return cell
    listed = role.get("values") or _leaves(role["hierarchy"])
    return cell if cell in listed else str(role["others"])


def _leaves(tree: Any) -> set[str]:
    if isinstance(tree, Mapping):
        return {leaf for child in tree.values() for leaf in _leaves(child)}
    if isinstance(tree, list):
        return {leaf for child in tree for leaf in _leaves(child)}
    return {str(tree)}


def _covers(cell: str, value: str, described: Policy, label: str) -> bool:
    """Tell whether a published cell, or an interval `min..max` of a number, covers a value."""
    if not described:  # a number, which has two columns; one that is not known is anywhere
        low, high = map(float, cell.split(".."))
        return value == label or low <= float(value) <= high
    return any(_part_covers(part, value, described) for part in PARTS.split(cell))


def _part_covers(part: str, value: str, described: Policy) -> bool:
    """Tell whether a node, a range, a prefix or a single value covers a value."""
    plain = part.replace("\\|", "|").replace("\\\\", "\\")
    if part == "*" or plain == value or value in described.get("nodes", {}).get(plain, ()):
        return True
    if ".." in part:
        first, last = part.split("..")
        order = described.get("order")
        if order is None:
            return first <= value <= last
        return value in order and order.index(first) <= order.index(value) <= order.index(last)
    return part.endswith("*") and value.startswith(part[:-1])


def _tuples(table: pd.DataFrame, sensitive: Policy, label: str) -> list[tuple[object, ...]]:
    """Return the sensitive values of each row."""
    columns = []
    for name, role in sensitive.items():
        numeric = role.get("type") == "numeric"
        columns.append([_value(cell, label, numeric=numeric) for cell in table[name]])
    return list(zip(*columns, strict=True))


def _value(cell: object, label: str, *, numeric: bool) -> object:
    if cell is None or cell == "":
        return None if numeric else label
    return float(str(cell)) if numeric else cell


def _match(
    classes: NDArray[np.int64],
    row_values: Sequence[tuple[object, ...]],
    inside: NDArray[np.bool_],
    source_values: Sequence[tuple[object, ...]],
) -> tuple[NDArray[np.int64], int]:
    """Give each published row a row of the source with its sensitive values, inside its class: each once.

    Returns the place of that row for each published row, -1 for none, and how many rows of the source could
    be in several classes.
    """
    of_source: dict[tuple[object, ...], list[int]] = {}
    for place, value in enumerate(source_values):
        of_source.setdefault(value, []).append(place)
    of_rows: dict[tuple[object, ...], list[int]] = {}
    for place, value in enumerate(row_values):
        of_rows.setdefault(value, []).append(place)
    matched = np.full(len(row_values), -1, dtype=np.int64)
    ambiguous = 0
    for value, rows in of_rows.items():
        places = np.array(of_source.get(value, []), dtype=np.int64)
        if not len(places):
            continue
        own = classes[rows]
        fits = inside[np.ix_(own, places)]
        ambiguous += int((inside[np.ix_(np.unique(own), places)].sum(axis=0) > 1).sum())
        pairs = maximum_bipartite_matching(csr_array(fits), perm_type="column")
        taken = np.asarray(pairs) >= 0
        matched[np.array(rows)[taken]] = places[np.asarray(pairs)[taken]]
    return matched, ambiguous


def _not_diverse(policy: Policy, classes: Sequence[Mapping[str, Counter[str]]]) -> list[str]:
    """Say which attributes have classes of fewer than e values (or less than that range), or over p_max."""
    found = []
    for name, role in policy["roles"]["sensitive"].items():
        limits = {**policy["privacy"], **policy["privacy"].get("attributes", {}).get(name, {})}
        counts = [one[name] for one in classes]
        if role.get("type") == "numeric":
            numbers = [[float(value) for value in one if value] for one in counts]
            widths = [max(one, default=0.0) - min(one, default=0.0) for one in numbers]
        else:
            widths = [float(len(one)) for one in counts]
        narrow = sum(width < max(limits["e"], 2) - TOLERANCE for width in widths)
        shares = [max(one.values()) / one.total() for one in counts]
        frequent = sum(share > limits["p_max"] + TOLERANCE for share in shares)
        if narrow or (frequent and policy.get("rows") != "several"):
            found.append(f"{name}: {narrow} classes with too few values, {frequent} with one too often")
    return found
