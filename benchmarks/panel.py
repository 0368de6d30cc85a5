"""What knowing the history costs, and what not knowing it costs others: eight quarters of a panel survey.

    python -m benchmarks.panel [--quarters N] [--write]

The policy is examples/policies/eph.yaml (k = 5, l = 2). *Aware*: `releasegate run` publishes each quarter
into a store. *Blind*: the same stages without signatures and repair, each quarter beside the blind ones
before it, as if they had been published; the gate would hold them back. Who is pinned is counted here by
plain joins over the survey's own key, not by the gate's code.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import report
from policy.load import load_policy
from policy.period import periods_apart
from release_store.person_key import hashed_people, person_hash, person_key
from release_store.records import EquivalenceClasses, PersonHashes
from release_store.store import ReleaseStore
from services.pipeline import make_rows
from tasks.intake.read import read_table
from tasks.methods.registry import bound_method
from tasks.risk.evidence import Evidence
from tasks.risk.published import read_classes
from tasks.risk.registry import GATES, assess
from tasks.staging.people import class_numbers
from tasks.staging.stage import stage
from tasks.types import IntArray, SourceTable
from tasks.utility.ncp import ncp, scale_of

POLICY = report.ROOT / "examples" / "policies" / "eph.yaml"
DATA = "eph/eph_panel_2003q3_2014q2.parquet"
QUARTERS = ("2012Q3", "2012Q4", "2013Q1", "2013Q2", "2013Q3", "2013Q4", "2014Q1", "2014Q2")
COMPARISON = ("pairwise", "whole_history", "person", "person_difference")
BLIND_KEY = b"the blind side is in no store"


@dataclass(frozen=True)
class Quarter:
    """What came of one quarter: shares are of its records, `failing` classes by the worst comparison."""

    period: str
    passes: bool
    rows: int
    classes: int
    largest: int
    ncp: float
    suppressed: float
    failing: int
    followed: int  # people who are in an earlier quarter too
    pinned: int
    pinned_unmoved: int
    seconds: float


@dataclass(frozen=True)
class Seen:
    """A published quarter as somebody sees it who can follow its people, a row a person.

    `quasi_identifiers` are the person's own, `bits` the sensitive values of the person's class.
    """

    number: int
    quasi_identifiers: pd.DataFrame
    bits: pd.Series[int]


@dataclass
class Side:
    """The quarters made one way, as far as they are made."""

    quarters: list[Quarter] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    classes: list[EquivalenceClasses] = field(default_factory=list)
    people: list[PersonHashes | None] = field(default_factory=list)


class Panel:
    """Both ways beside each other, quarter by quarter."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._policy = load_policy(POLICY)
        self._key = str(self._policy.roles.key)
        (self._sensitive,) = self._policy.roles.sensitive
        self._bit: dict[str, int] = {}
        self.aware, self.blind = Side(), Side()
        self._command("init")

    def make(self, period: str) -> None:
        """Make one quarter both ways."""
        source = read_table(self._policy, input_path=report.datasets() / DATA, period=period, base=Path())
        self._make_aware(period, source)
        self._make_blind(period, source)

    def published(self) -> list[str]:
        """Return the releases that the aware side has published."""
        return [one.release_id for one in ReleaseStore.open(self._folder / "store").releases()]

    def _make_aware(self, period: str, source: SourceTable) -> None:
        begun = perf_counter()
        outcome = self._command(
            "run", str(POLICY), "--input", str(report.datasets() / DATA), "--period", period, "--json"
        )
        store = ReleaseStore.open(self._folder / "store")
        candidate = outcome["candidate"]
        classes = read_classes(
            self._folder / "store" / "candidates" / candidate / "data.parquet", self._policy
        )
        people, key = store.people(candidate), person_key(store.root)
        if people is None or people.classes is None or key is None:
            raise RuntimeError("the store keeps no hashes of people")
        number = dict(zip(people.hashes, people.classes, strict=True))
        where = np.array([number.get(person_hash(key, one), -1) for one in source.frame[self._key]])
        self._keep(self.aware, period, source, classes, where, outcome["gates"], outcome["ncp"], begun)

    def _make_blind(self, period: str, source: SourceTable) -> None:
        begun, policy, side = perf_counter(), self._policy, self.blind
        all_made = make_rows(source, policy, bound_method(policy), [], period)
        rows, table = all_made.rows, all_made.table
        folder = self._folder / f"blind-{period}"
        n_source = table.n_records
        made = stage(rows, policy, candidate_id=period, period=period, folder=folder, n_source=n_source)
        classes = read_classes(folder / "data.parquet", policy)
        where = class_numbers(folder / "data.parquet", rows, policy, n_source)
        placed = zip(source.frame[self._key], where.tolist(), strict=True)
        people = hashed_people(BLIND_KEY, self._key, placed)
        before = [quarter.period for quarter in side.quarters]
        evidence = Evidence(
            policy,
            table,
            classes,
            folder,
            made.files,
            list(zip(before, side.classes, strict=True)),
            periods_apart(before, period, policy.period),
            people=people,
            earlier_people=list(side.people),
        )
        results = assess(evidence, {name: GATES[name] for name in COMPARISON}).results
        gates = [{"gate": one.gate, "value": one.value, "verdict": str(one.verdict)} for one in results]
        side.people.append(people)
        self._keep(side, period, source, classes, where, gates, ncp(classes, scale_of(table, policy)), begun)

    def _keep(
        self,
        side: Side,
        period: str,
        source: SourceTable,
        classes: EquivalenceClasses,
        where: IntArray,
        gates: Iterable[dict[str, Any]],
        penalty: float,
        begun: float,
    ) -> None:
        """Keep a quarter; `where` (n,) is the class of each record, -1 for those that are left out."""
        compared = [gate for gate in gates if gate["gate"] in COMPARISON]
        values = classes.sensitive_values[self._sensitive]
        bits = np.array([self._bit.setdefault(value, 1 << len(self._bit)) for value in values])
        present = ((classes.counts[self._sensitive] > 0) * bits).sum(axis=1)
        frame = source.frame[where >= 0].set_index(self._key)
        side.seen.append(
            Seen(
                len(side.seen),
                frame[[*self._policy.roles.quasi_identifiers]],
                pd.Series(present[where[where >= 0]], frame.index),
            )
        )
        side.classes.append(classes)
        followed, pinned, unmoved = pins(side.seen)
        side.quarters.append(
            Quarter(
                period=period,
                passes=all(gate["verdict"] == "pass" for gate in compared),
                rows=len(source.frame),
                classes=classes.n_classes,
                largest=int(classes.size.max()),
                ncp=penalty,
                suppressed=float((where < 0).mean()),
                failing=int(max(gate["value"] or 0 for gate in compared)),
                followed=followed,
                pinned=pinned,
                pinned_unmoved=unmoved,
                seconds=perf_counter() - begun,
            )
        )

    def _command(self, *words: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "cli", "--store", str(self._folder / "store"), *words],
            cwd=report.ROOT,
            env={**os.environ, "PREFECT_HOME": str(self._folder / "prefect")},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 4):
            raise RuntimeError(f"releasegate {words[0]} ended with {done.returncode}: {done.stderr[-500:]}")
        return json.loads(done.stdout) if "--json" in words else None


