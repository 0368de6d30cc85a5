"""The papers' tables: the printed figures are whole, and small runs have the rows that are promised."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from benchmarks import report
from benchmarks.papers import runs, s0, s0_table2, s0_table3, s0_table4, s0_table5, s1_adult, s3_adult
from benchmarks.papers.s0_printed import DATASETS, PRINTED, PRINTED_LINKS, PUBLISHED, RERUN, THEIRS, theirs
from benchmarks.papers.value_sets import ncp_of_sets
from policy.load import load_policy
from tasks.methods.registry import bound_method
from tasks.risk.attacks.linkage import Spread
from tasks.types import SourceTable
from tests.support.small import prepared, small_policy

TABLES = (s0_table2, s0_table3, s0_table4, s0_table5, s1_adult, s3_adult)
FEW_RECORDS = pd.DataFrame(
    {
        "age": [20, 20, 30, 30],
        "education-num": [9, 9, 9, 9],
        "hours-per-week": [40, 40, 40, 40],
        "capital-gain": [0, 0, 0, 0],
        "capital-loss": [0, 0, 0, 0],
        "marital-status": ["Divorced", "Divorced", "Widowed", "Widowed"],
        "race": ["White"] * 4,
        "sex": ["Female", "Female", "Female", "Male"],
        "income": ["<=50K", ">50K", "<=50K", ">50K"],
    }
)


def cells(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in [lines[0], *lines[2:]]]


def tables_in(text: str) -> list[list[list[str]]]:
    return [cells(part) for part in text.split("\n\n") if part.startswith("|")]


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_the_printed_rows_are_whole(name: str) -> None:
    methods = ["MDAV", "APMCA", "AE-LRHMA"]
    assert [row.method for row in PRINTED[name]][:3] == list(PRINTED_LINKS[name]) == methods
    assert len(THEIRS[name]) == 4
    # MDAV and APMCA are printed in bits: in nats no entropy could be above that of 14 or 12 equal values.
    assert {row.method: row.base for row in PRINTED[name][:3]} == {"MDAV": "2", "APMCA": "2", "AE-LRHMA": "e"}
    assert {len(row.cells()) for row in PRINTED[name]} == {9}


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_each_of_their_releases_says_in_which_measure_its_ncp_is(name: str) -> None:
    for each in THEIRS[name]:
        assert each.what.startswith((f"{RERUN}: ", f"{PUBLISHED}: "))
        assert (each.measure == "intervals") is each.what.startswith(PUBLISHED)
        intervals, sets = each.ncps()
        assert [intervals, sets][each.measure == "sets"] == f"{each.ncp:g}"
        assert "" in (intervals, sets)
    assert theirs(name, PUBLISHED).err == float(PRINTED_LINKS[name]["AE-LRHMA"][1][:6])
    assert theirs(name, PUBLISHED).classes == PRINTED[name][2].classes


def test_numbers_as_sets_cost_their_share_of_the_values() -> None:
    # Three ages: {1, 2} of three records costs 2/3, {9} of one nothing, and neither does one city in a class.
    rows = [
        (1, "Hull", "flu"),
        (2, "Hull", "flu"),
        (9, "York", "flu"),
        (1, "Hull", "flu"),
        (9, "Hull", "flu"),
    ]
    table = prepared(small_policy(), rows)
    classes = np.array([0, 0, 1, 0, -1])
    assert ncp_of_sets(table, classes) == pytest.approx((2 / 3 * 3 / 4 + 0) / 2)
    assert ncp_of_sets(table, np.zeros(5, dtype=np.int64)) == 1.0


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.NAME)
def test_a_written_result_has_the_words_of_its_command(table: ModuleType) -> None:
    written = (report.RESULTS / f"{table.NAME}.md").read_text(encoding="utf-8")
    assert written.startswith(table.WORDS.strip())
    assert f"with `python -m benchmarks.papers.{table.NAME}`" in written


@pytest.mark.parametrize("dataset", sorted(DATASETS))
def test_every_variant_is_a_policy(dataset: str) -> None:
    policy = load_policy(runs.POLICIES / f"s0_{dataset}.yaml")
    for variant in {v.name: v for v in (*s0.LINKED, *s0_table3.VARIANTS)}.values():
        asked = variant.of(policy, 3)
        method = bound_method(asked)
        assert method.seed == 3
        encoded = variant.name.startswith("ae-lrhma") and "without the autoencoder" not in variant.name
        assert (method.parts[0] == "autoencoder") is encoded
        assert (asked.privacy.e == 1) is any(word in variant.name for word in ("alone", "without diversity"))
        assert method.max_group_size == 3 * asked.privacy.k


def test_a_variant_adds_to_the_policy_or_replaces_its_method() -> None:
    policy = load_policy(runs.POLICIES / "s0_adult.yaml")
    added = runs.Variant("", parameters={"leaf_size": 24}, privacy={"k": 9}).of(policy, 1)
    assert added.method.parameters == {**policy.method.parameters, "leaf_size": 24}
    assert (added.privacy.k, added.privacy.e, added.seed) == (9, 3, 1)
    assert runs.Variant("", {"name": "mdav"}).of(policy, 1).method.parameters == {}
    assert list(runs.Variant("", drawn=True).seeds(3)) == [0, 1, 2]
    assert list(runs.Variant("").seeds(3)) == [0]


def test_several_seeds_are_a_mean_and_a_single_run_shows_its_draws() -> None:
    risk = (Spread(0.1, 0.01),) * 3
    run = s0.Figures(9, 8.0, 9, 0.5, np.log(2), 1.0, 1.0, 0.1, 0.2, risk, risk, (0, 1, 2, 3))
    other = replace(run, ncp=0.3, err=(Spread(0.3, 0.5),) * 3)
    rows = [(s0.AE, [run, other]), (s0.MONDRIAN, [run])]
    classes = cells(s0.table_of_classes("bank", ("MDAV",), rows))
    assert [row[0] for row in classes[1:3]] == [
        "paper: MDAV",
        "its program, rerun: MDAV, its index mistake mended",
    ]
    assert classes[0][-3:] == ["NCP as printed", "NCP, intervals", "NCP, value sets"]
    assert [row[-3:] for row in classes[1:3]] == [["0.4516", "", ""], ["", "", "0.051"]]
    assert [row[-2:] for row in classes[3:]] == [["0.2000 ± 0.1414", "0.2000 ± 0.0000"], ["0.1000", "0.2000"]]
    assert classes[3][6] == "1.000"
    assert cells(s0.table_of_broken(rows))[1][1:] == ["2", "18", "0", "2", "4", "6"]
    links = cells(s0.table_of_links("bank", rows))
    assert links[-2][1] == "0.2000 ± 0.1414 / 0.1000 ± 0.0000"
    assert links[-1][1] == "0.1000 ± 0.0100 / 0.1000 ± 0.0100"


def test_a_sample_is_in_the_order_of_the_table_and_equal_for_a_seed() -> None:
    source = SourceTable(pd.DataFrame({"a": np.arange(50)}), "digest", "origin")
    first, again = (runs.sampled(source, 10, 1).frame["a"].tolist() for _ in range(2))
    assert first == again == sorted(set(first))
    assert len(first) == 10
    assert runs.sampled(source, 99, 1).frame["a"].tolist() == list(range(50))


def test_what_records_moved_by_hand() -> None:
    source = SourceTable(FEW_RECORDS, "digest", "made up")
    policy = s1_adult.VARIANTS[0].with_k(2).of(load_policy(runs.POLICIES / "s1_adult.yaml"), 0)
    with runs.carried_out(source, policy) as done:
        told = {name: (true.tolist(), told.tolist()) for name, true, told in runs.told_values(done.released)}
        assert done.made.groups.n_groups == 2
        assert told["age"] == ([20, 20, 30, 30], [20, 20, 30, 30])
        true, published = told["sex"]
        # The last two records are one group of one woman and one man: one of them gets the other's value.
        assert sum(a != b for a, b in zip(true, published, strict=True)) == 1
        # To the mean of all: age 4 * 0.25, marital status 4 * (1 - 1/2) / 2, sex (3 / 4 + 3 / 4) / 2.
        assert s1_adult.moved_share(done) == pytest.approx(1 / (1 + 1 + 0.75))


@pytest.mark.data
@pytest.mark.parametrize(
    "table",
    [
        pytest.param(s0_table2, marks=pytest.mark.integration),
        pytest.param(s0_table3, marks=pytest.mark.nightly),
    ],
    ids=["2", "3"],
)
def test_a_quick_table_of_classes_has_every_row_and_keeps_the_model(
    table: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    text = table.main(["--quick"])
    assert "## Bank sample" in capsys.readouterr().out
    classes, broken = tables_in(text)
    ours = len(table.VARIANTS)
    assert {len(row) for row in classes} == {12}
    assert [row[0] for row in classes[-ours:]] == [f"ours: {v.name}" for v in table.VARIANTS]
    assert {f"paper: {name}" for name in table.PRINTED} <= {row[0] for row in classes}
    assert [row[0] for row in broken[1:]] == [v.name for v in table.VARIANTS]
    for row in broken[1:]:
        assert row[3] == "0", "a class under k"
        if "without diversity" not in row[0] and "alone" not in row[0]:
            assert row[4:6] == ["0", "0"], "a class that breaks e or p_max"
    assert all(0 < float(row[-1]) < 1 for row in classes[-ours:])


@pytest.mark.data
@pytest.mark.nightly
@pytest.mark.parametrize("table", [s0_table4, s0_table5], ids=["4", "5"])
def test_a_quick_table_of_links_has_every_row(table: ModuleType) -> None:
    (links,) = tables_in(table.main(["--quick"]))
    assert len(links) == 1 + 3 + 4 + len(s0.LINKED)
    assert {len(row) for row in links} == {7}
    found = {
        row[0]: [[float(x.split(" ")[0]) for x in c.split(" / ")] for c in row[1:4]] for row in links[-8:]
    }
    assert all(risk <= 1 / 8 + 1e-9 for row in found.values() for risk, _ in row)
    assert all(unique == 1 for _, unique in found["ours: mondrian"])


@pytest.mark.data
@pytest.mark.nightly
def test_the_manifold_methods_are_laid_beside_mdav() -> None:
    (table,) = tables_in(s1_adult.main(["--quick"]))
    head, rows = table[0], [dict(zip(table[0], row, strict=True)) for row in table[1:]]
    assert [(row[head[0]], row["k"]) for row in rows] == [
        (v.name, str(k)) for v in s1_adult.VARIANTS for k in (5, 10)
    ]
    for row in rows:
        assert int(row["smallest"]) >= int(row["k"])
        assert 0 < float(row["SSE"]) < 1
        assert float(row["ERR"]) <= 1 / int(row["k"]) + 1e-9
    assert float(rows[0]["SSE"]) < float(rows[1]["SSE"])


@pytest.mark.data
@pytest.mark.nightly
def test_only_flattened_groups_keep_k_and_a_shuffle_keeps_the_distances() -> None:
    moves, marginals, rows = tables_in(s3_adult.main(["--quick"]))
    names = [v.name for v in s3_adult.variants(0.25)]
    assert [row[0] for row in moves[1:]] == names[:3]
    assert len({tuple(row[1:]) for row in moves[1:]}) == 1, (
        "which values lie outside does not hang on the move"
    )
    assert int(moves[1][-1]) == sum(map(int, moves[1][3:-1]))
    assert [row[0] for row in marginals[1:]] == names
    for row in (dict(zip(rows[0], each, strict=True)) for each in rows[1:]):
        flattened = "flatten" in row[""]
        assert (int(row["k"]) >= 8) is flattened
        assert ("k" in row["refused by"].split(", ")) is not flattened
        assert flattened or float(row["KL infinite"]) == 0
