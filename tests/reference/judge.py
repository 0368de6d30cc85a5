"""A slow judge of a published release, written straight from the definitions.

It knows the policy, the source file and the published files, and shares no code with the product:
every record is a tuple, every class a plain object, every measure a loop. Run it as

    python tests/reference/judge.py POLICY SOURCE PUBLISHED.csv
        [--period P] [--against EARLIER.csv ...] [--json]

Earlier releases are given in the order of their publication, the oldest first: the last one is one period
back. The published files are those of one series, so the policy's roles hold for all of them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import yaml

Interval = tuple[float, float]
WHOLE = None  # the cell `*`
Cell = Interval | frozenset[str] | None
Value = float | str | None  # None: a number that the source does not know
Record = tuple[Value, ...]  # one source record's quasi-identifiers, in the policy's order


class UnreadableError(ValueError):
    """A file that cannot be judged; the text names places, never cells."""


@dataclass(frozen=True)
class QuasiIdentifier:
    """What the policy says of one quasi-identifier."""

    name: str
    numeric: bool
    weight: float
    moves: Interval
    may_change: bool


@dataclass(frozen=True)
class Rules:
    """What the judge takes from the policy."""

    quasi_identifiers: tuple[QuasiIdentifier, ...]
    sensitive: dict[str, str]  # name to "categorical" or "numeric"
    stable: frozenset[str]
    not_compared: frozenset[str]  # transient attributes that the policy leaves out of the comparison
    l: int  # noqa: E741
    k: int
    population: str
    ext_frac: tuple[float, ...]
    seeds: int
    errors: float
    source: dict[str, Any]
    missing: tuple[str, ...]
    missing_label: str


@dataclass(frozen=True)
class Row:
    """One published record: its cell on each quasi-identifier, its value of each sensitive attribute."""

    cells: dict[str, Cell]
    sensitive: dict[str, float | str]


@dataclass(frozen=True)
class EquivalenceClass:
    """Published records with equal cells, and how many of them have each sensitive value."""

    cells: dict[str, Cell]
    size: int
    counts: dict[str, Counter[float | str]]

    def values(self, attribute: str) -> frozenset[float | str]:
        return frozenset(self.counts[attribute])


# Reading


def read_policy(path: Path) -> Rules:
    """Read what the judge needs of a policy; fields left out have the policy's documented defaults."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    roles = document["roles"]
    source = document.get("source") or {}
    linkage_settings = document.get("linkage") or {}
    gates = document.get("gates") or {}
    ignored = [n for n, s in roles["sensitive"].items() if s["stability"] == "transient"]
    return Rules(
        quasi_identifiers=tuple(
            QuasiIdentifier(
                name=name,
                numeric=settings["type"] in ("numeric", "integer"),
                weight=float(settings.get("weight", 1.0)),
                moves=tuple(settings.get("moves", (0.0, 0.0))),
                may_change=bool(settings.get("may_change", False)),
            )
            for name, settings in roles["quasi_identifiers"].items()
        ),
        sensitive={n: s.get("type", "categorical") for n, s in roles["sensitive"].items()},
        stable=frozenset(n for n, s in roles["sensitive"].items() if s["stability"] == "stable"),
        not_compared=frozenset(ignored if gates.get("transient", "compare") == "ignore" else ()),
        l=int((document.get("privacy") or {}).get("l", 2)),
        k=int((document.get("privacy") or {}).get("k", 8)),
        population=str(document.get("population", "overlapping")),
        ext_frac=tuple(float(f) for f in linkage_settings.get("ext_frac", (0.05, 0.10, 0.20))),
        seeds=int(linkage_settings.get("seeds", 5)),
        errors=float(linkage_settings.get("errors", 0.1)),
        source=source,
        missing=tuple(str(token) for token in source.get("missing", ("",))),
        missing_label=str(source.get("missing_label", "missing")),
    )


