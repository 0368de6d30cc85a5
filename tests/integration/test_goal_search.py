"""`releasegate evaluate --goal`: what it finds on a made-up register, what it writes, and how it ends."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from cli.__main__ import main
from examples.register import generate
from policy.errors import InputError
from policy.load import load_policy
from services.evaluation import own_gates
from services.evaluation import run as evaluate_run
from services.evaluation.evaluate import policy_for_run
from services.evaluation.search import trial as search_trial
from services.evaluation.search.files import csv_text, document_of
from services.evaluation.search.parameters import method_lines
from services.evaluation.search.ranking import Standing
from services.evaluation.search.run import Search, search_parameters
from services.evaluation.search.workers import in_processes, in_this_process
from services.pipeline import make_rows
from services.release import release
from tasks.intake.read import read_table
from tasks.methods.registry import bound_method
from tasks.representation import parts as representations
from tasks.risk.advice import OF_ALL_RELEASES
from tasks.types import Progress, no_progress

N_ROWS = 400
GOAL = "umr <= 0.75, ncp lowest"
PRIVATE = ("name", "insurance_number", "street", "diagnosis", "care_cost")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The register of `examples/`, small, and its policy beside it."""
    made = tmp_path_factory.mktemp("goal")
    (made / "data").mkdir()
    generate.write(made / "data", generate.generate(n=N_ROWS))
    examples = Path(__file__).parents[2] / "examples" / "policies"
    policy = yaml.safe_load((examples / "register.yaml").read_text("utf-8"))
    policy["source"]["path"] = "data/register-{period}.csv"
    policy["expectations"]["rows"] = {"min": 100}
    policy["gates"] = {"ncp": {"max": 0.9}, "suppression": {"max": 0.05}}
    (made / "hierarchies").mkdir()
    for file in (examples / "hierarchies").iterdir():
        (made / "hierarchies" / file.name).write_bytes(file.read_bytes())
    (made / "store").mkdir()
    (made / "register.yaml").write_text(yaml.safe_dump(policy, sort_keys=False), "utf-8")
    return made


