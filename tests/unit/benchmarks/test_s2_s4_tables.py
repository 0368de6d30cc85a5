"""The tables of two papers run on few records with the rows that they promise, and add up."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest

from benchmarks import report
from benchmarks.papers import (
    s2,
    s2_figure6,
    s2_figure11,
    s2_table4,
    s2_table5,
    s2_table6,
    s2_table7,
    s2_table8,
    s2_table9,
    s2_table10,
    s4_efficiency,
    s4_experiments,
)
from benchmarks.papers.s2_attacks import ATTACKERS, GUESS, five_attacks
from benchmarks.papers.s4 import L_DIVERSITY, LHD, LKC, MODELS, Bench, Setting
from benchmarks.papers.trial import as_history, cell, trial, with_privacy
from tasks.risk.gates.models.classes import largest_shares, spreads
from tasks.utility.queries import Queries


def tables_in(text: str) -> list[list[list[str]]]:
    """Return the cells of each Markdown table, rules left out."""
    found = []
    for part in text.split("\n\n"):
        lines = [line for line in part.splitlines() if line.startswith("|")]
        if lines:
            found.append(
                [[c.strip() for c in line.strip("|").split(" | ")] for line in [lines[0], *lines[2:]]]
            )
    return found


def test_a_cell_is_a_mean_with_its_deviation_and_empty_where_a_run_had_no_figure() -> None:
    assert cell([1.0, 3.0], 2) == "2.00 ± 1.41"
    assert cell([1234.0], 0) == "1,234"
    assert cell([0.5, 0.5], 1) == "0.5"
    assert cell([1.0, None], 1) == cell([float("nan")], 1) == cell([], 1) == ""


def test_a_gain_is_in_percent_of_the_variant() -> None:
    assert s2_table10.gain(30, 40, more_is_better=False) == 25
    assert s2_table10.gain(50, 40, more_is_better=True) == 25
    assert s2_table10.gain(50, 40, more_is_better=False) == -25
    assert math.isnan(s2_table10.gain(1, 0, more_is_better=True))


def test_ranges_are_told_apart_by_their_width() -> None:
    low = np.array([[20.0], [20.0], [20.0], [20.0]])
    high = np.array([[20.0], [29.0], [30.0], [19.0]])
    asked = np.ones((4, 1), dtype=bool)
    queries = Queries(asked, low, high, np.zeros((4, 0), dtype=np.int64), either=False)
    assert s4_experiments.in_width(queries, 0, 1).tolist() == [0]
    assert s4_experiments.in_width(queries, 1, 10).tolist() == [1]
    assert s4_experiments.in_width(queries, 10, 20).tolist() == [2]


@pytest.mark.parametrize("printed", [s2_table4.PRINTED, s2_table6.PRINTED])
def test_the_printed_rows_are_whole_and_the_papers_own_scheme_is_best(
    printed: dict[str, tuple[float, ...]],
) -> None:
    assert set(printed) == set(s2.DATASETS)
    for row in printed.values():
        assert len(row) == len(s2.SCHEMES)
        assert row[0] == (min(row) if row[0] < 1 else max(row))


def test_every_printed_component_has_a_variant() -> None:
    assert [*s2_table10.VARIANTS] == [s2_table10.FULL, *s2_table10.PRINTED]
    assert all(sum(parts) == pytest.approx(100, abs=0.01) for parts in s2_table10.PARTS.values())


@pytest.mark.data
@pytest.mark.parametrize(
    ("module", "n_tables", "n_rows"),
    [
        (s2_table6, 1, 7 + 3),
        pytest.param(s2_table4, 2, 7 + 3, marks=pytest.mark.nightly),
        pytest.param(s2_figure11, 1, 4, marks=pytest.mark.nightly),
        pytest.param(s2_table10, 3, 6, marks=pytest.mark.nightly),
        pytest.param(s2_table5, 2, 7 + 4, marks=pytest.mark.nightly),
        pytest.param(s2_table7, 1, 7 + 4, marks=pytest.mark.nightly),
        pytest.param(s2_table8, 1, 2 + 2 * 2 * 3 + 2, marks=pytest.mark.nightly),
        pytest.param(s2_table9, 1, 2 + 2 * 2 + 2, marks=pytest.mark.nightly),
        pytest.param(s2_figure6, 1, 4, marks=pytest.mark.nightly),
    ],
    ids=lambda value: value.NAME if isinstance(value, ModuleType) else str(value),
)
def test_a_table_of_the_curriculum_scheme_has_every_row(
    module: ModuleType, n_tables: int, n_rows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    text = module.main(["--quick", "--datasets", "C"])
    assert text in capsys.readouterr().out
    tables = tables_in(text)
    assert [len(tables), len(tables[0]) - 1] == [n_tables, n_rows]
    ours = [row for table in tables for row in table[1:] if not row[0].startswith("paper")]
    assert all("" not in row[3:] for row in ours)


@pytest.mark.data
def test_five_attackers_are_averaged_over_those_who_have_the_figure() -> None:
    data = s2.table("C", 0, quick=True)
    with trial(data.source, with_privacy(data.policy, k=5)) as made:
        found = five_attacks(made)
    assert found["sadr"] == pytest.approx(np.mean([found[f"sadr {n}"] for n in GUESS]))
    assert found["row"] == pytest.approx(np.mean([found[f"row {n}"] for n in ATTACKERS]))
    assert {n for n in ATTACKERS if f"cells {n}" in found} == {"i", "iii", "iv"}
    assert 0.25 <= (found["majority"] or 0) <= (found["sadr"] or 0) <= 1


@pytest.mark.data
@pytest.mark.nightly
def test_the_experiments_of_lhd_have_every_row() -> None:
    text = s4_experiments.main(["--quick"])
    assert all(f"## Experiment {number}:" in text for number in range(1, 8))
    one, two, three, four, five, six, *seven, twice = tables_in(text)
    # Two settings of each sweep, of five, four and five kinds of run; growth at one setting, of three.
    assert [len(table) - 1 for table in seven] == [10, 8, 10, 3]
    assert [len(table) - 1 for table in (one, two, three, four, five)] == [6, 6, 6, 8, 5]
    assert len(six) - 1 == 6 + 6 + 5
    assert [row[0] for row in twice[1::4]] == ["lhd, again, blind", "l-diversity, again, blind"]
    assert all(row[6] == "0" for row in twice[1:] if row[0].endswith("repaired"))


@pytest.mark.data
@pytest.mark.parametrize("model", MODELS)
def test_each_model_of_the_lhd_paper_is_held_by_the_published_classes(model: str) -> None:
    bench = Bench(quick=True)
    at = Setting(l=3)
    policy = bench.policy_of(model, at)
    with trial(bench.source(numeric=False), policy) as made:
        classes = made.evidence.classes
        assert (classes.size >= 3).all()
        if model in (LHD, L_DIVERSITY):
            assert (spreads(classes, "capital-loss", policy) >= 3).all()
        if model == LKC:
            assert (largest_shares(classes, "capital-loss") <= 1 / 3 + 1e-9).all()
        history = as_history(policy, classes)
    with trial(bench.source(numeric=False), policy, history) as again:
        assert [name for name, _ in again.evidence.earlier] == ["r1"]
        assert again.seen.classes.n_classes == classes.n_classes


@pytest.mark.data
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.by_day(1)
def test_two_numbers_in_a_class_are_enough_for_l_2_however_near_they_are(model: str) -> None:
    bench = Bench(quick=True)
    sizes = []
    for numeric in (False, True):
        policy = bench.policy_of(model, Setting(numeric=numeric))
        with trial(bench.source(numeric=numeric), policy) as made:
            sizes.append(sorted(made.seen.classes.size.tolist()))
    as_texts, as_numbers = sizes
    assert as_numbers == as_texts


@pytest.mark.data
def test_a_share_that_no_class_can_have_is_told_as_impossible() -> None:
    bench = Bench(quick=True)
    assert bench.figures(LKC, Setting(n_sensitive=2)) is None
    assert s4_experiments.line("LKC", None)[1] == "impossible"


def test_the_written_experiments_of_lhd_have_the_words_of_their_command() -> None:
    written = (report.RESULTS / f"{s4_experiments.NAME}.md").read_text(encoding="utf-8")
    assert written.startswith(s4_experiments.WORDS)
    for words in (*s4_experiments.SEEN.values(), s4_efficiency.SEEN, s4_experiments.TWICE):
        assert words in written


def test_seconds_are_a_multiple_of_those_of_l_diversity() -> None:
    found = {
        L_DIVERSITY: [(0.5, 0.0), (1.5, 2.0)],
        s4_efficiency.COMPARED: [(12.0, 8.0)],
        LKC: None,
    }
    assert s4_efficiency.lines("l 2", found) == [
        ["l 2: l-diversity", "1.00 ± 0.71", "1", "1 ± 1"],
        ["l 2: lhd, beside a first release", "12.00", "12", "8"],
        ["l 2: LKC", "impossible", "", ""],
    ]


@pytest.mark.data
def test_every_set_of_quasi_identifiers_is_a_table_of_its_own() -> None:
    policy = Bench(quick=True).policy_of(LKC, Setting(n_quasi=3))
    sets = [list(subset.roles.quasi_identifiers) for subset in s4_efficiency.subsets_of(policy)]
    country, sex, marital = policy.roles.quasi_identifiers
    assert sets[:3] == [[country], [sex], [marital]]
    assert sets[3:] == [[country, sex], [country, marital], [sex, marital], [country, sex, marital]]


@pytest.mark.data
@pytest.mark.parametrize("kind", [*s4_efficiency.KINDS, s4_efficiency.GROWN])
def test_every_kind_of_run_has_its_seconds(kind: str) -> None:
    runs = s4_efficiency.runs_of(Bench(quick=True), kind, Setting(n_quasi=1))
    assert runs is not None
    ((cpu, left_out),) = runs
    assert cpu > 0
    # Beside another release some records may be left out; the others leave out none here.
    assert left_out == 0 or kind in (s4_efficiency.COMPARED, s4_efficiency.GROWN)


@pytest.mark.data
def test_seconds_of_a_model_that_the_table_cannot_hold_are_none() -> None:
    assert s4_efficiency.runs_of(Bench(quick=True), LKC, Setting(n_sensitive=2)) is None
