"""The privacy models as their papers define them: rows, loops and sets, and no code of the product.

A row is its cells, one a quasi-identifier, and its sensitive values, one an attribute. A cell is a frozenset
of the values that it covers, an interval of numbers as a tuple, or `WHOLE`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

WHOLE = "*"
OUTSIDE = "a value that no cell names"
MISSING = "missing"
Cell = frozenset[str] | tuple[float, float] | str
Row = tuple[tuple[Cell, ...], tuple[str, ...]]


def classes(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each equivalence class."""
    found: dict[tuple[Cell, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return list(found.values())


def frequencies(rows: Sequence[Row], attribute: int) -> list[int]:
    """Return r_1 >= r_2 >= ..., how often each sensitive value stands in the rows."""
    return sorted(Counter(row[1][attribute] for row in rows).values(), reverse=True)


def is_distinct_l(rows: Sequence[Row], attribute: int, least: int) -> bool:
    """Machanavajjhala et al. (2007), distinct: at least l different values in every class."""
    return all(len(frequencies(group, attribute)) >= least for group in classes(rows))


def least_entropy(rows: Sequence[Row], attribute: int) -> float:
    """Machanavajjhala et al. (2007), entropy: the least - sum of p ln p, which must be at least ln l."""
    entropies = []
    for group in classes(rows):
        shares = [count / len(group) for count in frequencies(group, attribute)]
        entropies.append(-math.fsum(share * math.log(share) for share in shares))
    return min(entropies)


def is_recursive_cl(rows: Sequence[Row], attribute: int, c: Fraction, l_least: int) -> bool:
    """Machanavajjhala et al. (2007), recursive: r_1 < c (r_l + ... + r_m) in every class."""
    for group in classes(rows):
        r = frequencies(group, attribute)
        if not r[0] < c * sum(r[l_least - 1 :]):
            return False
    return True


def is_alpha_k(
    rows: Sequence[Row], attribute: int, alpha: Fraction, k: int, values: Sequence[str] | None
) -> bool:
    """Wong et al. (2006): k rows in every class, and no value (of `values`, or any) over alpha."""
    for group in classes(rows):
        if len(group) < k:
            return False
        for value, count in Counter(row[1][attribute] for row in group).items():
            if (values is None or value in values) and Fraction(count, len(group)) > alpha:
                return False
    return True


# t-closeness


def equal_distance(one: str, other: str) -> Fraction:
    """Li et al. (2007), equal distance: two categories are 1 apart."""
    return Fraction(int(one != other))


def ordered_distance(numbers: Sequence[str]) -> Callable[[str, str], Fraction]:
    """Li et al. (2007), ordered distance: the i-th and the j-th of m numbers are |i - j| / (m - 1) apart.

    A missing one is 1 from every number.
    """
    order = sorted({value for value in numbers if value != MISSING}, key=float)

    def distance(one: str, other: str) -> Fraction:
        if one == other:
            return Fraction(0)
        if MISSING in (one, other):
            return Fraction(1)
        return Fraction(abs(order.index(one) - order.index(other)), len(order) - 1)

    return distance


def closeness(rows: Sequence[Row], attribute: int, distance: Callable[[str, str], Fraction]) -> Fraction:
    """Li et al. (2007): the greatest earth mover's distance of a class from all rows."""
    everybody = Counter(row[1][attribute] for row in rows)
    return max(
        earth_movers(Counter(row[1][attribute] for row in group), everybody, distance)
        for group in classes(rows)
    )


def earth_movers(
    one: Mapping[str, int], other: Mapping[str, int], distance: Callable[[str, str], Fraction]
) -> Fraction:
    """Return the least cost of moving one distribution into the other.

    Both are written over a common denominator, so that whole numbers are moved. Starts with any flow, and
    sends one unit round a cycle of negative cost (Bellman and Ford) as long as there is one.
    """
    n_one, n_other = sum(one.values()), sum(other.values())
    give = [(value, count * n_other) for value, count in one.items()]
    take = [(value, count * n_one) for value, count in other.items()]
    flow = _any_flow([count for _, count in give], [count for _, count in take])
    cost = {(i, j): distance(give[i][0], take[j][0]) for i in range(len(give)) for j in range(len(take))}
    while (cycle := _negative_cycle(flow, cost, len(give), len(take))) is not None:
        amount = min(flow[i, j] for i, j, forward in cycle if not forward)
        for i, j, forward in cycle:
            flow[i, j] += amount if forward else -amount
    total = sum((cost[edge] * amount for edge, amount in flow.items()), Fraction(0))
    return total / (n_one * n_other)


def _any_flow(give: Sequence[int], take: Sequence[int]) -> dict[tuple[int, int], int]:
    left, wanted = list(give), list(take)
    flow = {}
    for i in range(len(left)):
        for j in range(len(wanted)):
            flow[i, j] = min(left[i], wanted[j])
            left[i] -= flow[i, j]
            wanted[j] -= flow[i, j]
    return flow


def _negative_cycle(
    flow: Mapping[tuple[int, int], int], cost: Mapping[tuple[int, int], Fraction], n: int, m: int
) -> list[tuple[int, int, bool]] | None:
    edges = []
    for (i, j), price in cost.items():
        edges.append((i, n + j, price, (i, j, True)))
        if flow[i, j]:
            edges.append((n + j, i, -price, (i, j, False)))
    reached = [Fraction(0)] * (n + m)
    came: list[tuple[int, tuple[int, int, bool]] | None] = [None] * (n + m)
    last = None
    for _ in range(n + m):
        last = None
        for start, end, price, edge in edges:
            if reached[start] + price < reached[end]:
                reached[end], came[end], last = reached[start] + price, (start, edge), end
    if last is None:
        return None
    for _ in range(n + m):
        last = came[last][0]  # type: ignore[index]
    cycle, node = [], last
    while True:
        node, edge = came[node]  # type: ignore[misc,index]
        cycle.append(edge)
        if node == last:
            return cycle


# Partial knowledge


def true_values(cell: Cell, domain: Sequence[str] | None, step: float) -> list[float | str]:
    """Return the values that a person in the cell may have; `step` apart where they are numbers.

    A `*` covers the domain: all that cells name and one more, where the policy declares none.
    """
    if isinstance(cell, tuple):
        return [cell[0] + step * i for i in range(int((cell[1] - cell[0]) / step) + 1)]
    if cell == WHOLE:
        assert domain is not None
        return list(domain)
    return sorted(cell)


def covers(cell: Cell, value: float | str) -> bool:
    """Tell whether a cell covers a value."""
    if cell == WHOLE:
        return True
    if isinstance(cell, tuple):
        return cell[0] <= value <= cell[1]  # type: ignore[operator]
    return value in cell


def matching(
    rows: Sequence[Row], domains: Sequence[Sequence[str] | None], steps: Sequence[float], n_known: int
) -> Iterator[list[Row]]:
    """Yield the rows that match, for every row of the release and every value that its person may have in
    every choice of 1 to `n_known` quasi-identifiers.
    """
    places = range(len(domains))
    seen = set()
    for cells, _ in rows:
        for size in range(1, n_known + 1):
            for chosen in combinations(places, size):
                possible = [true_values(cells[q], domains[q], steps[q]) for q in chosen]
                for values in product(*possible):
                    if (chosen, values) in seen:
                        continue
                    seen.add((chosen, values))
                    yield [
                        row
                        for row in rows
                        if all(covers(row[0][q], v) for q, v in zip(chosen, values, strict=True))
                    ]


def greatest_confidence(group: Sequence[Row], attribute: int, values: Sequence[str] | None) -> Fraction:
    """Return the largest share of a sensitive value (of `values`, or any) in the rows."""
    counts = Counter(row[1][attribute] for row in group)
    return max(
        (Fraction(n, len(group)) for value, n in counts.items() if values is None or value in values),
        default=Fraction(0),
    )
