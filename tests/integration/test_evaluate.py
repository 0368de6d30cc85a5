"""`releasegate evaluate`: what it writes, the same however many processes there are, and bad input."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from cli.__main__ import main
from cli.evaluate_tables import show_evaluation
from policy.load import load_policy
from services.evaluation import run as evaluate_run
from services.evaluation.evaluate import DIED, execute_jobs, policy_for_run
from services.evaluation.figures import figures_of
from services.evaluation.own_gates import InputTable
from services.evaluation.run import Job, Run
from tasks.risk.advice import OF_ALL_RELEASES
from tasks.types import SourceTable
from tasks.utility.latent_view import latent_view
from tasks.validation.check import ExpectationResult

N_ROWS = 160
HOME = 739_164_000  # seven digits that no other number here begins with
CANARIES = re.compile(rb"cnry|739164\d")
POLICY: dict[str, Any] = {
    "series": "clinic",
    "roles": {
        "key": "person",
        "identifiers": ["name"],
        "quasi_identifiers": {
            "age": {"type": "integer", "bounds": [0, 110]},
            "home": {"type": "integer", "bounds": [0, 10**9]},
            "city": {"type": "categorical"},
        },
        "sensitive": {"disease": {"stability": "stable"}},
        "kept": ["remark"],
    },
    "privacy": {"k": 5, "e": 2},
    "method": {"name": "mondrian"},
    "linkage": {"ext_frac": [0.1, 0.5], "seeds": 2},
    "gates": {"unique": {"allow": ["remark"]}, "ncp": {"max": 0.8}},
}
ASKED = ["--methods", "mondrian,mondrian:centroid", "--k", "4,9", "--seeds", "2"]


@dataclass(frozen=True)
class Written:
    """What one command left behind, and its words."""

    out: Path
    words: str

    @property
    def rows(self) -> list[dict[str, str]]:
        with (self.out / "results.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    @property
    def document(self) -> Any:
        return json.loads((self.out / "results.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evaluate")
    rng = np.random.default_rng(3)
    number = np.arange(N_ROWS)
    table = pd.DataFrame(
        {
            "person": [f"cnrykey{i}" for i in number],
            "name": [f"cnryname{i}" for i in number],
            "age": rng.integers(18, 90, N_ROWS),
            "home": HOME + rng.integers(0, 999, N_ROWS),
            "city": [f"cnrycity{i}" for i in rng.integers(0, 4, N_ROWS)],
            "disease": [f"cnrydisease{i}" for i in rng.integers(0, 3, N_ROWS)],
            "remark": [f"cnryremark{i}" for i in number],
        }
    )
    table.to_csv(made / "people.csv", index=False)
    (made / "clinic.yaml").write_text(yaml.safe_dump(POLICY, sort_keys=False))
    return made


def evaluate(folder: Path, *words: str) -> int:
    return main(["evaluate", str(folder / "clinic.yaml"), "--input", str(folder / "people.csv"), *words])


def written(folder: Path, name: str, *words: str) -> Written:
    with pytest.MonkeyPatch.context() as patch:
        told: list[str] = []
        patch.setattr("sys.stdout.write", lambda text: told.append(text) or len(text))
        patch.setattr(
            "services.evaluation.evaluate.validate", lambda *_: []
        )  # great_expectations takes seconds to import
        assert evaluate(folder, "--out", str(folder / name), *words) == 0
    return Written(folder / name, "".join(told))


@pytest.fixture(scope="module")
def one_process(folder: Path) -> Written:
    return written(folder, "one", *ASKED, "--jobs", "1", "--json")


@pytest.fixture(scope="module")
def two_processes(folder: Path) -> Written:
    return written(folder, "two", *ASKED, "--jobs", "2")


def test_every_run_has_its_row_in_the_order_that_was_asked(one_process: Written) -> None:
    found = [(row["method"], row["k"], row["seed"]) for row in one_process.rows]
    assert found == [
        (method, k, seed)
        for method in ("mondrian", "mondrian:centroid")
        for k in "49"
        for seed in ("42", "43")
    ]
    assert {row["finding"] for row in one_process.rows} == {""}


def test_the_figures_are_those_of_the_published_rows(one_process: Written) -> None:
    for row in one_process.rows:
        assert int(row["size_min"]) >= int(row["k"])
        assert row["k_holds"] == row["e_holds"] == row["p_max_holds"] == row["h_min_holds"] == "true"
        assert float(row["size_mean"]) * int(row["classes"]) == pytest.approx(N_ROWS)
        assert 0 < float(row["err_0.5"]) <= 1 / int(row["k"]) or "centroid" in row["method"]
        assert float(row["dm"]) >= N_ROWS * int(row["k"])
        assert float(row["seconds"]) >= 0
        # Centroids need not be true of anybody: they have no NCP, but queries have answers.
        assert (
            (row["ncp"] == "")
            == (row["prec"] == "")
            == (row["ncp:age"] == "")
            == ("centroid" in row["method"])
        )
        assert float(row["error_range"]) > 0
        assert row["error_range_average"] == ""
    by_k = {row["k"]: float(row["ncp"]) for row in one_process.rows if row["ncp"]}
    assert by_k["4"] < by_k["9"]
    names = ("ncp:age", "ncp:home", "ncp:city")
    for row in one_process.rows[:4]:
        assert float(row["ncp"]) == pytest.approx(np.mean([float(row[name]) for name in names]))


def test_the_document_has_means_over_the_seeds(one_process: Written) -> None:
    document = one_process.document
    assert [(one["method"], one["k"], one["runs"], one["failed"]) for one in document["summary"]] == [
        ("mondrian", 4, 2, 0),
        ("mondrian", 9, 2, 0),
        ("mondrian:centroid", 4, 2, 0),
        ("mondrian:centroid", 9, 2, 0),
    ]
    for one in document["summary"]:
        mine = [r for r in document["runs"] if (r["method"], r["k"]) == (one["method"], one["k"])]
        assert one["mean"]["cpu_seconds"] == pytest.approx(np.mean([r["cpu_seconds"] for r in mine]))
        assert one["sd"]["cpu_seconds"] == pytest.approx(np.std([r["cpu_seconds"] for r in mine], ddof=1))
        assert one["sd"]["dm"] == 0
    assert document["rows"] == N_ROWS
    assert document["seeds"] == [42, 43]


def test_the_same_comes_out_however_many_processes_there_are(
    one_process: Written, two_processes: Written
) -> None:
    assert [path.name for path in sorted(one_process.out.iterdir())] == [
        path.name for path in sorted(two_processes.out.iterdir())
    ]
    frames = [pd.read_csv(each.out / "results.csv", dtype=str) for each in (one_process, two_processes)]
    first, second = (frame.drop(columns=["seconds", "cpu_seconds"]).to_csv() for frame in frames)
    assert first == second
    for path in one_process.out.iterdir():
        if path.suffix in (".svg", ".png") and path.stem != "time":
            assert path.read_bytes() == (two_processes.out / path.name).read_bytes(), path.name


def test_every_figure_is_there_as_svg_and_png(one_process: Written) -> None:
    names = ("risk", "sizes", "ncp_by_attribute", "time", "latent_mondrian", "latent_mondrian_centroid")
    wanted = {f"{name}.{kind}" for name in names for kind in ("svg", "png")}
    assert {path.name for path in one_process.out.iterdir()} == wanted | {"results.csv", "results.json"}
    for path in one_process.out.glob("*.svg"):
        assert b"<dc:date>" not in path.read_bytes()


def test_no_value_of_a_person_is_in_any_file_or_word(one_process: Written) -> None:
    assert CANARIES.search((one_process.out.parent / "people.csv").read_bytes())
    assert not CANARIES.search(one_process.words.encode())
    for path in one_process.out.iterdir():
        assert not CANARIES.search(path.read_bytes()), path.name


def test_json_writes_the_document(one_process: Written) -> None:
    assert json.loads(one_process.words) == one_process.document


def test_the_table_tells_each_method_and_k(one_process: Written, capsys: pytest.CaptureFixture[str]) -> None:
    document = one_process.document
    document["runs"][0]["finding"] = "broke"
    show_evaluation(document, [one_process.out / "results.csv"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["mondrian", "4"],
        ["mondrian", "9"],
        ["mondrian:centroid", "4"],
        ["mondrian:centroid", "9"],
    ]
    assert "✓ none" in lines[1]
    assert lines[1].endswith("✓ 2 of 2")  # runs that pass the gates
    assert "*" in lines[1]  # the least NCP
    assert lines[3].split()[2] == "-"
    assert lines[-2] == "✗ mondrian k=4 seed=42: broke"
    assert lines[-1].startswith("wrote 1 file to ")


@pytest.mark.parametrize(
    ("words", "finding"),
    [
        (["--methods", "mondrien"], "--methods: unknown method 'mondrien' (did you mean 'mondrian'?)"),
        (["--methods", "mondrian:set"], "--methods: unknown recoding 'set' (did you mean 'sets'?)"),
        (["--methods", "mondrian,"], "--methods: has an empty entry"),
        (["--methods", "mondrian,mondrian"], "--methods: names one twice"),
        (["--methods", "mondrian", "--k", "5,,8"], "--k: has an empty entry"),
        (["--methods", "mondrian", "--k", "5,many"], "--k: is not a list of whole numbers of at least 2"),
        (["--methods", "mondrian", "--k", "1"], "--k: is not a list of whole numbers of at least 2"),
        (["--methods", "mondrian", "--k", "5,5"], "--k: names one twice"),
        (["--methods", "mondrian", "--seeds", "0"], "--seeds: is 0"),
        (["--methods", "mondrian", "--jobs", "0"], "--jobs: is 0"),
        (["--methods", "mondrian", "--measures", "pre"], "unknown measure 'pre' (did you mean 'prec'?)"),
    ],
)
def test_what_is_asked_wrongly_is_told_before_any_work(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], finding: str
) -> None:
    assert evaluate(folder, "--out", str(tmp_path / "out"), *words) == 2
    told = capsys.readouterr()
    assert finding in told.err
    assert "intake" not in told.err
    assert told.out == ""
    assert not (tmp_path / "out").exists()


def test_a_k_that_the_table_cannot_have_is_told_before_any_run(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--methods", "mondrian", "--k", "5,161", "--out", str(tmp_path / "out")]
    assert evaluate(folder, *words) == 3
    told = capsys.readouterr().err
    assert "people.csv: has 160 rows, fewer than k 161" in told
    assert "evaluation" not in told
    assert not any(tmp_path.iterdir())


def test_a_table_that_does_not_meet_the_policy_s_expectations_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = ExpectationResult(
        "unique", "person", False, 2, N_ROWS, "2 of 160 rows in 'person' are not unique"
    )
    monkeypatch.setattr("services.evaluation.evaluate.validate", lambda *_: [failed])
    assert evaluate(folder, "--methods", "mondrian", "--out", str(tmp_path / "out")) == 3
    told = capsys.readouterr().err
    assert "people.csv: 2 of 160 rows in 'person' are not unique" in told
    assert "evaluation" not in told


def test_a_table_that_cannot_hold_the_model_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.evaluation.evaluate.validate", lambda *_: [])
    (tmp_path / "four.yaml").write_text(yaml.safe_dump({**POLICY, "privacy": {"k": 5, "e": 4}}))
    words = ["--input", str(folder / "people.csv"), "--methods", "mondrian", "--out", str(tmp_path / "out")]
    assert main(["evaluate", str(tmp_path / "four.yaml"), *words]) == 3
    assert "'disease' has 3 distinct values, fewer than privacy.e (4)" in capsys.readouterr().err


def test_a_folder_that_holds_anything_is_not_written_into(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert evaluate(folder, "--methods", "mondrian", "--out", str(tmp_path)) == 2
    assert "exists already and is not empty" in capsys.readouterr().err
    assert evaluate(folder, "--methods", "mondrian", "--out", str(tmp_path / "a" / "b")) == 2
    assert "has no parent folder" in capsys.readouterr().err


# Single runs and their workers.


@pytest.fixture
def source(folder: Path) -> SourceTable:
    policy = load_policy(folder / "clinic.yaml")
    frame = pd.read_csv(folder / "people.csv")[list(policy.roles.columns())].drop(columns="name")
    frame[["age", "home"]] = frame[["age", "home"]].astype(float)
    return SourceTable(frame, "0" * 64, "people.csv")


def job(folder: Path, label: str = "mondrian", kind: type[Job] = Job) -> Job:
    return kind(label, policy_for_run(load_policy(folder / "clinic.yaml"), label, 5, 1), ("dm",), False)


def test_each_run_says_whether_it_passes_the_policy_s_own_gates(folder: Path) -> None:
    """No table keeps an err of 0."""
    policy = {**POLICY, "gates": {"ncp": {"max": 1}, "err": {"max": 0.0}, **POLICY["gates"]}}
    (folder / "strict.yaml").write_text(yaml.safe_dump(policy, sort_keys=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("services.evaluation.evaluate.validate", lambda *_: [])
        words = ["evaluate", str(folder / "strict.yaml"), "--input", str(folder / "people.csv")]
        words += ["--methods", "mondrian", "--seeds", "2", "--measures", "dm", "--jobs", "1"]
        assert main([*words, "--out", str(folder / "strict")]) == 0
    found = Written(folder / "strict", "")
    assert [(row["passes"], row["gates"]) for row in found.rows] == [("false", "err")] * 2
    (one,) = found.document["summary"]
    assert (one["passing"], one["gates"]) == (0, {"err": 2})


def test_runs_that_pass_their_gates_are_told(one_process: Written) -> None:
    for row, run in zip(one_process.rows, one_process.document["runs"], strict=True):
        assert row["passes"] == str(run["passes"]).lower() == str(not run["gates"]).lower()
        assert row["gates"].split() == run["gates"]
        assert not {*run["gates"]} & {*OF_ALL_RELEASES}
    assert {row["passes"] for row in one_process.rows if row["method"] == "mondrian"} == {"true"}


@pytest.mark.parametrize("error", [ValueError("cnryname1"), KeyError("cnryname2")])
def test_a_run_that_breaks_is_a_row_without_a_value(
    folder: Path,
    source: SourceTable,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: Exception,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(evaluate_run, "make_rows", broken)
    evaluate_run.init_worker(InputTable("2026Q1", source, None), tmp_path)
    found = evaluate_run.run(job(folder))
    assert found == Run("mondrian", 5, 1, f"unexpected error ({type(error).__name__})")


class Deadly(Job):
    """A job that ends the process which unpacks it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (9,)


