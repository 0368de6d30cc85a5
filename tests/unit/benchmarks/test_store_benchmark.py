"""The store's benchmark: its store is one that the store itself could have written, and its commands run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import store as benchmark
from benchmarks import synthetic_store
from policy.errors import UsageError
from release_store.audit import keys, merkle
from release_store.canonical import canonical_json
from release_store.publishing.public_files import checkpoint_file
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify


@pytest.fixture(autouse=True)
def _own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(keys.KEY_VARIABLE, raising=False)


def test_the_bulk_made_store_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic_store, "BATCH", 100)
    made = synthetic_store.make(tmp_path / "store", 20, 400, per_series=7)
    assert verify(made) == []
    assert (len(made.releases()), len(made.events())) == (20, 400)
    figures = made.all_figures()
    assert figures == {one.candidate_id: made.figures(one.candidate_id) for one in made.candidates()}
    assert len({canonical_json(one) for one in figures.values()}) == synthetic_store.N_FIGURES
    assert all(one["latent"]["before"] and one["narrowing"] for one in figures.values())
    assert [one.state for one in made.candidates()].count(CandidateState.BLOCKED) == 20
    assert len({event.hash for event in made.events()}) == 400
    for series in ("series000", "series002"):
        published = [c for c in made.candidates(series) if c.state is CandidateState.PUBLISHED]
        assert len({one.history_head for one in published}) == len(published)
        assert len(made.earlier_classes(series)) == len(published)
    # As the store signs them: every checkpoint has the root of the tree over the log until then.
    hashes = [event.hash for event in made.events()]
    for release in made.releases():
        path = checkpoint_file(made.root, release.series, release.release_id)
        signed = json.loads(path.read_text())
        assert signed["root"] == merkle.log_tree(hashes[: signed["size"]]).root(signed["size"]).hex()
        assert signed["head"] == hashes[signed["size"] - 1]


def test_too_few_events_for_the_releases_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        synthetic_store.make(tmp_path / "store", 20, 100)


@pytest.mark.nightly
def test_the_benchmark_times_every_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = benchmark.main(["--releases", "3", "--events", "60", "--runs", "1", "--folder", str(tmp_path)])
    assert text in capsys.readouterr().out
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")][2:]
    assert rows == [f"`{' '.join(command)}`" for command in benchmark.COMMANDS]
    store = tmp_path / "store"
    assert len(ReleaseStore.open(store).releases()) == 3
    (store / "releases" / "series000" / "latest").unlink()
    with pytest.raises(RuntimeError, match="latest"):
        benchmark.measure(store, ["verify"])


def test_a_long_history_is_laid_out_without_rich_as_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cli import tables
    from reports.documents import history_document

    made = synthetic_store.make(tmp_path / "store", 12, 200)
    tables.show_history(made, None)
    short = capsys.readouterr().out
    monkeypatch.setattr(tables, "MOST_ROWS", 2)
    tables.show_history(made, None)
    long = capsys.readouterr().out
    assert [line.rstrip() for line in long.splitlines()] == [line.rstrip() for line in short.splitlines()]
    document = history_document(made, "series000")
    assert [len(document[name]) for name in ("releases", "candidates", "refused_inputs")] == [12, 12, 1]
    assert document["candidates"][0]["failing"] == ["k"]
    assert json.loads(json.dumps(document["releases"][0]))["gates_passed"] == 15


def test_a_name_with_markup_is_shown_as_it_is() -> None:
    from cli.console import plain_table
    from reports.text import escaped

    text = plain_table("T", ("k", "name"), [("1", escaped("[bold]x[/]")), ("10", "日本")])
    assert text.splitlines() == ["T", " k  name", " 1  [bold]x[/]", "10  日本"]
