"""The curriculum scheme's tables of numbers, intervals and seconds, by hand and against the attacks."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from benchmarks import report
from benchmarks.papers import (
    s2,
    s2_figure6,
    s2_figure11,
    s2_figure14,
    s2_table4,
    s2_table5,
    s2_table6,
    s2_table7,
    s2_table8,
    s2_table9,
    s2_table10,
)
from benchmarks.papers.s2_numbers import ends, exposed, known_by_numbers, number_levels
from benchmarks.papers.trial import Trial, drawn, paper_policy, trial, with_method, with_privacy
from policy.model import ReleasePolicy
from tasks.risk.attacks.attackers import Knowledge
from tasks.risk.attacks.disclosure import fitting
from tasks.types import SourceTable

PAGES = (
    s2_table4,
    s2_table5,
    s2_table6,
    s2_table7,
    s2_table8,
    s2_table9,
    s2_table10,
    s2_figure6,
    s2_figure11,
    s2_figure14,
)
HARDLY_ANY_DIFFERENCE = 1e-9
FOUR_PEOPLE = pd.DataFrame(
    {
        "age": [20, 20, 32, 32],
        "hours-per-week": [40, 40, 40, 43],
        "race": ["White"] * 4,
        "sex": ["Male"] * 4,
        "native-country": ["United-States"] * 4,
        "income": ["<=50K", ">50K", "<=50K", "<=50K"],
    }
)


def adult() -> ReleasePolicy:
    return with_privacy(paper_policy("s2_adult.yaml", report.datasets() / "adult"), k=2)


def four_people() -> SourceTable:
    return SourceTable(FOUR_PEOPLE, "digest", "made up")


@pytest.mark.data
def test_numbers_without_noise_reveal_the_rows_that_share_them() -> None:
    policy = s2.with_epsilon(s2.with_sensitivity(adult(), HARDLY_ANY_DIFFERENCE), 1.0)
    with trial(four_people(), policy) as made:
        low, high = ends(made.seen, "age")
        assert low.tolist() == high.tolist() == [20, 20, 32, 32]
        assert number_levels(made.seen, "age").level.tolist() == [0, 0, 0, 0]
        # Two people of 20 have both incomes, and share a cluster; the last one's numbers are nobody else's.
        twins = known_by_numbers(made.seen, np.array([0, 1]))
        assert twins == {"sadr": 0.5, "right": 0.5, "cluster": 1.0, "row": 0.5}
        assert known_by_numbers(made.seen, np.array([3])) == {
            "sadr": 1.0,
            "right": 1.0,
            "cluster": 1.0,
            "row": 1.0,
        }


@pytest.mark.data
def test_an_interval_reveals_all_rows_that_it_holds_and_costs_its_level() -> None:
    with trial(four_people(), with_privacy(with_method(adult(), "mdav", "hierarchy"), k=4)) as made:
        # One class of four: ages of 17 to 36 are the third width of three, under the root.
        assert [end.tolist() for end in ends(made.seen, "age")] == [[17.0] * 4, [36.0] * 4]
        assert number_levels(made.seen, "age").share.tolist() == [0.75] * 4
        found = known_by_numbers(made.seen, np.arange(4))
        assert found == {"sadr": 0.75, "right": 0.75, "cluster": 1.0, "row": 0.25}
        lost = s2_table9.numbers_lost(made)
        # Intervals of 5, 10 and 20 hours, counted from 1, end at 40: 40 and 43 share the root alone.
        assert lost["iloss"] == 4 * 0.75 + 4 * 1
        assert (lost["a record"], lost["mean"], lost["root"]) == (1.75, 0.875, 0.5)


@pytest.mark.data
@pytest.mark.parametrize("method", ["curriculum", *s2.RIVALS])
@pytest.mark.by_day(1)
def test_numbers_alone_reveal_what_the_attack_with_that_knowledge_finds(method: str) -> None:
    data = s2.table("D", 0, quick=True)
    source = drawn(data.source, 150, 0)
    with trial(source, s2.policies(data.policy, method, 5, range(1))[0]) as made:
        people = np.concatenate(exposed(150, 0))
        target = made.evidence.target
        truth = target.source.take(people)
        guess = fitting(target, truth, truth, Knowledge((0, 1), ())).guesses["diabetesMed"]
        found = known_by_numbers(made.seen, people)
        assert found["sadr"] == pytest.approx(guess.share.mean())
        assert found["right"] == pytest.approx(guess.right.mean())
        # Numbers and categories together are the whole of ILoss.
        whole = made.figures("iloss")["iloss"] or 0.0
        categories = s2_table6.worth(made)["categories"] or 0.0
        assert s2_table9.numbers_lost(made)["iloss"] == pytest.approx(whole - categories * 3 * 150)


def test_five_parts_expose_a_twentieth_each() -> None:
    parts = exposed(200, 0)
    assert [len(part) for part in parts] == [2] * 5
    assert [part.min() // 40 for part in parts] == [part.max() // 40 for part in parts] == list(range(5))


def test_a_row_counts_in_the_bins_of_its_hours() -> None:
    # 40 hours; and 32 to 47: four numbers below 36, ten from 36 to 45, two above.
    found = s2_figure14.shares(np.array([40.0, 32.0]), np.array([40.0, 47.0]))
    assert dict(zip(s2_figure14.BINS, found.tolist(), strict=True)) == pytest.approx(
        {
            bin_: {(26, 35): 0.125, (36, 45): 0.5 + 0.3125, (46, 55): 0.0625}.get(bin_, 0.0)
            for bin_ in s2_figure14.BINS
        }
    )
    hours = [hour for first, last in s2_figure14.BINS for hour in range(first, last + 1)]
    assert hours == list(range(1, 100))


def test_an_interval_over_attackers_differs_from_one_over_runs() -> None:
    # Two attackers, two runs, two k: the attackers' means are 0.2 and 0.6, the runs' 0.35 and 0.45.
    by_k = [
        {"a": np.array([0.1, 0.2]), "b": np.array([0.5, 0.6])},
        {"a": np.array([0.2, 0.3]), "b": np.array([0.6, 0.7])},
    ]
    attackers, runs = (over(by_k, ("a", "b")) for over in (s2_table5.over_attackers, s2_table5.over_runs))
    assert attackers.tolist() == pytest.approx([0.2, 0.6])
    assert runs.tolist() == pytest.approx([0.35, 0.45])
    # Student's t of two values is 12.706: half the width is 12.706 * 0.2 and 12.706 * 0.05.
    assert s2_table5.ends(attackers) == ("-2.141 to 2.941", "5.082")
    assert s2_table5.ends(runs) == ("-0.235 to 1.035", "1.271")
    assert s2_table5.ends(np.array([0.5])) == ("", "")


def test_seconds_are_means_over_k_of_means_over_runs() -> None:
    assert s2_table7.mean([[1.0, 3.0], [5.0]]) == 3.5


@pytest.mark.data
def test_each_setting_generalizes_categories_as_far_as_its_name_says() -> None:
    other = FOUR_PEOPLE.assign(
        **{
            "native-country": ["United-States", "United-States", "Mexico", "Canada"],
            "age": 30,
            "income": ">50K",
        }
    )
    source = SourceTable(other, "digest", "made up")
    found = {}
    for setting in (s2_table8.SKIPPED, s2_table8.MINIMAL, s2_table8.MAXIMAL):
        policy = with_privacy(s2_table8.generalized(adult(), 0.3, setting), k=4)
        with trial(source, policy) as made:
            found[setting] = country(made)
    # All incomes are equal, so that no cluster is diverse: the scheme raises its categories too.
    assert found[s2_table8.SKIPPED] == found[s2_table8.MINIMAL] == "North America"
    assert found[s2_table8.MAXIMAL] == "whole"


def country(made: Trial) -> str:
    """Return of the one class how far its country was raised."""
    cells = made.seen.classes.sets["native-country"]
    (member,), (whole,) = cells.member, cells.whole
    if whole:
        return "whole"
    paths = {path[0]: path[1] for path in made.policy.roles.categorical["native-country"].hierarchy.paths}  # type: ignore[union-attr]
    held = {value for value, has in zip(cells.values, member, strict=True) if has}
    nodes = {paths[value] for value in held}
    assert held == {value for value, node in paths.items() if node in nodes}
    return ", ".join(sorted(nodes))


@pytest.mark.parametrize("module", [s2_table5, s2_table7, s2_table8, s2_table9], ids=lambda m: m.NAME)
def test_the_printed_figures_are_whole(module: ModuleType) -> None:
    assert set(module.PRINTED) == set(s2.DATASETS)
    for row in module.PRINTED.values():
        if isinstance(row, dict):
            assert list(row) == list(s2.EPSILONS)
        else:
            assert len(row) == len(s2.SCHEMES)


def test_more_epsilon_costs_less_and_reveals_more_in_the_paper() -> None:
    assert all(row[0.3] > row[0.5] for row in s2_table9.PRINTED.values())
    assert all(row[0.3] < row[0.5] for row in s2_table8.PRINTED.values())


def test_the_papers_own_scheme_has_the_widest_printed_interval_of_two_tables() -> None:
    widths = {key: [round(high - low, 2) for low, high in row] for key, row in s2_table5.PRINTED.items()}
    assert widths["A"][0] == 0.25 > max(widths["A"][1:]) == 0.13
    assert widths["C"][0] == 0.15 > max(widths["C"][1:]) == 0.1
    assert widths["D"] == [0.16, 0.15, 0.14, 0.14, 0.14, 0.16, 0.16]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.NAME)
def test_a_written_page_has_the_words_of_its_command(page: ModuleType) -> None:
    written = (report.RESULTS / f"{page.NAME}.md").read_text(encoding="utf-8")
    assert page.WORDS
    assert written.startswith(page.WORDS)
    assert f"with `python -m benchmarks.papers.{page.NAME}`" in written


@pytest.mark.data
@pytest.mark.nightly
def test_the_distribution_of_hours_has_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    text = s2_figure14.main(["--quick"])
    assert text in capsys.readouterr().out
    lines = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line] for line in lines[2:]]
    assert len(rows) == 1 + 2 * len(s2_figure14.EPSILONS) + 2
    assert all("" not in row for row in rows[1:])
    for row in rows:
        assert sum(float(share) for share in row[1:-1]) == pytest.approx(1, abs=0.01)
