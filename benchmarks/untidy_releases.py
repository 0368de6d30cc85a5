"""From untidy files to the third release: ten series, drafted and released by the commands, and then checked.

    python -m benchmarks.untidy_releases FOLDER [--series NAME ...] [--rows N] [--write]

Each series is drafted from its first tables, and every period is checked, run and approved, in a store of
its own in FOLDER, which is made. The policy is the draft as it is written, but for what the draft says in
words that somebody has to decide. `benchmarks.published_check` then compares the published tables with the
source.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from benchmarks import report
from benchmarks.child import Ended, end_of
from benchmarks.published_check import (
    Published,
    check_release,
    pinned_by_subtraction,
    source_table,
    values_of,
)
from benchmarks.untidy_series.all_series import SERIES
from benchmarks.untidy_series.series import PeriodTable, Series
from policy.errors import AwaitingApproval

SEED = 20_261
REASON = "roles and limits agreed with the data owner"
PROPOSED = re.compile(r"^  # (values:$|  .*: \{\".* # )", re.MULTILINE)
# What a draft says has to be decided, the gates' setting that follows this advice, and how the page calls it.
ADVICE = (
    (
        "`gates.worlds.unfollowed: accept` ",
        "worlds: {unfollowed: accept}",
        "each release is assessed by itself",
    ),
    ("`gates.person.compare: false`", "person: {compare: false}", "nobody is followed"),
)
REFUSED = "Do not accept that."
INDEPENDENT = "population: independent"
LINKING = re.compile(r"^#   worlds: (\S+) tells what \1 was in an earlier release", re.MULTILINE)
HEADER = ("series", "traps", "decided", "periods", "checked", "draft", "runs")


@dataclass
class Told:
    """What became of a series: the state of each period, CPU seconds, and what the check of it found."""

    series: Series
    decided: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    draft_seconds: float = 0.0
    run_seconds: list[float] = field(default_factory=list)
    counted: list[tuple[int, int]] = field(default_factory=list)  # by the runs: rows in, and published
    published: list[Published] = field(default_factory=list)
    pinned: int = 0

    @property
    def problems(self) -> list[str]:
        """What the check found wrong, in words."""
        found = [f"{one.period}: {problem}" for one in self.published for problem in one.problems]
        sizes = [(one.rows + one.left_out, one.rows) for one in self.published]
        found += ["other numbers of rows than the runs said"] if sizes != self.counted else []
        return [*found, *([f"{self.pinned} classes tell by subtraction"] if self.pinned else [])]

    def cells(self) -> list[str]:
        """Return a row of the results."""
        runs = ", ".join(f"{one:.1f}" for one in self.run_seconds)
        sizes = ", ".join(f"{one.rows:,} + {one.left_out}" for one in self.published)
        least = min((one.k for one in self.published), default=0)
        right = "; ".join(self.problems) or f"right: rows {sizes}; k {least}"
        decided = "; ".join(self.decided) or "nothing"
        states = ", ".join(self.states)
        return [
            self.series.name,
            self.series.traps,
            decided,
            states,
            right,
            f"{self.draft_seconds:.1f}",
            runs,
        ]


def decided(draft: str, series: Series) -> tuple[str, list[str]]:
    """Return a draft in which somebody who knows the series did what it says is to be decided, and what."""
    policy, done = PROPOSED.subn(r"  \1", draft)
    told = ["values that a spreadsheet changed"] if done else []
    document = yaml.safe_load(policy)
    for name, spellings in (document["source"].get("values") or {}).items():
        policy = _respelt(policy, document["roles"]["quasi_identifiers"].get(name, {}), name, spellings)
    for words, setting, called in ADVICE:
        if words in draft:
            policy = policy.replace("\ngates:\n", f"\ngates:\n  {setting}\n")
            told.append(called)
    if REFUSED in draft:
        told.append("no second release without a key")
    linking = LINKING.search(draft)
    if series.are_others and INDEPENDENT in draft:
        policy = policy.replace("\nsource:\n", f"\n{INDEPENDENT}\nsource:\n")
        told.append("the people are others each time")
    if linking and series.sensitive:
        policy = _instead(policy, linking[1], series.sensitive)
        told.append(f"{linking[1]} left out, {series.sensitive} sensitive")
    return policy, told


def _instead(policy: str, left_out: str, sensitive: str) -> str:
    """Return a policy that leaves one sensitive column out, and has a quasi-identifier in its place."""
    document = yaml.safe_load(policy)
    roles = document["roles"]
    del roles["sensitive"][left_out], roles["quasi_identifiers"][sensitive]
    roles["sensitive"][sensitive] = {"stability": "stable"}
    roles["dropped"] = [*roles["dropped"], left_out]
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _respelt(policy: str, role: dict[str, Any], name: str, spellings: dict[str, list[str]]) -> str:
    """Correct the values of a column that is read by other spellings."""
    right = {other: value for value, others in spellings.items() for other in others}
    values = list(dict.fromkeys(right.get(value, value) for value in role.get("values", [])))
    if not set(right) & set(role.get("values", [])):
        return policy
    list_of = re.compile(rf"(\n    {re.escape(name)}:\n(?:      .*\n)*?      values: )\[[^]]*\]")
    return list_of.sub(lambda found: found[1] + json.dumps(values), policy)


def released(series: Series, folder: Path, rows: int, seed: int = SEED) -> Told:
    """Draft a series from its files, release every period, and check what was published."""
    tables = series.write(folder, rows, seed)
    told = Told(series)
    store, key = folder / "store", folder / "ada.pem"

    def say(*words: str) -> Ended:
        ended = end_of([sys.executable, "-m", "cli", "--store", str(store), *words])
        print(series.name, words[0], ended.exit_code, f"{ended.cost.cpu:.1f}", file=sys.stderr, flush=True)
        return ended

    drafted = say("draft", *(str(file) for _, file in tables[: series.drafted]))
    told.draft_seconds = drafted.cost.cpu
    if drafted.exit_code:
        told.states.append(f"no draft: {_said(drafted)}")
        return told
    text, told.decided = decided(drafted.printed, series)
    policy_file = folder / f"{series.name}.yaml"
    policy_file.write_text(text, encoding="utf-8")
    say("init")
    say("people", "add", "Ada Archer", "--role", "approver", "--make-key", str(key))
    policy = yaml.load(text, yaml.BaseLoader)  # noqa: S506 -- it makes texts alone
    of_periods: list[tuple[PeriodTable, Path]] = []
    for table, file in tables:
        given = ("--period", table.period)
        if "{period}" not in policy["source"].get("path", ""):
            given += ("--input", str(file))
        checked = say("check", str(policy_file), *given)
        if checked.exit_code:
            told.states.append(f"refused by check: {_said(checked)}")
            break
        run = say("run", str(policy_file), *given, "--json")
        told.run_seconds.append(run.cost.cpu)
        if run.exit_code != AwaitingApproval.exit_code:
            told.states.append(_not_released(run))
            break
        made = json.loads(run.printed)
        told.counted.append((made["rows"], made["published_rows"]))
        approved = say(
            "approve", made["candidate"], "--by", "Ada Archer", "--reason", REASON, "--key", str(key)
        )
        told.states.append("published" if not approved.exit_code else _said(approved))
        of_periods += [(table, one) for one in (store / "releases").glob(f"*/*-{table.period}-r1")]
    _check(told, text, of_periods)
    return told


def _check(told: Told, policy_text: str, of_periods: Sequence[tuple[PeriodTable, Path]]) -> None:
    policy = yaml.safe_load(policy_text)
    sources = [source_table(policy, one.table.clean, one.table.written) for one, _ in of_periods]
    if not sources:
        return
    values = values_of(policy, sources)
    for source, (table, folder) in zip(sources, of_periods, strict=True):
        told.published.append(check_release(folder, policy, source, table.people, table.period, values))
    told.pinned = pinned_by_subtraction(policy, told.published)


def _said(ended: Ended) -> str:
    """Return what a command said, without the paths of files and its steps."""
    lines = re.sub(r"\S*/", "", ended.errors + ended.printed).splitlines()
    return " ".join(line.strip() for line in lines if not line.endswith("..."))[:300]


def _not_released(run: Ended) -> str:
    try:
        gates = json.loads(run.printed)["gates"]
    except ValueError:
        return f"refused: {_said(run)}"
    return "blocked by " + ", ".join(one["gate"] for one in gates if one["verdict"] != "pass")


WORDS = """# From untidy files to the third release