def pins(quarters: Sequence[Seen]) -> tuple[int, int, int]:
    """Count the people of the last quarter who are in an earlier one, and of these who are pinned.

    Pinned: one sensitive value is left by the class of now and that of some earlier quarter, or by the
    classes of all. The third count is of those whose quasi-identifiers moved no more than a birthday in
    between.
    """
    now, before = quarters[-1], quarters[:-1]
    own = now.bits.to_numpy()
    together = own.copy()
    followed, pair, pair_unmoved = (np.zeros(len(own), dtype=bool) for _ in range(3))
    unmoved = np.ones(len(own), dtype=bool)
    for then in before:
        place = then.bits.index.get_indexer(now.bits.index)
        there = place >= 0
        theirs = then.bits.to_numpy()[place]
        fits = _fits(now, then, place)
        one_left = there & (np.bitwise_count(own & theirs) == 1)
        pair |= one_left
        pair_unmoved |= one_left & fits
        together = np.where(there, together & theirs, together)
        followed |= there
        unmoved &= fits | ~there
    one_left = followed & (np.bitwise_count(together) == 1)
    return (
        int(followed.sum()),
        int((pair | one_left).sum()),
        int((pair_unmoved | (one_left & unmoved)).sum()),
    )


def _fits(now: Seen, then: Seen, place: IntArray) -> np.ndarray:
    """Tell who is the same but for age, and aged by at most a year a quarter."""
    earlier = then.quasi_identifiers.iloc[place]
    grown = now.quasi_identifiers["age"].to_numpy() - earlier["age"].to_numpy()
    same = (grown >= 0) & (grown <= now.number - then.number)
    for name in now.quasi_identifiers.columns.drop("age"):
        same &= now.quasi_identifiers[name].to_numpy() == earlier[name].to_numpy()
    return np.asarray(same)