@pytest.fixture(autouse=True)
def _without_great_expectations(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes seconds to import; what it finds is tested elsewhere."""
    monkeypatch.setattr("services.evaluation.evaluate.validate", lambda *_: [])


def searched(folder: Path, goal: str = GOAL, **asked: Any) -> Search:
    given: dict[str, Any] = {
        "methods": "mondrian,ke-mdav",
        "trials": 8,
        "cpu_seconds": None,
        "raise_k": None,
        "seeds": None,
        "measures": None,
        "input_path": None,
        "period": "2026Q1",
        "jobs": 1,
        "store": folder / "store",
        "tell": no_progress,
        "workers": in_this_process,
    }
    policy = asked.pop("policy", folder / "register.yaml")
    return search_parameters(policy, goal=goal, **given | asked)


def with_policy(folder: Path, name: str, **sections: Any) -> Path:
    document = yaml.safe_load((folder / "register.yaml").read_text("utf-8"))
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(document | sections, sort_keys=False), "utf-8")
    return path


def command(folder: Path, *words: str) -> int:
    return main(["--store", str(folder / "store"), "evaluate", str(folder / "register.yaml"), *words])


# What is found.


@pytest.fixture(scope="module")
def by_hand(folder: Path) -> Search:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("services.evaluation.evaluate.validate", lambda *_: [])
        return searched(folder)


def without_times(found: Search) -> Any:
    document = document_of(found)
    text = json.dumps(document, default=str)
    for trial in document["trials"]:
        for each in (trial, *trial["runs"]):
            text = text.replace(f'"cpu_seconds": {json.dumps(each["cpu_seconds"])}', "")
    return text.replace(f'"cpu_seconds": {json.dumps(document["cpu_seconds"])}', "")


def test_the_first_trials_are_the_methods_as_they_are(by_hand: Search) -> None:
    assert [(trial.label, trial.changes) for trial in by_hand.trials[:2]] == [
        ("mondrian", {}),
        ("ke-mdav", {}),
    ]
    assert len(by_hand.trials) == 8


def test_the_best_meets_the_goal_and_no_other_trial_that_does_is_better(by_hand: Search) -> None:
    assert by_hand.met
    best = by_hand.trials[by_hand.best]
    meeting = []
    for trial in by_hand.trials:
        (run,) = trial.runs
        umr, ncp = run.figures["umr"], run.figures["ncp"]
        assert umr == max(run.figures[f"umr_{share}"] for share in ("0.05", "0.1", "0.2"))
        if umr <= 0.75 and all(gate.verdict == "pass" for gate in run.gates):
            meeting.append(ncp)
    assert best.ranked.objective == min(meeting)
    assert best.runs[0].figures["ncp"] == min(meeting)
    assert by_hand.best in by_hand.front


def test_the_lines_make_the_policy_that_was_tried(folder: Path, by_hand: Search) -> None:
    best = by_hand.trials[by_hand.best]
    pasted = load_policy(with_policy(folder, "pasted", **yaml.safe_load(by_hand.lines)))
    assert pasted == best.policy


def test_the_figures_are_those_of_the_release_that_is_then_made(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Signatures that people get for later releases are among what a trial measures."""
    limits = {"ncp": {"max": 0.9}, "suppression": {"max": 0.05}, "umr": {"max": 1}, "err": {"max": 1}}
    policy = with_policy(folder, "measured", gates=limits, method={"name": "ke-mdav", "history": "sticky"})
    found = searched(folder, methods=None, trials=4, policy=policy)
    best = found.trials[found.best]
    pasted = with_policy(folder, "released", gates=limits, **yaml.safe_load(found.lines))
    assert main(["--store", str(tmp_path / "store"), "init"]) == 0
    capsys.readouterr()
    released = release(pasted, store=tmp_path / "store", period="2026Q1", actor="the maker")
    assert released.state == "published"
    measured = {gate.gate: gate.value for gate in released.gates}
    (run,) = best.runs
    for name in ("ncp", "umr", "err"):
        assert measured[name] == pytest.approx(run.figures[name]), name
    assert [gate.value for gate in run.gates] == [measured[gate.gate] for gate in run.gates]
    blind = searched(folder, methods=None, trials=1, policy=without_signatures(folder, "ke-mdav"))
    assert blind.trials[0].runs[0].figures["ncp"] < found.trials[0].runs[0].figures["ncp"]


def without_signatures(folder: Path, method: str) -> Path:
    return with_policy(folder, "blind", method={"name": method, "history": "blind"})


def test_without_signatures_the_figures_are_those_that_evaluate_compares(folder: Path) -> None:
    found = searched(folder, methods="mondrian", trials=1, policy=without_signatures(folder, "mdav"))
    policy = found.trials[0].policy
    assert (policy.method.name, policy.method.history) == ("mondrian", "blind")
    source, _ = _source(folder)
    compared = evaluate_run.measure_run(evaluate_run.Job("mondrian", policy, (), False), source)
    figures = found.trials[0].runs[0].figures
    assert {name: value for name, value in compared.figures.items() if "seconds" not in name} == {
        name: value for name, value in figures.items() if name not in ("err", "umr")
    }


def test_people_with_several_rows_are_counted_once(folder: Path, tmp_path: Path) -> None:
    table = pd.read_csv(folder / "data" / "register-2026Q1.csv", dtype=str)
    table["person_key"] = table["person_key"].to_numpy()[[i - i % 2 for i in range(len(table))]]
    table.to_csv(tmp_path / "visits.csv", index=False)
    expected = {"rows": {"min": 100}, "unique_key": False}
    policy = with_policy(folder, "visits", rows="several", expectations=expected)
    found = searched(folder, policy=policy, input_path=tmp_path / "visits.csv", trials=2)
    for trial in found.trials:
        (run,) = trial.runs
        verdicts = {gate.gate: (gate.verdict, gate.value) for gate in run.gates}
        assert verdicts["k"][0] == "pass"
        assert verdicts["k"][1] == run.figures["size_min"] >= 8


def test_households_are_counted_where_the_policy_names_their_column(folder: Path, tmp_path: Path) -> None:
    table = pd.read_csv(folder / "data" / "register-2026Q1.csv", dtype=str)
    table["home"] = [f"home {i // 2}" for i in range(len(table))]
    table.to_csv(tmp_path / "homes.csv", index=False)
    roles = yaml.safe_load((folder / "register.yaml").read_text("utf-8"))["roles"]
    policy = with_policy(folder, "homes", roles=roles | {"household": "home"})
    found = searched(folder, policy=policy, input_path=tmp_path / "homes.csv", methods="mondrian", trials=1)
    (run,) = found.trials[0].runs
    (k,) = [gate for gate in run.gates if gate.gate == "k"]
    assert k.verdict == "pass"
    assert run.figures["k_holds"]
    assert run.figures["size_min"] >= k.value >= 8


def test_a_greatest_k_is_held_against_the_households_that_are_counted(folder: Path, tmp_path: Path) -> None:
    table = pd.read_csv(folder / "data" / "register-2026Q1.csv", dtype=str)
    table["home"] = [f"home {i // 2}" for i in range(len(table))]
    table.to_csv(tmp_path / "homes.csv", index=False)
    roles = yaml.safe_load((folder / "register.yaml").read_text("utf-8"))["roles"]
    policy = with_policy(folder, "few homes", roles=roles | {"household": "home"})
    with pytest.raises(InputError, match="has 200 households, fewer than k 201") as refused:
        searched(folder, policy=policy, input_path=tmp_path / "homes.csv", trials=1, raise_k=201)
    assert refused.value.hint == "Give a smaller --raise-k."


def test_a_plain_evaluation_measures_what_a_first_release_publishes(folder: Path) -> None:
    """With signatures, which decide who is beside whom; a search measures the same."""
    found = searched(folder, methods="mondrian", trials=1)
    (run,) = found.trials[0].runs
    policy = policy_for_run(load_policy(folder / "register.yaml"), "mondrian", 8, run.seed)
    assert (policy.method.history, policy.privacy.k) == ("sticky", 8)
    source = read_table(policy, input_path=None, period=run.period, base=folder)
    plain = evaluate_run.measure_run(evaluate_run.Job("mondrian", policy, (), look=False), source)
    figures = {name: value for name, value in plain.figures.items() if "seconds" not in name}
    assert figures == {name: run.figures[name] for name in figures}
    without = make_rows(source, policy, bound_method(policy), [], run.period)
    assert evaluate_run.figures_of_rows(without, ())["loss"] != figures["loss"]


def test_a_gate_that_needs_people_who_are_not_in_the_table_is_asked_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.risk.attacks.control.validate", lambda *_: [])
    table = pd.read_csv(folder / "data" / "register-2026Q1.csv", dtype=str)
    table[:300].to_csv(folder / "in.csv", index=False)
    table[300:].to_csv(folder / "out.csv", index=False)
    policy = with_policy(
        folder,
        "others",
        linkage={"control": "out.csv"},
        gates={"ncp": {"max": 0.9}, "membership": {"max": 1}},
    )
    found = searched(folder, policy=policy, input_path=folder / "in.csv", methods="mondrian", trials=1)
    asked = {gate.gate: gate.verdict for gate in found.trials[0].runs[0].gates}
    assert asked["membership"] == "pass"
    assert not set(OF_ALL_RELEASES) & set(asked)


def test_the_same_is_found_again_and_with_two_processes(folder: Path, by_hand: Search) -> None:
    again = searched(folder, jobs=2, workers=in_processes)
    assert without_times(again) == without_times(by_hand)


def test_a_limit_that_nothing_keeps_leaves_the_nearest(folder: Path) -> None:
    found = searched(folder, "umr <= 0.0001, ncp lowest", trials=4)
    assert not found.met
    nearest = found.trials[found.best].ranked
    assert nearest.standing is Standing.OVER_LIMITS
    ((limit, beyond),) = nearest.beyond.items()
    assert beyond == pytest.approx(nearest.worst[limit] - 0.0001)
    assert nearest.worst[limit] == min(trial.ranked.worst[limit] for trial in found.trials)


def test_a_trial_that_a_gate_of_the_policy_bars_never_wins(folder: Path) -> None:
    free = searched(folder, "ncp lowest", trials=6)
    most = (
        float(free.trials[free.best].runs[0].figures["umr"]) - 0.01
    )  # what is best by the goal alone is over
    strict = with_policy(folder, "strict", gates={"ncp": {"max": 0.9}, "umr": {"max": most}})
    held = searched(folder, "ncp lowest", trials=6, policy=strict)
    assert held.met
    assert held.trials[held.best].runs[0].figures["umr"] <= most
    assert held.trials[held.best].ranked.objective > free.trials[free.best].ranked.objective
    barred = [trial for trial in held.trials if trial.ranked.failing]
    assert barred
    assert {trial.ranked.standing for trial in barred} == {Standing.BLOCKED}
    assert all(trial.ranked.failing == ("umr",) for trial in barred)


def test_where_every_trial_is_barred_none_wins(folder: Path) -> None:
    barred = with_policy(folder, "barred", gates={"ncp": {"max": 0.001}})
    found = searched(folder, "ncp lowest", trials=3, policy=barred)
    assert not found.met
    assert found.front == []
    assert found.trials[found.best].ranked.failing == ("ncp",)


def test_k_is_that_of_the_policy_unless_it_may_be_raised(folder: Path) -> None:
    held = searched(folder, "ncp highest", methods="full-domain", trials=9)
    assert [trial.policy.privacy.k for trial in held.trials] == [8]  # nothing else of it is searched
    raised = searched(folder, "ncp highest", methods="full-domain", trials=9, raise_k=18)
    assert sorted(trial.policy.privacy.k for trial in raised.trials) == [8, 12, 18]
    for trial in raised.trials:
        assert trial.runs[0].figures["size_min"] >= trial.policy.privacy.k
    best = raised.trials[raised.best]
    assert yaml.safe_load(raised.lines).get("privacy", {"k": 8})["k"] == best.policy.privacy.k


def test_a_limit_is_kept_in_every_period_and_the_objective_is_the_mean(folder: Path) -> None:
    found = searched(folder, period="2026Q1,2026Q2", seeds=2, trials=2)
    assert found.periods == ("2026Q1", "2026Q2")
    for trial in found.trials:
        assert [(run.period, run.seed) for run in trial.runs] == [
            ("2026Q1", 42),
            ("2026Q1", 43),
            ("2026Q2", 42),
            ("2026Q2", 43),
        ]
        ncp = [run.figures["ncp"] for run in trial.runs]
        assert trial.ranked.objective == pytest.approx(sum(ncp) / 4)
        ((_, worst),) = trial.ranked.worst.items()
        assert worst == max(run.figures["umr"] for run in trial.runs)


def test_the_autoencoder_is_trained_once_for_its_parameters(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[tuple[Any, ...]] = []

    def encode(features: Any, **parameters: Any) -> Any:
        parameters.pop("progress")
        trained.append((features.shape, *sorted(parameters.items())))
        return features[:, : parameters["latent_dimensions"]].copy(), 0.0

    monkeypatch.setattr(representations, "encode", encode)
    few = with_policy(folder, "few", method={"name": "ae-lrhma", "parameters": {"epochs": 1}})
    found = searched(folder, "ncp lowest", methods=None, trials=24, policy=few)
    learned = {
        tuple(
            (name, trial.changes.get(name))
            for name in ("latent_dimensions", "hidden", "epochs", "learning_rate", "encoding", "clip")
        )
        for trial in found.trials
    }
    assert len(found.trials) == 24
    assert len(trained) == len(learned) < 24


def test_a_budget_of_seconds_is_kept_by_the_seconds_of_the_trials(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(range(1_000))
    monkeypatch.setattr(search_trial, "cpu_clock", lambda: float(next(ticks)))
    found = searched(folder, trials=None, cpu_seconds=3.0)
    assert [trial.cpu_seconds for trial in found.trials] == [1.0, 1.0, 1.0]
    assert found.budget.used_seconds == 3.0


# How it ends.


def after(n: int) -> Progress:
    """Interrupt, as Ctrl-C does, when the n-th trial has ended."""

    def tell(_share: float, words: str) -> None:
        if words.startswith(f"search: {n}"):
            raise KeyboardInterrupt

    return tell


def test_an_interrupted_search_has_what_was_found_so_far(folder: Path, by_hand: Search) -> None:
    found = searched(folder, tell=after(3))
    assert found.interrupted
    assert len(found.trials) == 3
    assert [trial.changes for trial in found.trials] == [trial.changes for trial in by_hand.trials[:3]]
    assert found.trials[found.best].ranked == min(
        (trial.ranked for trial in by_hand.trials[:3]), key=lambda one: one.score
    )


def test_an_interruption_leaves_no_process_and_no_staged_file_behind(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = searched(folder, tell=after(1), workers=in_processes, jobs=2)
    assert found.interrupted
    assert len(found.trials) >= 1
    assert not multiprocessing.active_children()
    assert not any(tmp_path.glob("releasegate-*"))


def test_the_staged_files_are_gone_after_a_search(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged: list[Path] = []
    stage = own_gates.stage

    def noted(*given: Any, **asked: Any) -> Any:
        staged.append(asked["folder"])
        return stage(*given, **asked)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(own_gates, "stage", noted)
    searched(folder, trials=2)
    assert [tmp_path in path.parents for path in staged] == [True, True]
    assert not any(tmp_path.iterdir())


def test_a_search_that_is_interrupted_before_any_trial_ended_has_found_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search_trial, "publishable_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        searched(folder)


class _Deadly(search_trial.Job):
    """A job that ends the process which unpacks it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (9,)


def test_a_process_that_dies_fails_its_own_trial_alone(folder: Path, by_hand: Search) -> None:
    policy = by_hand.trials[0].policy
    source = own_gates.InputTable("2026Q1", *_source(folder))
    jobs = [
        search_trial.Job(0, 0, 0, policy, ()),
        _Deadly(1, 0, 0, policy, ()),
        search_trial.Job(2, 0, 0, policy, ()),
    ]
    with in_processes([source], 2) as carry:
        done = {job.trial: found.run for job, found in carry(jobs)}
    assert [done[trial].finding for trial in range(3)] == ["", "the worker process died (out of memory?)", ""]
    assert done[0].figures == done[2].figures == by_hand.trials[0].runs[0].figures


def _source(folder: Path) -> tuple[Any, None]:
    policy = load_policy(folder / "register.yaml")
    return read_table(policy, input_path=None, period="2026Q1", base=folder), None


# The command.


@dataclass(frozen=True)
class Written:
    """What the command left behind, and its words."""

    out: Path
    words: str

    @property
    def document(self) -> Any:
        return json.loads((self.out / "results.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def by_command(folder: Path) -> Written:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("services.evaluation.evaluate.validate", lambda *_: [])
        told: list[str] = []
        patch.setattr("sys.stdout.write", lambda text: told.append(text) or len(text))
        words = ["--goal", GOAL, "--methods", "mondrian,ke-mdav", "--trials", "8", "--period", "2026Q1"]
        assert command(folder, *words, "--jobs", "1", "--json", "--out", str(folder / "out")) == 0
    return Written(folder / "out", "".join(told))


def test_the_command_writes_what_was_found(by_command: Written, by_hand: Search) -> None:
    document = by_command.document
    assert json.loads(by_command.words) == document
    assert sorted(path.name for path in by_command.out.iterdir()) == ["results.csv", "results.json"]
    mine = document_of(by_hand)
    for name in ("goal", "met", "best", "policy", "front", "searched", "periods", "rows", "seeds"):
        assert document[name] == json.loads(json.dumps(mine[name])), name
    assert [one["parameters"] for one in document["trials"]] == [one["parameters"] for one in mine["trials"]]
    rows = list(csv.DictReader((by_command.out / "results.csv").read_text("utf-8").splitlines()))
    assert [(row["trial"], row["method"]) for row in rows] == [
        (str(number), trial.label) for number, trial in enumerate(by_hand.trials, 1)
    ]
    assert rows == [
        row | {"cpu_seconds": own["cpu_seconds"]}
        for row, own in zip(csv.DictReader(csv_text(by_hand).splitlines()), rows, strict=True)
    ]


def test_no_value_of_a_person_is_in_any_file_or_word(folder: Path, by_command: Written) -> None:
    table = (folder / "data" / "register-2026Q1.csv").read_text("utf-8")
    keys = {row["person_key"] for row in csv.DictReader(table.splitlines())}
    assert len(keys) == N_ROWS
    cells = {row[name] for row in csv.DictReader(table.splitlines()) for name in PRIVATE}
    assert len(cells) > N_ROWS
    for text in (by_command.words, *(path.read_text("utf-8") for path in by_command.out.iterdir())):
        assert not any(cell in text for cell in (*cells, *keys))


@contextmanager
def _here(folder: Path, tell: Progress = no_progress) -> Iterator[None]:
    """Let the command run its trials in this process, and tell `tell` how far it is."""

    @contextmanager
    def reporter() -> Iterator[Progress]:
        yield tell

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cli.commands.evaluate.progress_reporter", reporter)
        patch.setitem(search_parameters.__kwdefaults__, "workers", in_this_process)
        yield


def test_the_table_shows_the_front_the_best_and_its_lines(
    folder: Path, by_hand: Search, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--goal", GOAL, "--methods", "mondrian,ke-mdav", "--trials", "8", "--period", "2026Q1"]
    with _here(folder):
        assert command(folder, *words, "--out", str(tmp_path / "out")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["trial", "method", "ncp", "umr", "<=", "0.75", "CPU", "s", "changes"]
    assert [int(line.split()[0]) for line in lines[1 : 1 + len(by_hand.front)]] == [
        place + 1 for place in by_hand.front
    ]
    number = by_hand.best + 1
    assert f"✓ the goal is met: {GOAL}; trial {number} (*) is the best of 8 trials" in lines
    first = lines.index(f"the lines of trial {number} for the policy:") + 2
    policy = method_lines(by_hand.trials[by_hand.best].policy, with_k=False).splitlines()
    assert [line.removeprefix("  ") for line in lines[first : first + len(policy)]] == policy
    assert lines[-1].startswith("wrote 2 files to ")


def test_a_goal_that_is_not_met_ends_with_0_and_says_how_far_the_nearest_is(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--goal", "umr <= 0.0001, ncp lowest", "--methods", "mondrian", "--trials", "1"]
    with _here(folder):
        assert command(folder, *words, "--period", "2026Q1", "--out", str(tmp_path / "out")) == 0
    told = capsys.readouterr().out
    assert "✗ the goal is not met in 1 trial: umr <= 0.0001, ncp lowest; trial 1 (*) is nearest" in told
    assert "umr <= 0.0001 is missed by 0." in told
    assert json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))["met"] is False


def test_a_measure_without_a_meaning_for_a_method_is_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cells that need not be true of people have no NCP."""
    words = ["--goal", "ncp lowest", "--methods", "mdav:centroid", "--trials", "1", "--period", "2026Q1"]
    with _here(folder):
        assert command(folder, *words, "--out", str(tmp_path / "out")) == 0
    told = capsys.readouterr().out
    assert "✗ the goal is not met in 1 trial: ncp lowest; a measure of it has no meaning for trial 1" in told
    assert "recoding: centroid" in told
    document = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert document["trials"][0]["standing"] == "no_figure"


def test_an_interrupted_command_shows_and_writes_what_was_found(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--goal", GOAL, "--methods", "mondrian,ke-mdav", "--period", "2026Q1"]
    with _here(folder, after(3)):
        assert command(folder, *words, "--out", str(tmp_path / "out")) == 0
    told = capsys.readouterr().out
    assert "interrupted after 3 trials" in told
    document = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert document["interrupted"] is True
    assert len(document["trials"]) == 3


def test_where_every_trial_fails_the_first_finding_is_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("hypertension")

    monkeypatch.setattr(search_trial, "publishable_rows", broken)
    words = ["--goal", GOAL, "--methods", "mondrian", "--trials", "2", "--period", "2026Q1"]
    with _here(folder):
        assert command(folder, *words, "--out", str(tmp_path / "out")) == 1
    told = capsys.readouterr()
    assert "none of 2 trials succeeded; the first: unexpected error (ValueError)" in told.err
    assert "hypertension" not in told.out + told.err


@pytest.mark.parametrize(
    ("words", "finding"),
    [
        (["--goal", "umrr <= 0.1, ncp lowest"], "--goal: unknown measure 'umrr' (did you mean 'umr'?)"),
        (["--goal", "umr <= 0.1"], "--goal: has no objective"),
        (["--goal", "umr lowest, ncp lowest"], "--goal: has 2 objectives"),
        (["--goal", "umr <= x, ncp lowest"], "--goal: 'x' in 'umr <= x' is no number"),
        (["--goal", GOAL, "--trials", "0"], "--trials: is 0"),
        (["--goal", GOAL, "--cpu-seconds", "0"], "--cpu-seconds: is 0"),
        (["--goal", GOAL, "--cpu-seconds", "nan"], "--cpu-seconds: is nan"),
        (["--goal", GOAL, "--jobs", "0"], "--jobs: is 0"),
        (["--goal", GOAL, "--seeds", "0"], "--seeds: is 0"),
        (["--goal", GOAL, "--raise-k", "8"], "--raise-k: is 8, and the policy's k is 8"),
        (["--goal", GOAL, "--k", "5"], "--k: is not for a search"),
        (["--goal", GOAL, "--methods", "mondrien"], "unknown method 'mondrien' (did you mean 'mondrian'?)"),
        (["--goal", GOAL, "--measures", "pre"], "unknown measure 'pre' (did you mean 'prec'?)"),
        (["--goal", GOAL, "--period", "2026Q1,2026-Q1"], "--period: names one twice"),
        (
            ["--goal", GOAL, "--period", "2026Q1,2026Q2", "--input", "one.csv"],
            "--input: is one table, and --period names 2",
        ),
        (["--methods", "mondrian", "--trials", "5"], "--trials: is for a search alone"),
        (["--methods", "mondrian", "--cpu-seconds", "5"], "--cpu-seconds: is for a search alone"),
        (["--methods", "mondrian", "--raise-k", "9"], "--raise-k: is for a search alone"),
        ([], "--methods: is missing"),
    ],
)
def test_what_is_asked_wrongly_is_told_before_any_work(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], finding: str
) -> None:
    assert command(folder, *words, "--out", str(tmp_path / "out")) == 2
    told = capsys.readouterr()
    assert finding in told.err
    assert "intake" not in told.err
    assert told.out == ""
    assert not (tmp_path / "out").exists()


def test_a_k_that_the_table_cannot_have_is_told_before_any_trial(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--goal", GOAL, "--raise-k", "401", "--period", "2026Q1", "--out", str(tmp_path / "out")]
    assert command(folder, *words) == 3
    assert "has 400 rows, fewer than k 401" in capsys.readouterr().err