def read_source(path: Path, rules: Rules, period: str | None = None) -> list[Record]:
    """Return the quasi-identifiers of every source record, in file order.

    Read with DuckDB where the file is Parquet or the policy has a query, which reads the view `input` and may
    hold `{period}`; otherwise as CSV, `.gz` or not.
    """
    names = [qi.name for qi in rules.quasi_identifiers]
    is_parquet = path.suffix == ".parquet" or rules.source.get("format") == "parquet"
    if is_parquet or rules.source.get("query"):
        table = _read_with_duckdb(path, is_parquet, names, rules, period)
    else:
        delimiter = str(rules.source.get("delimiter", ","))
        encoding = str(rules.source.get("encoding", "utf-8"))
        lines = _read_csv(path, delimiter, "utf-8-sig" if encoding == "utf-8" else encoding)
        header = next(lines)
        absent = [name for name in names if name not in header]
        if absent:
            raise UnreadableError(f"{path}: has no column '{absent[0]}'")
        places = [header.index(name) for name in names]
        table = ([line[place] for place in places] for line in lines)
    records = [_record(texts, rules, path, number) for number, texts in enumerate(table, 1)]
    if not records:
        raise UnreadableError(f"{path}: holds no records")
    return records


def _read_with_duckdb(
    path: Path, is_parquet: bool, names: list[str], rules: Rules, period: str | None
) -> Iterator[Sequence[str | None]]:
    with duckdb.connect() as connection:
        if is_parquet:
            view = connection.read_parquet(str(path))
        else:
            delimiter = str(rules.source.get("delimiter", ","))
            encoding = str(rules.source.get("encoding", "utf-8"))
            view = connection.read_csv(
                str(path), header=True, sep=delimiter, all_varchar=True, quotechar='"', encoding=encoding
            )
        view.create_view("input")
        query = str(rules.source.get("query") or "SELECT * FROM input").rstrip().rstrip(";")
        columns = ", ".join('CAST("' + name.replace('"', '""') + '" AS VARCHAR)' for name in names)
        if "{period}" in query and period is None:
            raise UnreadableError(f"{path}: the policy's query asks for a period; give --period")
        query = query.replace("{period}", period or "")
        yield from connection.execute(f"SELECT {columns} FROM ({query}\n)").fetchall()


def _record(texts: Sequence[str | None], rules: Rules, path: Path, number: int) -> Record:
    values: list[Value] = []
    for qi, text in zip(rules.quasi_identifiers, texts, strict=True):
        is_missing = text is None or text in rules.missing
        if qi.numeric:
            values.append(None if is_missing else _number(text, f"{path}: record {number}: '{qi.name}'"))
        else:
            values.append(rules.missing_label if is_missing else text)
    return tuple(values)


def _number(text: str | None, where: str) -> float:
    try:
        number = float(text or "")
    except ValueError:
        raise UnreadableError(f"{where} is no number") from None
    if not math.isfinite(number):
        raise UnreadableError(f"{where} is no finite number")
    return number


def _read_csv(path: Path, delimiter: str = ",", encoding: str = "utf-8-sig") -> Iterator[list[str]]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        raise UnreadableError(f"{path}: is not {encoding}") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(reader, None)
        if header is None or len(set(header)) < len(header):
            raise UnreadableError(f"{path}: has no header, or a column twice")
        yield header
        for line in reader:
            if line and len(line) != len(header):
                raise UnreadableError(
                    f"{path}: line {reader.line_num} has {len(line)} fields, not {len(header)}"
                )
            if line:
                yield line
    except csv.Error:
        raise UnreadableError(f"{path}: line {reader.line_num} is not CSV") from None


def read_published(path: Path, policy: Rules) -> list[Row]:
    """Return the published records of `data.csv`, with the policy's columns that the file has."""
    lines = _read_csv(path)
    header = next(lines)
    rows = []
    for number, line in enumerate(lines, 1):
        text = dict(zip(header, line, strict=True))
        where = f"{path}: record {number}"
        cells: dict[str, Cell] = {}
        for qi in policy.quasi_identifiers:
            low, high = f"{qi.name}_min", f"{qi.name}_max"
            if qi.numeric and (low in text or high in text):
                cells[qi.name] = _interval(text.get(low), text.get(high), f"{where}: '{qi.name}'")
            elif not qi.numeric and qi.name in text:
                cells[qi.name] = parse_set(text[qi.name], f"{where}: '{qi.name}'")
        sensitive: dict[str, float | str] = {}
        for name, kind in policy.sensitive.items():
            if name in text and kind == "numeric" and text[name] in ("", policy.missing_label):
                sensitive[name] = policy.missing_label
            elif name in text and kind == "numeric":
                sensitive[name] = _number(text[name], f"{where}: '{name}'")
            elif name in text:
                sensitive[name] = text[name]
        rows.append(Row(cells, sensitive))
    if not rows:
        raise UnreadableError(f"{path}: holds no records")
    return rows