def test_a_worker_that_dies_is_told_in_its_row(folder: Path, source: SourceTable) -> None:
    plan = [job(folder, kind=Deadly)]
    (found,) = execute_jobs(plan, InputTable("2026Q1", source, None), 1, lambda *_: None)
    assert found == Run("mondrian", 5, 1, DIED)


def test_an_interruption_leaves_no_worker_behind(folder: Path, source: SourceTable) -> None:
    def interrupted(_share: float, words: str) -> None:
        if words.startswith("evaluation"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(execute_jobs([job(folder)], InputTable("2026Q1", source, None), 1, interrupted))
    assert not multiprocessing.active_children()


def test_another_method_has_its_own_defaults_and_the_policy_s_own_keeps_its_parameters(
    tmp_path: Path,
) -> None:
    own = {"name": "ae-lrhma", "history": "repair", "parameters": {"epochs": 3}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({**POLICY, "method": own}))
    policy = load_policy(tmp_path / "own.yaml")
    assert policy_for_run(policy, "ae-lrhma", 8, 7).method.parameters == {"epochs": 3}
    other = policy_for_run(policy, "mondrian", 8, 7)
    assert (other.method.parameters, other.privacy.k, other.seed) == ({}, 8, 7)
    assert other.method.history == "repair"
    assert policy_for_run(policy, "ae-lrhma:hierarchy", 8, 7).method.recoding == "hierarchy"
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({**POLICY, "method": {**own, "ends": "rounded"}}))
    rounded = load_policy(tmp_path / "own.yaml")
    found = [policy_for_run(rounded, f"ae-lrhma:{cells}", 8, 7).method.ends for cells in ("sets", "median")]
    assert found == ["rounded", "attained"]
    levels = {"name": "full-domain", "recoding": "full-domain", "levels": {"city": 1}, "history": "blind"}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({**POLICY, "method": levels}))
    decided = load_policy(tmp_path / "own.yaml")
    kept = [policy_for_run(decided, name, 8, 7).method.levels for name in ("full-domain", "full-domain:sets")]
    assert kept == [{"city": 1}, {}]