def results(aware: Sequence[Quarter], blind: Sequence[Quarter], command: str) -> str:
    """Return the page: one table, the two ways side by side."""
    rows = [
        [
            a.period,
            f"{a.rows:,}",
            f"{a.followed:,}",
            f"{b.pinned:,} ({b.pinned_unmoved:,})",
            f"{a.pinned:,} ({a.pinned_unmoved:,})",
            f"{b.failing:,}",
            f"{a.failing:,}",
            f"{b.ncp:.4f}",
            f"{a.ncp:.4f}",
            f"{a.ncp / b.ncp:.2f}",
            f"{100 * a.suppressed:.2f}%",
            f"{b.largest:,}",
            f"{a.largest:,}",
            f"{a.seconds:.0f}",
        ]
        for a, b in zip(aware, blind, strict=True)
    ]
    header = [
        "quarter", "records", "followed", "pinned: blind", "aware", "failing: blind", "aware",
        "NCP: blind", "aware", "ratio", "left out", "largest class: blind", "aware", "seconds",
    ]  # fmt: skip
    passing = [sum(one.passes for one in side) for side in (aware, blind)]
    return f"""# Eight quarters of a panel survey, with and without the history

Argentina's household survey (INDEC, public use files), policy `examples/policies/eph.yaml`: k = 5, l = 2,
Mondrian, quasi-identifiers agglomeration, age, sex, marital status and education, sensitive health insurance.

*Followed* are people of whom an earlier quarter was published too. *Pinned* are those of them for whom one
value of the sensitive attribute is left by their classes of two quarters, or of all; in brackets those whose
quasi-identifiers moved by no more than a birthday. *Failing* are the classes that fail one of the gates
{", ".join(COMPARISON)}, of that which most fail. *Left out* is the share of records that wait
for a counterpart or that the repair suppressed; the blind side leaves out nobody. *Seconds* are those of the
whole command `releasegate run`.

{report.table(header, rows)}

The comparison passes for {passing[0]} of {len(aware)} aware quarters,
and for {passing[1]} of {len(blind)} blind ones.

{report.measured_with(command)}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the quarters and print, or write, the page."""
    parser = argparse.ArgumentParser(description="Publish a panel survey with and without its history.")
    parser.add_argument("--quarters", type=int, default=len(QUARTERS))
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/panel.md")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="releasegate-panel-") as folder:
        panel = Panel(Path(folder))
        for period in QUARTERS[: chosen.quarters]:
            panel.make(period)
            last = panel.aware.quarters[-1]
            print(f"{period}: {last.seconds:.0f} s, {last.pinned} of {last.followed} pinned", file=sys.stderr)
    page = results(panel.aware.quarters, panel.blind.quarters, "python -m benchmarks.panel")
    print(report.write("panel.md", page) if chosen.write else page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