def _interval(low: str | None, high: str | None, where: str) -> Interval:
    interval = (_number(low, where), _number(high, where))
    if interval[0] > interval[1]:
        raise UnreadableError(f"{where} has its smallest value over its largest")
    return interval


def parse_set(text: str, where: str = "cell") -> Cell:
    r"""Return the values of a categorical cell: `a|b`, with `\|` and `\\` for a literal `|` and `\`.

    A value that is `*` alone is written `\*`.
    """
    if text == "*":
        return WHOLE
    values = [""]
    characters = iter(text)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in ("\\", "|") and not (escaped == "*" and values[-1] == ""):
                raise UnreadableError(f"{where} has a backslash that escapes nothing")
            values[-1] += escaped
        elif character == "|":
            values.append("")
        else:
            values[-1] += character
    return frozenset(values)


# Classes and models


def classes(rows: Sequence[Row]) -> list[EquivalenceClass]:
    """Group the published records by equal cells of all quasi-identifiers."""
    groups: dict[tuple[tuple[str, Cell], ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.cells.items()), []).append(row)
    return [
        EquivalenceClass(
            cells=members[0].cells,
            size=len(members),
            counts={a: Counter(row.sensitive[a] for row in members) for a in members[0].sensitive},
        )
        for members in groups.values()
    ]


def models(published: Sequence[EquivalenceClass], policy: Rules) -> dict[str, Any]:
    """Return k and the other sizes, and p_max, entropy (natural logarithm) and e of each sensitive attribute.

    The range of a numeric attribute is that of its known values, 0 where a class knows none.
    """
    sizes = [c.size for c in published]
    result: dict[str, Any] = {
        "classes": len(sizes),
        "k": min(sizes),
        "size_mean": sum(sizes) / len(sizes),
        "size_max": max(sizes),
        "sensitive": {},
    }
    for name, kind in policy.sensitive.items():
        largest, entropies, diversities = [], [], []
        for c in published:
            shares = [count / c.size for count in c.counts[name].values()]
            largest.append(max(shares))
            entropies.append(math.fsum(share * math.log(1 / share) for share in shares))
            if kind == "numeric":
                numbers = [value for value in c.counts[name] if isinstance(value, float)]
                diversities.append(max(numbers) - min(numbers) if numbers else 0.0)
            else:
                diversities.append(float(len(c.counts[name])))
        result["sensitive"][name] = {
            "p_max": max(largest),
            "p_max_mean": statistics.fmean(largest),
            "h_min": min(entropies),
            "h_mean": statistics.fmean(entropies),
            "e": min(diversities),
        }
    return result


# Utility


def ncp(rows: Sequence[Row], source: Sequence[Record], policy: Rules) -> float:
    """Return the normalized certainty penalty: mean over quasi-identifiers by weight, then over records."""
    total_weight = math.fsum(qi.weight for qi in policy.quasi_identifiers)
    spans = []
    for place, qi in enumerate(policy.quasi_identifiers):
        column = [record[place] for record in source]
        if qi.numeric:
            known = [value for value in column if isinstance(value, float)]
            spans.append(max(known) - min(known) if known else 0.0)
        else:
            spans.append(float(len(set(column))))
    penalties = []
    for row in rows:
        weighted = [
            qi.weight * _penalty(row.cells[qi.name], span)
            for qi, span in zip(policy.quasi_identifiers, spans, strict=True)
        ]
        penalties.append(math.fsum(weighted) / total_weight)
    return math.fsum(penalties) / len(penalties)


def _penalty(cell: Cell, span: float) -> float:
    """Return one cell's penalty; `span` is the source's range, or its number of distinct values."""
    if cell is WHOLE:
        return 1.0 if span > 1 else 0.0
    if isinstance(cell, frozenset):
        return len(cell) / span if len(cell) > 1 else 0.0
    # Wider than the table are the policy's bounds, where nothing is known: they cost as the whole.
    return min((cell[1] - cell[0]) / span, 1.0) if span > 0 else 0.0