# What figures show.


def test_no_hexagon_and_no_class_of_fewer_than_k_is_shown() -> None:
    rng = np.random.default_rng(5)
    latent = np.vstack([rng.normal(0, 1, (400, 3)), [[40.0, 40.0, 0.0]]])
    groups = np.append(np.repeat(np.arange(50), 8), 50)
    view = latent_view(latent, groups, 8)
    assert view.count.min() >= 8
    assert view.count.sum() + view.n_hidden == 401
    assert (view.n_hidden_classes, len(view.size)) == (1, 50)
    assert view.hexagons.max() < 20
    for group in range(50):
        inside = (np.abs(view.centres - latent[groups == group, :2].mean(axis=0)) < 1e-9).all(axis=1)
        assert inside.sum() == 1


def test_every_record_is_counted_in_the_nearest_hexagon() -> None:
    rng = np.random.default_rng(6)
    latent = rng.random((500, 2))
    view = latent_view(latent, np.zeros(500, dtype=np.int64), 1)
    assert view.count.sum() == 500
    scale = np.array([1.0, np.sqrt(3.0)]) / view.step / np.array([1.0, 1.0])
    apart = ((latent[:, None] - view.hexagons[None]) * scale) ** 2
    nearest = apart.sum(axis=2).argmin(axis=1)
    assert np.bincount(nearest, minlength=len(view.count)).tolist() == view.count.tolist()


def test_a_space_of_one_dimension_and_one_place_can_be_drawn() -> None:
    view = latent_view(np.zeros((20, 1)), np.zeros(20, dtype=np.int64), 5)
    assert view.count.tolist() == [20]
    run = Run("mondrian", 5, 1, "", {}, (), view)
    document = {"summary": [], "runs": [], "methods": ["mondrian"], "k": [5], "ext_frac": [0.1], "rows": 20}
    assert [name for name, _ in figures_of(document, [run])] == ["latent_mondrian"]
