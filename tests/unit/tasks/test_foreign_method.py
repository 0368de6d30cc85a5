"""A method of another package: found by its entry point, named in a policy, judged like any other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy.errors import PolicyError
from release_store.records import Verdict
from tasks.methods import registry
from tasks.packages import trust_packages
from tasks.risk.registry import assess
from tests.support.foreign_package import installed
from tests.support.small import anonymized, prepared, published, small_policy

MODULE = '''
from typing import Annotated

import numpy as np
from pydantic import Field

from tasks.methods.base import Method
from tasks.parts import Component, Parameters
from tasks.types import Partition


class RunParameters(Parameters):
    """How many records a run has."""

    run: Annotated[int, Field(ge=2)] = 4


def bind(chosen, setting):
    def cut(table, where, constraints, progress):
        order = np.argsort(where.latent[:, 0], kind="stable")
        labels = np.empty(len(order), dtype=np.int64)
        labels[order] = np.arange(len(order)) // chosen.run
        return Partition(labels)

    return cut


RUNS = Method(
    name="runs",
    summary="Sorted by the first attribute and cut into runs.",
    source="an example",
    guarantees="runs of so many records",
    representation="unit",
    partition=Component("runs", "runs of the first attribute", RunParameters, bind),
    aggregation="none",
)
NO_METHOD = 3
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Install a package beside ours, with the entry points that it is told to have."""
    with installed(tmp_path, monkeypatch, "foreign_runs", MODULE, registry.ENTRY_POINTS) as offers:
        yield offers


@pytest.mark.enemy("policy author", "runs code")
def test_a_package_that_the_owner_does_not_name_is_not_loaded(package: Any) -> None:
    package("runs = foreign_runs:RUNS")
    trust_packages(["other"])
    policy = small_policy(method={"name": "runs", "parameters": {"run": 3}})
    with pytest.raises(PolicyError, match="foreign-runs, which is not trusted here"):
        registry.bound_method(policy)
    assert "runs" not in registry.methods()
    assert "foreign_runs" not in sys.modules


def test_a_policy_names_a_method_of_another_package(package: Any, tmp_path: Path) -> None:
    package("runs = foreign_runs:RUNS")
    assert list(registry.methods())[-1] == "runs"
    policy = small_policy(method={"name": "runs", "parameters": {"run": 3}}, gates={"ncp": {"max": 0.9}})
    rows = [(age, "ab"[age % 2], ("flu", "hiv")[age % 2]) for age in range(9)]
    table = prepared(policy, rows)
    made = published(policy, table, anonymized(table, policy), tmp_path / "c")
    assert made.classes.size.tolist() == [3, 3, 3]
    assert {r.verdict for r in assess(made.evidence()).results} == {Verdict.PASS}
    with pytest.raises(PolicyError, match=r"did you mean 'run'\?"):
        registry.bound_method(small_policy(method={"name": "runs", "parameters": {"runn": 3}}))


def test_its_groups_are_merged_until_they_hold_the_policys_model(package: Any) -> None:
    package("runs = foreign_runs:RUNS")
    policy = small_policy(method={"name": "runs", "parameters": {"run": 2}}, privacy={"k": 4})
    table = prepared(policy, [(age, "a", "flu") for age in range(9)])
    assert np.bincount(anonymized(table, policy).labels).min() >= 4


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("runs = foreign_runs:NO_METHOD", "is not a Method of that name, or the name is taken"),
        ("other = foreign_runs:RUNS", "is not a Method of that name, or the name is taken"),
        ("mondrian = foreign_runs:RUNS", "is not a Method of that name, or the name is taken"),
        ("runs = foreign_runs:MISSING", r"cannot be loaded \(AttributeError\)"),
        ("runs = no_such_module:RUNS", r"cannot be loaded \(ModuleNotFoundError\)"),
    ],
)
def test_an_entry_point_that_is_no_method_is_told(package: Any, line: str, words: str) -> None:
    package(line)
    with pytest.raises(PolicyError, match=words) as caught:
        registry.bound_method(small_policy())
    assert "entry point releasegate.methods:" in str(caught.value)


def test_releasegate_methods_lists_it(
    package: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from cli.__main__ import main

    package("runs = foreign_runs:RUNS")
    words = ["--store", str(tmp_path / "store"), "methods", "runs"]
    assert main(words) == 2
    assert "unknown method" in capsys.readouterr().err
    (tmp_path / "trusted.yaml").write_text("packages: [foreign-runs]\n")
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "partition: runs (runs of the first attribute)" in shown
    assert "run = 4" in shown