# Containment and linkage


def _widened(qi: QuasiIdentifier, interval: Interval, back: int) -> Interval:
    """Return where a value published `back` periods ago (0: now) can lie by now."""
    return interval[0] + qi.moves[0] * back, interval[1] + qi.moves[1] * back


class Containment:
    """The classes C(x) whose every cell contains x; of a release `back` periods ago, can contain x.

    Each value and each record is looked up once. The classes that hold one value are kept as the bits
    of an integer: bit c stands for class c.
    """

    def __init__(self, published: Sequence[EquivalenceClass], policy: Rules, back: int = 0) -> None:
        self._n_classes = len(published)
        self._columns: list[tuple[int, list[Cell]]] = []
        for place, qi in enumerate(policy.quasi_identifiers):
            if qi.name not in published[0].cells or (back > 0 and qi.may_change):
                continue
            cells = [c.cells[qi.name] for c in published]
            widened = [_widened(qi, cell, back) if isinstance(cell, tuple) else cell for cell in cells]
            self._columns.append((place, widened))
        self._by_value: dict[tuple[int, Value], int] = {}
        self._by_record: dict[Record, frozenset[int]] = {}

    def __call__(self, record: Record) -> frozenset[int]:
        """Return the numbers of the classes that contain the record."""
        if record not in self._by_record:
            bits = (1 << self._n_classes) - 1
            for place, cells in self._columns:
                value = record[place]
                if (place, value) not in self._by_value:
                    self._by_value[place, value] = _holding(cells, value)
                bits &= self._by_value[place, value]
            self._by_record[record] = frozenset(_numbers(bits))
        return self._by_record[record]


def _holding(cells: Sequence[Cell], value: Value) -> int:
    """Return the bits of the cells that contain one value; an unknown number is in all of them."""
    bits = 0
    for number, cell in enumerate(cells):
        if value is None or cell is WHOLE:
            bits |= 1 << number
        elif isinstance(cell, frozenset):
            if value in cell:
                bits |= 1 << number
        elif isinstance(value, float) and cell[0] <= value <= cell[1]:
            bits |= 1 << number
    return bits


def _numbers(bits: int) -> Iterator[int]:
    """Return the places of the bits that are set."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def draw(n_records: int, ext_frac: float, seed: int) -> list[int]:
    """Return the numbers of the source records that the attacker's table holds."""
    size = max(1, round(ext_frac * n_records))
    return [int(i) for i in np.random.default_rng(seed).choice(n_records, size=size, replace=False)]


def with_errors(rows: Sequence[int], source: Sequence[Record], policy: Rules, seed: int) -> list[Record]:
    """Return the drawn records, a share of their cells replaced by those of records drawn for each cell.

    Columns are drawn numbers first, then categories.
    """
    rng = np.random.default_rng([seed, len(rows)])
    columns = policy.quasi_identifiers
    order = sorted(range(len(columns)), key=lambda place: not columns[place].numeric)
    wrong = rng.random((len(rows), len(order))) < policy.errors
    donor = rng.integers(0, len(source), (len(rows), len(order)))
    told = []
    for line, i in enumerate(rows):
        cells = list(source[i])
        for place, column in enumerate(order):
            if wrong[line, place]:
                cells[column] = source[int(donor[line, place])][column]
        told.append(tuple(cells))
    return told


def linkage(
    published: Sequence[EquivalenceClass],
    source: Sequence[Record],
    policy: Rules,
    containing: Containment | None = None,
    *,
    errors: bool = False,
) -> list[dict[str, float]]:
    """Return mean and standard deviation over seeds of ERR and UMR, one entry an `ext_frac`.

    The attacker's tables are records of the source, or those with `errors` in a share of their cells.
    """
    containing = containing or Containment(published, policy)
    result = []
    for ext_frac in policy.ext_frac:
        errs, umrs = [], []
        for seed in range(policy.seeds):
            rows = draw(len(source), ext_frac, seed)
            table = with_errors(rows, source, policy, seed) if errors else [source[i] for i in rows]
            chances, unique = [], 0
            for record in table:
                sizes = [published[c].size for c in containing(record)]
                chances.append(1 / min(sizes) if sizes else 0.0)
                unique += len(sizes) == 1
            errs.append(math.fsum(chances) / len(table))
            umrs.append(unique / len(table))
        result.append(
            {
                "ext_frac": ext_frac,
                "err_mean": statistics.fmean(errs),
                "err_std": statistics.stdev(errs) if len(errs) > 1 else 0.0,
                "umr_mean": statistics.fmean(umrs),
                "umr_std": statistics.stdev(umrs) if len(umrs) > 1 else 0.0,
            }
        )
    return result