Ten series of made-up people, three periods each, with what makes tables hard to read and to release. Each is
drafted from its first two tables, and the draft is used as it is written, but for what it says in words that
somebody has to decide (*decided*). Then `check`, `run` and `approve` for every period, in a fresh store.

*checked* is another program's comparison of the published tables with the source (`published_check.py`, with
pandas and DuckDB alone): every published row is one of the source's, inside its class; rows published and
left out are those of the source; k, the distinct values (or the range) and the share of the commonest in
every class are as the policy says; and of no two nested classes of two releases does subtraction tell the one
value of fewer than k newcomers or leavers. It shows the rows that are published + left out, and the smallest
class, in people. The columns *draft* and *runs* are CPU seconds of these commands, imports included.

*register* has no key, and nearly all of its rows come again: the draft says that a second release would tell
who came and who left, and is not to be accepted. It is run all the same, and blocked. Of *students*, 40% are
others each time. By the third period too few newcomers have the values that signatures lack, so that more of
those who stay are left out: a draft has more room for that where many leave."""


def main(arguments: Sequence[str] | None = None) -> str:
    """Release the series, and return the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.untidy_releases", description=__doc__)
    parser.add_argument("folder", type=Path, help="where files and stores go; it is made, and is new")
    parser.add_argument("--series", nargs="+", choices=[*SERIES], default=[*SERIES])
    parser.add_argument("--rows", type=int, help="rows of each period, in place of each series' own")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/untidy.md")
    chosen = parser.parse_args(arguments)
    chosen.folder.mkdir(parents=True)
    found = [
        released(SERIES[name], chosen.folder.resolve() / name, chosen.rows or SERIES[name].rows)
        for name in chosen.series
    ]
    command = report.measured_with("python -m benchmarks.untidy_releases FOLDER --write")
    page = "\n\n".join([WORDS, command, report.table(HEADER, [one.cells() for one in found])])
    print(page)
    if chosen.write:
        report.write("untidy.md", page)
    return page


if __name__ == "__main__":
    main()
