"""Judge what was published by the gates of today, each release against those before it.

Everything is read from the published files; what the history keeps of their classes is used only where no
policy tells how to read a file, or where its rows were purged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from policy.errors import VerificationFailed
from policy.model import ReleasePolicy
from policy.period import periods_apart
from release_store.approval.admission import OVERRIDABLE
from release_store.records import EquivalenceClasses, GateResult, PersonHashes, Verdict
from release_store.sealed import sealed_file
from tasks.risk.evidence import Evidence
from tasks.risk.published import read_classes
from tasks.risk.registry import GATES, Gate, assess, gates_to_ask, unmeasured
from tasks.types import PreparedTable, Progress, no_progress


@dataclass(frozen=True)
class Publication:
    """A published release: its files with their digests, and what was recorded of how it was made."""

    release_id: str
    period: str
    folder: Path
    files: Mapping[str, str]
    policy: ReleasePolicy | None  # None where this program cannot read it
    n_source: int | None
    unreadable: str = ""  # why it cannot
    kept_classes: EquivalenceClasses | None = None  # the history's, where no policy tells how to read them
    people: PersonHashes | None = None
    overridden: frozenset[str] = frozenset()  # the gates that administrators overrode to publish it
    key: bytes | None = field(default=None, repr=False)  # of people
    purged: bool = False  # its rows are gone: only the history knows its classes


@dataclass(frozen=True)
class Review:
    """What the gates say now of one release, and whether they had its source."""

    publication: Publication
    policy: ReleasePolicy | None  # by which it was judged; None where its own cannot be read
    had_source: bool
    results: tuple[GateResult, ...]

    @property
    def not_passed(self) -> tuple[GateResult, ...]:
        """The gates that did not pass, but for those that were overridden and those that need the source."""
        failing = (one for one in self.results if one.verdict is not Verdict.PASS and not _excused(one))
        return tuple(one for one in failing if not self._is_overridden(one))

    @property
    def overridden(self) -> tuple[GateResult, ...]:
        """The gates that do not pass again, though the release is out by the word of administrators."""
        return tuple(one for one in self.results if self._is_overridden(one))

    def _is_overridden(self, one: GateResult) -> bool:
        """Their word was about these gates by this policy; that a gate breaks is no word of anybody."""
        own = self.policy == self.publication.policy
        return own and one.gate in self.publication.overridden and one.verdict in OVERRIDABLE

    @property
    def not_run(self) -> tuple[GateResult, ...]:
        """The gates that could not be asked without the source."""
        return tuple(one for one in self.results if _excused(one))

    @property
    def passes(self) -> bool:
        """Whether some gate could be asked, unless its rows are gone, and each passed or was overridden."""
        return self.publication.purged or (not self.not_passed and len(self.results) > len(self.not_run))


def _excused(one: GateResult) -> bool:
    """Tell whether a gate was not run because the source is missing; `worlds` needs none."""
    return one.verdict is Verdict.NOT_RUN and one.gate != "worlds"


TableOf = Callable[[Publication, ReleasePolicy], PreparedTable | None]


def no_table(_publication: Publication, _policy: ReleasePolicy) -> None:
    """Have no release's source at hand."""


def review(
    publications: Sequence[Publication],
    *,
    policy: ReleasePolicy | None = None,
    table_of: TableOf = no_table,
    gates: Mapping[str, Gate] | None = None,
    progress: Progress = no_progress,
) -> list[Review]:
    """Ask today's gates of every release, in the order given, which is that of their publication.

    Each is judged by the policy that it was made by, or all by `policy`; a policy whose columns are not those
    of a release's files makes every gate of that release `unknown`, and so does one that cannot be read:
    later releases are then compared with the classes that the history keeps. Classes are read once a release.
    Raises VerificationFailed where a file does not hold what the release's own policy publishes.
    """
    earlier: list[tuple[str, EquivalenceClasses]] = []
    found = []
    for number, one in enumerate(publications):

        def tell(share: float, words: str, number: int = number, name: str = one.release_id) -> None:
            progress((number + share) / len(publications), f"{name}: {words}")

        tell(0.0, "its classes")
        classes = _own_classes(one)
        if one.purged:
            found.append(Review(one, policy or one.policy, False, ()))
            earlier.append((one.release_id, classes))
            continue
        before = [each.period for each in publications[:number]]
        by = policy or one.policy
        try:
            if by is None:
                raise VerificationFailed(one.unreadable)
            same = one.policy is not None and _layout(by) == _layout(one.policy)
            judged = classes if same else _classes(one, by)
        except VerificationFailed as error:
            asked = (GATES if gates is None else gates) if by is None else gates_to_ask(by, gates)
            results = tuple(unmeasured(gate, Verdict.UNKNOWN, error.message) for gate in asked)
            found.append(Review(one, by, False, results))
        else:
            table = table_of(one, by)
            files = dict(one.files)
            apart = periods_apart(before, one.period, by.period)
            evidence = Evidence(
                by,
                table,
                judged,
                one.folder,
                files,
                tuple(earlier),
                apart,
                one.n_source,
                people=one.people,
                earlier_people=[each.people for each in publications[:number]],
                key=one.key,
            )
            found.append(Review(one, by, table is not None, assess(evidence, gates, tell).results))
        earlier.append((one.release_id, classes))
    return found


def _own_classes(one: Publication) -> EquivalenceClasses:
    """Read a release's classes from its file by its own policy; without either, take the history's."""
    if one.policy is not None and not one.purged:
        return _classes(one, one.policy)
    if one.kept_classes is None:
        raise VerificationFailed(one.unreadable, where=one.release_id)
    return one.kept_classes


def _classes(one: Publication, policy: ReleasePolicy) -> EquivalenceClasses:
    """Read the classes of the file that was published, and of no other that took its place meanwhile."""
    with sealed_file(one.folder / "data.parquet", one.files.get("data.parquet")) as file:
        return read_classes(file, policy)


def _layout(policy: ReleasePolicy) -> tuple[object, ...]:
    """Return all of a policy that decides how classes are read from a file."""
    roles = policy.roles
    published = tuple(policy.published_columns())
    forms = tuple(policy.form(name) for name in roles.quasi_identifiers)
    names = tuple(roles.numeric), tuple(roles.sensitive), roles.kept
    return published, forms, *names, policy.source.missing_label