def sadr(
    published: Sequence[EquivalenceClass],
    source: Sequence[Record],
    policy: Rules,
    containing: Containment | None = None,
) -> dict[str, dict[str, float | None]]:
    """Return max and mean SADR of each sensitive attribute, all quasi-identifiers known.

    The mean is that of the draws' means, each over the drawn records that are in some class, for the largest
    `ext_frac`; None where no drawn record is in any class.
    """
    containing = containing or Containment(published, policy)
    result: dict[str, dict[str, float | None]] = {}
    for name in policy.sensitive:
        known: dict[frozenset[int], float] = {}
        draws = []
        for seed in range(policy.seeds):
            disclosed = []
            for i in draw(len(source), max(policy.ext_frac), seed):
                compatible = containing(source[i])
                if not compatible:
                    continue
                if compatible not in known:
                    together: Counter[float | str] = Counter()
                    for c in compatible:
                        together.update(published[c].counts[name])
                    known[compatible] = max(together.values()) / together.total()
                disclosed.append(known[compatible])
            if disclosed:
                draws.append(disclosed)
        result[name] = {
            "max": max((max(disclosed) for disclosed in draws), default=None),
            "mean": statistics.fmean(statistics.fmean(d) for d in draws) if draws else None,
        }
    return result


# Comparison with earlier releases


def compared_attributes(
    candidate: Sequence[EquivalenceClass], earlier: Sequence[EquivalenceClass], policy: Rules
) -> list[str]:
    """Return the sensitive attributes that both publish and that the policy compares."""
    return [
        name
        for name in policy.sensitive
        if name not in policy.not_compared and name in candidate[0].counts and name in earlier[0].counts
    ]


def compatible(a: EquivalenceClass, b: EquivalenceClass, policy: Rules, back: int) -> bool:
    """Tell whether one person can be in class `a` now and in class `b`, published `back` periods ago."""
    for qi in policy.quasi_identifiers:
        if qi.name not in a.cells or qi.name not in b.cells or qi.may_change:
            continue
        now, then = a.cells[qi.name], b.cells[qi.name]
        if now is WHOLE or then is WHOLE:
            continue
        if isinstance(now, frozenset) and isinstance(then, frozenset):
            if not now & then:
                return False
        elif isinstance(now, tuple) and isinstance(then, tuple):
            low, high = _widened(qi, then, back)
            if now[0] > high or low > now[1]:
                return False
    return True


def pairwise(
    candidate: Sequence[EquivalenceClass], earlier: Sequence[EquivalenceClass], policy: Rules, back: int = 1
) -> dict[str, dict[str, int]]:
    """Count, for each compared attribute, compatible pairs with 1 to l-1 common values, and their classes."""
    result = {}
    for name in compared_attributes(candidate, earlier, policy):
        by_values: dict[frozenset[float | str], list[EquivalenceClass]] = {}
        for b in earlier:
            by_values.setdefault(b.values(name), []).append(b)
        pairs, failing = 0, set()
        for number, a in enumerate(candidate):
            for values, group in by_values.items():
                if 0 < len(a.values(name) & values) < policy.l:
                    for b in group:
                        if compatible(a, b, policy, back):
                            pairs += 1
                            failing.add(number)
        result[name] = {"pairs": pairs, "classes": len(failing)}
    return result


