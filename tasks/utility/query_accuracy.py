"""Query accuracy, QA: the share of classes that answer aggregate queries correctly
(doi:10.3390/app152111849, eq. 14).

The paper divides "the maximum number of clusters yielding correct results" by the number of clusters, and
says neither which queries those are nor when a result is correct. Our reading: the queries are those of
`tasks.utility.queries`, all three kinds together; a class answers one correctly if the number of its rows
that are expected to answer rounds to the number of its own people who do (half a person off at most); and
the share is averaged over the queries. Most classes have nothing to do with most queries and answer those
rightly, so the share among the classes that a query touches, by its cells or by its people, is told too.
"""

from __future__ import annotations

import numpy as np

from tasks.utility.queries import KINDS, Queries, answers, draw_queries, expected
from tasks.utility.released import Released

HALF = 0.5 + 1e-9


def query_accuracy(released: Released) -> dict[str, float | None]:
    """Return QA in percent, over all classes and over those that a query touches."""
    right = touched = right_touched = asked = 0
    for kind in KINDS:
        queries = draw_queries(released, kind)
        if queries is not None and released.n_published:
            for correct, concerned in zip(*answer_queries(queries, released), strict=True):
                asked += correct.size
                right += int(correct.sum())
                touched += int(concerned.sum())
                right_touched += int((correct & concerned).sum())
    return {
        "qa": 100 * right / asked if asked else None,
        "qa_touched": 100 * right_touched / touched if touched else None,
    }


def answer_queries(queries: Queries, released: Released) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return which classes answer rightly, and which are touched, some queries (., N) at a time."""
    order, starts = released.by_class
    mine = released.records[order]
    truth = np.concatenate(
        [
            np.add.reduceat(held[:, mine].astype(np.int64), starts, axis=1)
            for _, held in answers(queries, released.table)
        ]
    )
    correct, touched = [], []
    for part, chance in expected(queries, released):
        if released.noised:
            guess = np.add.reduceat(chance[:, order], starts, axis=1)
        else:
            guess = chance * released.classes.size
        correct.append(np.abs(guess - truth[part]) <= HALF)
        touched.append((guess > 0) | (truth[part] > 0))
    return correct, touched
