"""The review of a whole store: is it what it was, and would what it has published pass today's gates?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policy.errors import ReleaseGateError
from policy.text import number_of
from release_store.audit.log import Finding
from release_store.protocol.overrides import mark_of
from release_store.records import Verdict
from release_store.store import ReleaseStore
from release_store.verification.verify import overrides, verify
from reports.documents import Document
from reports.text import minute, override_line, sanitize_text
from services.review import audit_series


@dataclass(frozen=True)
class StoreReview:
    """What was found: damage to the store, a review a series, and the series that could not be reviewed."""

    findings: tuple[Finding, ...]
    reviews: tuple[Document, ...]
    refused: tuple[Finding, ...]
    n_events: int
    overrides: tuple[tuple[str, Document], ...] = ()  # releases, with what was overridden, by whom and when

    @property
    def n_releases(self) -> int:
        """How many releases were judged again."""
        return sum(len(one["releases"]) for one in self.reviews)

    @property
    def not_passed(self) -> list[str]:
        """The releases that would not pass now."""
        return [r["release"] for one in self.reviews for r in one["releases"] if not r["passes"]]

    @property
    def again(self) -> dict[str, list[str]]:
        """The gates that were overridden and do not pass again, by release."""
        return {r["release"]: r["overridden"] for one in self.reviews for r in one["releases"]}

    @property
    def ok(self) -> bool:
        """Whether nothing at all is wrong."""
        return not (self.findings or self.refused or self.not_passed)


def review_store(store: ReleaseStore, *, by: str, series: str | None = None) -> StoreReview:
    """Verify the store, and judge each release of `series`, or of all series with one, by its own policy.

    What is damaged is a finding, and the other series are reviewed all the same. A gate that was overridden
    and does not pass again is none; every override is named each time. Raises UsageError for a series that
    has no release.
    """
    findings = verify(store)
    names = [series] if series is not None else sorted({one.series for one in store.releases()})
    reviews, refused = [], []
    for name in names:
        try:
            reviews.append(audit_series(store, name, by=by))
        except ReleaseGateError as error:
            if series is not None and not findings:
                raise
            refused.append(Finding(error.where or name, error.message))
    said: dict[str, Document] = {}
    try:
        said = {name: mark_of(one) for name, one in overrides(store, series).items()}
    except ReleaseGateError as error:
        refused.append(Finding(error.where or "overrides", error.message))
    return StoreReview(tuple(findings), tuple(reviews), tuple(refused), store.n_events(), tuple(said.items()))


def all_pass(n_not_run: int, *, overridden: bool) -> str:
    """Say that no gate failed, where some may have been overridden and `n_not_run` were not run."""
    gates = "every gate that was run" if n_not_run else "every gate"
    return f"{gates} passes now or was overridden" if overridden else f"{gates} passes now"


def summary_line(found: StoreReview) -> str:
    """Return the review in one line."""
    let_out = number_of(len(found.overrides), "release") + " published by override" if found.overrides else ""
    if found.ok:
        n_not_run = sum(one["not_run"] for one in found.reviews)
        passes = all_pass(n_not_run, overridden=any(found.again.values()))
        not_run = f"; {number_of(n_not_run, 'gate was', 'gates were')} not run" if n_not_run else ""
        return (
            f"{number_of(found.n_releases, 'release')} and {number_of(found.n_events, 'event')}: OK, "
            f"no tampering found, and {passes}{not_run}{f'; {let_out}' if let_out else ''}"
        )
    parts = (
        (len(found.findings), "problem found by `verify`", "problems found by `verify`"),
        (len(found.refused), "series that could not be reviewed", "series that could not be reviewed"),
        (len(found.not_passed), "release that would not pass now", "releases that would not pass now"),
    )
    told = ", ".join(number_of(n, one, several) for n, one, several in parts if n)
    return f"{told}; {let_out}" if let_out else told


def review_markdown(found: StoreReview) -> str:
    """Return the review as a page: ids, names of gates and counts only."""
    lines = [
        f"# Audit review: {'nothing is wrong' if found.ok else 'something is wrong'}",
        "",
        summary_line(found),
    ]
    for title, listed in (("Damage", found.findings), ("Not reviewed", found.refused)):
        lines += _listed(title, [f"`{_cell(one.where)}`: {_cell(one.what)}" for one in listed])
    lines += _listed(
        "Published by override",
        [
            f"`{_cell(name)}`: {_cell(override_line(said, found.again.get(name, [])))}"
            for name, said in found.overrides
        ],
    )
    for review in found.reviews:
        lines += ["", f"## {_cell(review['series'])}", ""]
        lines += ["| release | state | published | gates that pass | not passed | overridden | not run |"]
        lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
        lines += [f"| {' | '.join(row.values())} |" for row in _rows(review)]
    return "\n".join(lines) + "\n"


def review_rows(found: StoreReview) -> list[dict[str, str]]:
    """Return one row a release, for a table."""
    return [{"series": one["series"], **row} for one in found.reviews for row in _rows(one)]


def _rows(review: Document) -> list[dict[str, str]]:
    rows = []
    for release in review["releases"]:
        gates = release["gates"]
        verdicts = [gate["verdict"] for gate in gates]
        rows.append(
            {
                "release": _cell(release["release"]),
                "state": release["state"],
                "published": minute(release["published_at"]),
                "gates that pass": f"{verdicts.count(Verdict.PASS)} of {len(verdicts)}",
                "not passed": ", ".join(release["not_passed"]),
                "overridden": ", ".join(release["overridden"]),
                "not run": str(len(release["not_run"]) or ""),
            }
        )
    return rows


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"## {title}", "", *(f"- {line}" for line in lines)] if lines else []


def _cell(text: str) -> str:
    """Return a text that does not end a cell, a line or a code span of Markdown."""
    return sanitize_text(text).replace("|", "\\|").replace("`", "'")