def whole_history(
    candidate: Sequence[EquivalenceClass],
    earlier: Sequence[Sequence[EquivalenceClass]],
    source: Sequence[Record],
    policy: Rules,
    containing: Containment | None = None,
) -> dict[str, dict[str, int]]:
    """Count, for each compared attribute, the source records and classes that the releases together narrow.

    `earlier` is in the order of publication, the oldest first; `containing` saves looking up C(x) again.
    """
    now = containing or Containment(candidate, policy)
    releases = [
        (published, Containment(published, policy, back=len(earlier) - place))
        for place, published in enumerate(earlier)
    ]
    result = {}
    names = {n: None for published in earlier for n in compared_attributes(candidate, published, policy)}
    for name in names:
        failing_classes_of: dict[Record, set[int]] = {}
        for record in source:
            if record in failing_classes_of:
                continue
            allowed = []
            for published, then in releases:
                numbers = then(record)
                if name in published[0].counts and numbers:
                    allowed.append(frozenset().union(*(published[c].values(name) for c in numbers)))
            failing_classes_of[record] = {
                c for c in now(record) if _narrowed(candidate[c].values(name), allowed, policy.l)
            }
        result[name] = {
            "records": sum(bool(failing_classes_of[record]) for record in source),
            "classes": len(set().union(*failing_classes_of.values())),
        }
    return result


def _narrowed(
    values: frozenset[float | str],
    allowed: Sequence[frozenset[float | str]],
    l: int,  # noqa: E741
) -> bool:
    """Tell whether some of the earlier releases leave 1 to l-1 of the values."""
    distinct = set(allowed)
    return any(
        0 < len(values.intersection(*chosen)) < l
        for size in range(1, len(distinct) + 1)
        for chosen in combinations(distinct, size)
    )


# What nested classes of a series that only grows show


Named = dict[str, frozenset[str]]


def named_values(
    releases: Sequence[Sequence[EquivalenceClass]], source: Sequence[Record], policy: Rules
) -> Named:
    """Return every value of each categorical quasi-identifier that some cell or some record names."""
    result = {}
    for place, qi in enumerate(policy.quasi_identifiers):
        cells = [c.cells.get(qi.name) for published in releases for c in published]
        found = {value for cell in cells if isinstance(cell, frozenset) for value in cell}
        result[qi.name] = frozenset(found | {str(record[place]) for record in source if not qi.numeric})
    return result


def lies_inside(
    inner: EquivalenceClass, outer: EquivalenceClass, policy: Rules, named: Named, ahead: int
) -> bool:
    """Tell whether all cells of `inner` lie in those of `outer`, `ahead` periods later (negative: earlier).

    An interval may first be shifted by one step that people can have moved by in these periods.
    """
    for qi in policy.quasi_identifiers:
        small, large = inner.cells.get(qi.name), outer.cells.get(qi.name)
        if large is WHOLE:
            continue
        if isinstance(large, frozenset):
            covered = named[qi.name] if small is WHOLE else small
            if not (isinstance(covered, frozenset) and covered <= large):
                return False
        elif isinstance(small, tuple):
            least, greatest = sorted(step * ahead for step in qi.moves)
            if max(least, large[0] - small[0]) > min(greatest, large[1] - small[1]):
                return False
        else:
            return False
    return True


def nested(
    candidate: Sequence[EquivalenceClass],
    earlier: Sequence[Sequence[EquivalenceClass]],
    source: Sequence[Record],
    policy: Rules,
) -> dict[str, dict[str, int]]:
    """Count what nested classes show: of each compared attribute, and of their sizes under the name `size`.

    Pairs, times that several classes of a release lie inside the same one, failures of both, and the
    candidate's classes that fail. `earlier` is in the order of publication, the oldest first.
    """
    named = named_values([candidate, *earlier], source, policy)
    names = {n: None for published in earlier for n in compared_attributes(candidate, published, policy)}
    result = {}
    for name in [*names, "size"]:
        pairs = together = failures = 0
        failing: set[int] = set()
        for place, published in enumerate(earlier):
            if name != "size" and name not in published[0].counts:
                continue
            back = len(earlier) - place
            inside = {
                (a, b): (
                    lies_inside(published[b], candidate[a], policy, named, back),
                    lies_inside(candidate[a], published[b], policy, named, -back),
                )
                if _may_share_people(candidate[a], published[b], policy)
                else (False, False)
                for a in range(len(candidate))
                for b in range(len(published))
            }
            for (a, b), ways in inside.items():
                if any(ways):
                    pairs += 1
                    if _few_left([candidate[a]], [published[b]], name, policy):
                        failures += 1
                        failing.add(a)
            groups = [
                ([a], [b for b in range(len(published)) if inside[a, b][0]]) for a in range(len(candidate))
            ]
            groups += [
                ([a for a in range(len(candidate)) if inside[a, b][1]], [b]) for b in range(len(published))
            ]
            for ours, theirs in groups:
                if len(ours) * len(theirs) > 1:
                    together += 1
                    if _few_left([candidate[a] for a in ours], [published[b] for b in theirs], name, policy):
                        failures += 1
                        failing.update(ours)
        result[name] = {
            "pairs": pairs,
            "together": together,
            "failures": failures,
            "classes": len(failing),
        }
    return result


