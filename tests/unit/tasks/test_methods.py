"""The named methods as a whole: what a policy may ask, what every class holds, and the edges."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from policy.errors import PolicyError
from policy.model import Privacy, ReleasePolicy
from policy.recoding import Form
from release_store.records import Verdict
from tasks.composition import Fragment, decide, labels_problem
from tasks.methods.registry import bound_method, methods, parameters_of
from tasks.partitioning.constraints import constraints_of, overall_counts
from tasks.risk.registry import GATES, assess
from tasks.types import no_progress
from tests.support.small import (
    MIXED,
    TWO_SENSITIVE,
    anonymized,
    groups_of,
    mixed_rows,
    prepared,
    privacies,
    published,
    small_policy,
)

QUICK = {
    "mondrian": {"name": "mondrian"},
    "original": {"name": "ae-lrhma", "representation": "original"},
    "by NCP": {
        "name": "ae-overlapping",
        "representation": "original",
        "parameters": {"leaf_size": 9, "sweeps": 1},
    },
    "widened": {
        "name": "ae-low-umr",
        "representation": "original",
        "parameters": {"leaf_size": 9, "sweeps": 1},
    },
    "mdav": {"name": "mdav"},
    "ke-mdav": {"name": "ke-mdav"},
    "apmca": {"name": "apmca"},
    "m-mdav": {"name": "m-mdav", "recoding": "median"},
    "m-isomdav": {"name": "m-isomdav", "recoding": "median"},
    "m-llemdav": {"name": "m-llemdav", "recoding": "median"},
    "curriculum": {"name": "curriculum", "recoding": "adaptive"},
    "vq": {"name": "vq", "recoding": "quantized"},
    "lhd": {"name": "lhd", "recoding": "hierarchy"},
    "full-domain": {"name": "full-domain", "recoding": "full-domain"},
    "centroid": {"name": "mdav", "recoding": "centroid"},
    "features": {
        "name": "ae-lrhma",
        "representation": "original",
        "parameters": {"local_metric": "features", "leaf_size": 5},
    },
    "rank": {
        "name": "ae-lrhma",
        "representation": "original",
        "parameters": {"local_metric": "rank", "leaf_size": 9},
    },
}
AUTOENCODER = {"name": "ae-lrhma", "parameters": {"epochs": 1, "leaf_size": 12}}
FIVE_GATES = {name: GATES[name] for name in ("files", "truth", "k", "p_max", "h_min")} | {"e": GATES["e"]}


# What a policy may ask


def test_every_method_has_defaults_and_says_where_it_is_from() -> None:
    for name, method in methods().items():
        bound = bound_method(small_policy(method={"name": name, "recoding": method.recoding}))
        assert (bound.name, bound.max_group_size) == (name, 6)
        assert method.summary
        assert method.guarantees
        assert method.source


def test_defaults_are_those_of_the_paper() -> None:
    chosen = parameters_of(methods()["ae-lrhma"])()
    defaults = chosen.model_dump()
    assert {name: defaults[name] for name in ("hidden", "latent_dimensions", "epochs", "batch")} == {
        "hidden": 32,
        "latent_dimensions": 3,
        "epochs": 50,
        "batch": 128,
    }
    assert defaults["learning_rate"] == 1e-3
    assert defaults["variance_threshold"] == 0.05
    assert defaults["train_sample"] == 100_000
    assert bound_method(small_policy(method={"name": "ae-lrhma"}, privacy={"k": 8})).max_group_size == 24
    assert (Privacy().k, Privacy().e, Privacy().p_max, Privacy().h_min) == (8, 3, 0.8, 0)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ({"name": "mondrain"}, ["method.name", "did you mean 'mondrian'", "Known methods: "]),
        (
            {"name": "ae-lrhma", "parameters": {"epoch": 3}},
            ["method.parameters.epoch", "did you mean 'epochs'", "Allowed here"],
        ),
        ({"name": "ae-lrhma", "parameters": {"epochs": 0}}, ["method.parameters.epochs", "greater than"]),
        ({"name": "ae-lrhma", "parameters": {"local_metric": "rang"}}, ["local_metric", "'latent'"]),
        ({"name": "ae-lrhma", "parameters": {"quantiles": [0.5, 1]}}, ["quantiles.1", "less than 1"]),
        ({"name": "mondrian", "parameters": {"epochs": 5}}, ["unknown parameter of mondrian"]),
        (
            {"name": "mondrian", "parameters": {"max_group_size": 3}},
            ["under 2k - 1 for privacy.k", "give at least"],
        ),
    ],
)
def test_a_wrong_method_or_parameter_is_named_with_its_mend(method: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(PolicyError) as caught:
        bound_method(small_policy(method=method, privacy={"k": 4}), "policy.yaml")
    assert str(caught.value).startswith("policy.yaml: ")
    assert all(word in str(caught.value) for word in words)


# What every class holds


@pytest.mark.integration
@pytest.mark.parametrize("method", QUICK.values(), ids=QUICK)
@pytest.mark.by_day(6)
def test_every_group_satisfies_the_model_if_the_table_does(method: dict[str, Any]) -> None:
    @given(mixed_rows(1, 30), privacies())
    def holds(rows: list[Any], privacy: Privacy) -> None:
        policy = small_policy(MIXED, TWO_SENSITIVE, method=method, privacy=privacy.model_dump())
        table = prepared(policy, rows)
        limits = constraints_of(table, policy)
        labels = anonymized(table, policy).labels
        groups = [group for group in groups_of(labels) if labels[group[0]] >= 0]
        if method["name"] not in ("lhd", "full-domain"):
            assert sorted(i for group in groups for i in group) == list(range(len(rows)))
        if limits.group_holds(np.flatnonzero(labels >= 0)):
            assert all(limits.group_holds(np.array(group)) for group in groups)
        else:
            assert len(groups) <= 1

    holds()


ILLNESSES: list[dict[str, Any]] = [
    {},
    {"hierarchy": {"infections": ["flu", "hiv"], "others": ["cough", "|*"]}},
    {"values": ["cough", "flu", "hiv", "|*"], "ordered": True},
]
MODELS = {
    "distinct_l": st.integers(2, 3).map(lambda least: {"min": least}),
    "entropy_l": st.floats(1.1, 3).map(lambda least: {"min": least}),
    "recursive_cl": st.tuples(st.floats(0.5, 3), st.integers(2, 3)).map(lambda cl: {"c": cl[0], "l": cl[1]}),
    "t_closeness": st.floats(0.05, 0.6).map(lambda most: {"max": most}),
    "alpha_k": st.tuples(st.floats(0.3, 0.9), st.integers(2, 5)).map(lambda a: {"alpha": a[0], "k": a[1]}),
    "beta_likeness": st.floats(0.1, 4).map(lambda most: {"max": most}),
    "delta_disclosure": st.floats(0.2, 3).map(lambda most: {"max": most}),
}


@pytest.mark.integration
@pytest.mark.parametrize("method", QUICK.values(), ids=QUICK)
@pytest.mark.by_day(6)
def test_every_published_class_holds_the_models_if_the_table_does(method: dict[str, Any]) -> None:
    @given(mixed_rows(2, 30), st.fixed_dictionaries({}, optional=MODELS), st.sampled_from(ILLNESSES))
    def holds(rows: list[Any], models: dict[str, Any], illness: dict[str, Any]) -> None:
        policy = small_policy(
            MIXED,
            {**TWO_SENSITIVE, "illness": {"stability": "stable", **illness}},
            method=method,
            privacy={"k": 2, "e": 1, "p_max": 1},
            gates={"models": models},
        )
        table = prepared(policy, rows)
        with tempfile.TemporaryDirectory() as folder:
            made = published(policy, table, anonymized(table, policy), Path(folder) / "c")
            report = assess(made.evidence(), {name: GATES[name] for name in ("k", *models)})
        kept = np.sort(made.rows.records)
        if len(kept) and constraints_of(table, policy).among(kept).group_holds(kept):
            assert report.passed, report.failing

    holds()


KNOWN = {
    "km": st.tuples(st.integers(2, 8), st.integers(1, 2)).map(lambda km: {"k": km[0], "m": km[1]}),
    "lkc": st.tuples(st.integers(1, 2), st.integers(2, 8), st.sampled_from([0.4, 0.5, 0.75])).map(
        lambda lkc: {"l": lkc[0], "k": lkc[1], "c": lkc[2]}
    ),
}
CATEGORIES = {name: qi for name, qi in MIXED.items() if qi["type"] == "categorical"}


@pytest.mark.integration
@pytest.mark.parametrize("method", QUICK.values(), ids=QUICK)
@pytest.mark.by_day(6)
def test_what_somebody_knows_in_part_matches_enough_rows_or_all_are_one_group(method: dict[str, Any]) -> None:
    """The noised numbers of `adaptive` are no cells: there, only categories are quasi-identifiers."""
    noised = method.get("recoding") == "adaptive"
    quasi_identifiers = CATEGORIES if noised else MIXED

    asked = st.fixed_dictionaries({}, optional=KNOWN).filter(bool)

    @given(mixed_rows(2, 30), asked, st.sampled_from([{}, {"t_closeness": {"max": 0.3}}]))
    def holds(rows: list[Any], models: dict[str, Any], others: dict[str, Any]) -> None:
        policy = small_policy(
            quasi_identifiers,
            TWO_SENSITIVE,
            method=method,
            privacy={"k": 2, "e": 1, "p_max": 1},
            gates={"models": models | others},
        )
        table = prepared(policy, [row[2:] for row in rows] if noised else rows)
        labels = anonymized(table, policy)
        with tempfile.TemporaryDirectory() as folder:
            made = published(policy, table, labels, Path(folder) / "c")
            report = assess(made.evidence(), {name: GATES[name] for name in ("k", *models, *others)})
        assert report.passed or labels.n_groups <= 1, report.failing

    holds()


@pytest.mark.integration
@pytest.mark.parametrize("method", QUICK.values(), ids=QUICK)
@pytest.mark.by_day(6)
def test_what_a_method_guarantees_is_counted_on_the_rows_that_it_publishes(method: dict[str, Any]) -> None:
    """By pandas alone: rows with equal cells, but for noised numbers, are a class."""

    @given(mixed_rows(4, 26), privacies())
    def holds(rows: list[Any], privacy: Privacy) -> None:
        policy = small_policy(MIXED, TWO_SENSITIVE, method=method, privacy=privacy.model_dump())
        table = prepared(policy, rows)
        bound = bound_method(policy)
        representation = bound.represent(table, no_progress)
        labels = anonymized(table, policy).labels
        frame = bound.recode(table, representation, labels, policy, bound.seed).frame
        texts = [name for name, dtype in frame.dtypes.items() if isinstance(dtype, pd.CategoricalDtype)]
        frame = frame.astype(dict.fromkeys(texts, "str"))
        assert len(frame) == (labels >= 0).sum()
        everybody = constraints_of(table, policy).group_holds(np.flatnonzero(labels >= 0))
        if not everybody or frame.empty:
            return
        cells = list(policy.cell_columns(Form.CONTAINS, Form.REPLACED))
        for _, group in frame.groupby(cells, dropna=False):
            assert len(group) >= privacy.k
            assert group["illness"].nunique(dropna=False) >= privacy.of("illness").e
            assert group["wage"].max() - group["wage"].min() >= privacy.of("wage").e
            for name in TWO_SENSITIVE:
                shares = group[name].value_counts(dropna=False) / len(group)
                assert shares.max() <= privacy.of(name).p_max + 1e-9
                assert -(shares * np.log(shares)).sum() >= privacy.of(name).h_min - 1e-9

    holds()


@pytest.mark.integration
@given(mixed_rows(2, 30), privacies(), st.sampled_from(list(QUICK.values())))
@example(
    [(0, 0.0, None, "a", "flu", 21.0), (None, None, "b", None, None, 10.5)],
    Privacy(k=2, e=1, p_max=0.5, h_min=0.0, l=3),
    {"name": "lhd", "recoding": "hierarchy"},
)
def test_the_gates_agree_with_the_model(rows: list[Any], privacy: Privacy, method: dict[str, Any]) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE, method=method, privacy=privacy.model_dump())
    table = prepared(policy, rows)
    holds = constraints_of(table, policy).group_holds(np.arange(len(rows)))
    if method["name"] == "lhd":  # asks for l values in every class, which the model does not
        holds &= all(len(np.unique(column)) >= privacy.l for column in table.sensitive.T)
    with tempfile.TemporaryDirectory() as folder:
        made = published(policy, table, anonymized(table, policy), Path(folder) / "c")
        passes = assess(made.evidence(), FIVE_GATES).passed
    # A method may leave rows out so that the others satisfy a model that all of them do not.
    left_out = len(rows) - len(made.rows.records)
    assert passes or not holds
    assert holds or left_out or not passes


def random_rows(n: int) -> list[Any]:
    draw = np.random.default_rng(11)
    words = ["a", "b", "c", "d|e", "*"]
    return [
        (
            int(draw.integers(0, 80)),
            round(float(draw.normal()), 2),
            words[draw.integers(5)],
            words[draw.integers(3)],
            ["flu", "hiv", "cold", "cough"][draw.integers(4)],
            float(draw.integers(100, 200)),
        )
        for _ in range(n)
    ]


@pytest.mark.integration
def test_one_seed_gives_the_same_bytes_on_any_number_of_threads(tmp_path: Path) -> None:
    import torch

    rows, before = random_rows(120), torch.get_num_threads()
    digests = {}
    try:
        for name, threads, seed in (("one", 1, 42), ("two", 2, 42), ("again", 1, 42), ("other seed", 1, 43)):
            policy = small_policy(
                MIXED, TWO_SENSITIVE, method=AUTOENCODER, privacy={"k": 4, "e": 2, "p_max": 0.75}, seed=seed
            )
            torch.set_num_threads(threads)
            table = prepared(policy, rows)
            digests[name] = published(
                policy, table, anonymized(table, policy), tmp_path / name
            ).candidate.digest
    finally:
        torch.set_num_threads(before)
    assert digests["one"] == digests["two"] == digests["again"]
    assert digests["other seed"] != digests["one"]


def test_the_autoencoder_makes_classes_that_pass(tmp_path: Path) -> None:
    privacy = {"k": 4, "e": 2, "p_max": 0.75, "h_min": 0.2}
    policy = small_policy(MIXED, TWO_SENSITIVE, method=AUTOENCODER, privacy=privacy)
    table = prepared(policy, random_rows(120))
    made = published(policy, table, anonymized(table, policy), tmp_path / "c")
    assert made.classes.n_classes > 10
    assert assess(made.evidence(), FIVE_GATES).passed


@pytest.mark.integration
@given(mixed_rows(4, 24), st.randoms())
def test_mondrians_files_do_not_tell_the_order_of_the_input(rows: list[Any], random: Any) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE, privacy={"k": 2})
    shuffled = list(rows)
    random.shuffle(shuffled)
    with tempfile.TemporaryDirectory() as folder:
        digests = []
        for name, made in (("as it is", rows), ("shuffled", shuffled)):
            table = prepared(policy, made)
            digests.append(
                published(policy, table, anonymized(table, policy), Path(folder) / name).candidate.files
            )
    assert digests[0] == digests[1]


# Edges

EDGES: dict[str, tuple[list[Any], dict[str, Any], int, set[str]]] = {
    "constants": (
        [(5, 1.0, "a", "a", "flu", 1.0), (5, 1.0, "a", "a", "hiv", 3.0)] * 4,
        {"k": 2, "e": 2},
        1,
        set(),
    ),
    "one record": ([(5, 1.0, "a", "a", "flu", 1.0)], {"k": 2}, 1, {"k"}),
    "k larger than the table": (random_rows(7), {"k": 8}, 1, {"k"}),
    "exactly k": (random_rows(8), {"k": 8}, 1, set()),
    "just under 2k": (random_rows(15), {"k": 8}, 1, set()),
    "one sensitive value only": (
        [(*row[:4], "flu", 1.0) for row in random_rows(20)],
        {"k": 2, "e": 2, "p_max": 0.8, "h_min": 0.1},
        1,
        {"p_max", "h_min", "e"},
    ),
    "every category missing": (
        [(row[0], row[1], None, None, None, row[5]) for row in random_rows(8)],
        {"k": 8},
        1,
        {"e"},
    ),
}


@pytest.mark.parametrize("method", [QUICK["mondrian"], QUICK["features"], AUTOENCODER], ids=str)
@pytest.mark.parametrize(("rows", "privacy", "n_groups", "failing"), EDGES.values(), ids=EDGES)
def test_at_the_edges_all_are_one_group_and_the_gates_see_it(
    rows: list[Any],
    privacy: dict[str, Any],
    n_groups: int,
    failing: set[str],
    method: dict[str, Any],
    tmp_path: Path,
) -> None:
    if failing == {"e"}:
        privacy = {**privacy, "e": 2}
    policy = small_policy(MIXED, TWO_SENSITIVE, method=method, privacy=privacy)
    table = prepared(policy, rows)
    groups = anonymized(table, policy)
    assert groups.n_groups == n_groups
    made = published(policy, table, groups, tmp_path / "c")
    report = assess(made.evidence(), FIVE_GATES)
    expected = failing | ({"e"} if "k" in failing and len(rows) == 1 else set())
    assert {result.gate for result in report.failing} == expected
    assert all(result.verdict is Verdict.FAIL for result in report.failing)


@pytest.mark.parametrize("method", [QUICK["mondrian"], QUICK["original"]], ids=str)
def test_2k_records_are_two_groups(method: dict[str, Any]) -> None:
    policy: ReleasePolicy = small_policy(MIXED, TWO_SENSITIVE, method=method, privacy={"k": 8})
    assert anonymized(prepared(policy, random_rows(16)), policy).n_groups == 2


@pytest.mark.integration
@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["flu", "gout", "hiv"])), min_size=4, max_size=40),
    st.sampled_from(list(QUICK.values())),
    privacies(),
    st.fixed_dictionaries({}, optional=MODELS),
    st.one_of(st.none(), st.integers(2, 20)),
)
def test_what_decides_a_fragment_is_what_a_worker_may_answer(
    rows: list[tuple[int, str]],
    method: dict[str, Any],
    privacy: Privacy,
    models: dict[str, Any],
    people: int | None,
) -> None:
    several = {} if people is None else {"roles": {"key": "person"}, "rows": "several"}
    asked = {"k": privacy.k, "e": min(privacy.e, 2), "p_max": privacy.p_max, "h_min": privacy.h_min}
    ages = {"age": {"type": "integer", "bounds": [0, 120]}}
    policy = small_policy(ages, method=method, privacy=asked, gates={"models": models}, **several)
    named = [
        {"person": f"p{i % (people or 1)}", "age": age, "illness": ill} for i, (age, ill) in enumerate(rows)
    ]
    table = prepared(policy, [tuple(row[name] for name in policy.roles.columns()) for row in named])
    assume(constraints_of(table, policy).group_holds(np.arange(table.n_records)))  # as of every fragment
    fragment = Fragment(replace(table, overall=overall_counts(table)), policy)
    labels = decide(fragment).labels.astype(np.int64)
    assert labels_problem(labels, fragment) == ""
    if labels.max() > 0:
        alone = np.where(np.arange(len(labels)) == 0, labels.max() + 1, labels)
        assert labels_problem(alone, fragment)