def _may_share_people(a: EquivalenceClass, b: EquivalenceClass, policy: Rules) -> bool:
    both = [name for name in policy.stable if name in a.counts and name in b.counts]
    return all(a.values(name) & b.values(name) for name in both)


def _few_left(
    ours: Sequence[EquivalenceClass], theirs: Sequence[EquivalenceClass], name: str, policy: Rules
) -> bool:
    if name == "size":
        return 0 < abs(sum(c.size for c in ours) - sum(c.size for c in theirs)) < policy.k
    now = sum((c.counts[name] for c in ours), Counter[float | str]())
    then = sum((c.counts[name] for c in theirs), Counter[float | str]())
    return 0 < len(now - then) < policy.l or 0 < len(then - now) < policy.l


# The whole judgement


def judge(
    policy_path: Path,
    source_path: Path,
    published_path: Path,
    earlier_paths: Sequence[Path] = (),
    period: str | None = None,
) -> dict[str, Any]:
    """Return every measure of one published file; `earlier_paths` the oldest first.

    Raises UnreadableError where a file cannot be read as what it should be.
    """
    policy = read_policy(policy_path)
    source = read_source(source_path, policy, period)
    rows = read_published(published_path, policy)
    for name in [qi.name for qi in policy.quasi_identifiers if qi.name not in rows[0].cells]:
        raise UnreadableError(f"{published_path}: does not publish the quasi-identifier '{name}'")
    for name in [name for name in policy.sensitive if name not in rows[0].sensitive]:
        raise UnreadableError(f"{published_path}: does not publish the sensitive attribute '{name}'")
    candidate = classes(rows)
    containing = Containment(candidate, policy)
    earlier = [classes(read_published(path, policy)) for path in earlier_paths]
    growing = policy.population == "cumulative"
    return {
        "records": {"source": len(source), "published": len(rows)},
        "suppression": 1 - len(rows) / len(source),
        "models": models(candidate, policy),
        "ncp": ncp(rows, source, policy),
        "linkage": linkage(candidate, source, policy, containing),
        "linkage_with_errors": linkage(candidate, source, policy, containing, errors=True),
        "sadr": sadr(candidate, source, policy, containing),
        "pairwise": [
            pairwise(candidate, published, policy, back=len(earlier) - place)
            for place, published in enumerate(earlier)
        ],
        "whole_history": whole_history(candidate, earlier, source, policy, containing),
        **({"nested": nested(candidate, earlier, source, policy)} if growing else {}),
    }


def _lines(measure: object, indent: str = "") -> Iterator[str]:
    """Write the judgement as indented text."""
    entries = enumerate(measure, 1) if isinstance(measure, list) else measure.items()  # type: ignore[attr-defined]
    for name, value in entries:
        if isinstance(value, dict | list):
            yield f"{indent}{name}:"
            yield from _lines(value, indent + "  ")
        else:
            yield f"{indent}{name}: {value:.6g}" if isinstance(value, float) else f"{indent}{name}: {value}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the files named on the command line and print the measures."""
    parser = argparse.ArgumentParser(description="Judge a published release by the definitions alone.")
    parser.add_argument("policy", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("published", type=Path)
    parser.add_argument("--period", help="what stands for {period} in the policy's query")
    parser.add_argument(
        "--against",
        type=Path,
        nargs="+",
        default=[],
        metavar="EARLIER",
        help="earlier files, oldest first",
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    try:
        result = judge(given.policy, given.source, given.published, given.against, given.period)
    except (UnreadableError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(result, indent=2) if given.json else "\n".join(_lines(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
