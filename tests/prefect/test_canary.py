"""Nothing of the raw data outlives a run: planted canaries are searched for in every file afterwards."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import os
import pickle
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from release_store.evidence.bundle import write_evidence
from release_store.person_key import PERSON_KEY_VARIABLE
from release_store.store import ReleaseStore
from tests.support import canary_search
from tests.support.front_desk import POLICY, people
from tests.support.prefect_site import PREFECT, PrefectSite
from tests.support.timeouts import LONG_TIMEOUT

Places = dict[str, set[str]]
ROOT = Path(__file__).resolve().parents[2]
NAME = "the name "  # before a place that is a file's name, and not what it holds
PHONE = 770_900_100_000
HUGE_AGE = 918_273_645
PUBLIC = {"remark": (b"cnryremark",), "ward": (b"cnryward",), "city": (b"cnrycity",)}
HELD = {
    f"held {name}": (form + b"held",) for name, (form,) in PUBLIC.items()
}  # of what is held back, or breaks
SECRET = {
    "key": (b"cnrykey",),
    "name": (b"cnryname",),
    "street": (b"cnrystreet",),
    "phone": (b"770900100", *(struct.pack(kind, PHONE + 7) for kind in ("<q", "<d", ">q", ">d"))),
    "not allowed": (b"cnrybad",),
    "out of bounds": (b"918273645", struct.pack("<q", HUGE_AGE), struct.pack("<d", HUGE_AGE)),
    "ragged": (b"cnryragged",),
}
KEPT = ("store/history.duckdb: class_", "store/history.duckdb: candidate_figures")
CONTROL = {"logged": (b"cnrylogged",), "raised": (b"cnryraised",)}

DRIVER = """
import json, os, signal, sys
from pathlib import Path
from unittest import mock
import pandas as pd
from services.observability import lineage
from services.observability import notice_channels, notice_delivery as notices
from cli.__main__ import main
from tests.support.timeouts import HANG_TIMEOUT

lineage._LIMIT = notice_channels.TIMEOUT = notices._PATIENCE = HANG_TIMEOUT
frame = pd.read_csv("people.csv")
log, exits = Path("words.txt").read_text().split(), []

class Carrying(ValueError):
    pass

def broken(*args, **kwargs):
    error = Carrying(frame.to_csv())
    error.frame, error.rows = frame, frame.to_dict("records")
    error.__cause__ = KeyError(frame.person[0], frame)
    error.add_note(frame.to_string())
    raise error

for words, target, _ in json.loads(Path("scenarios.json").read_text()):
    print("now:", words, target, flush=True)
    if target is None:
        exits.append(main(words))
    else:
        with mock.patch(target, broken):
            exits.append(main(words))
Path("exits.json").write_text(json.dumps(exits))

from prefect import flow, get_run_logger
from prefect.logging.handlers import APILogWorker

@flow(persist_result=False)
def control():
    get_run_logger().debug(log[0])
    raise ValueError(log[1])

control(return_state=True)
APILogWorker.drain_all(timeout=600)  # what was logged so far is not lost with this process
crashing, target = json.loads(Path("crashing.json").read_text())
with mock.patch(target, lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)):
    main(crashing)
"""
RELEASE, HELD_BACK = "clinic-2026Q1-r1", "clinic-2026Q2-c1"
SHOWN = (RELEASE, "clinic-2026Q1-r2", "clinic-2026Q3-c3")  # the last waits
CANARY = re.compile(rb"cnry[a-z]+[0-9]*")
SHOWING = (
    ["report", "--out", "desk/site"],
    ["report", "--evidence", "--out", "desk/full"],
    *(["report", name, "--out", f"desk/{name}.html"] for name in (RELEASE, HELD_BACK)),
    *(
        ["pictures", name, "--format", "svg,png", "--out", f"desk/{name}"]
        for name in (RELEASE, HELD_BACK, "clinic")
    ),
)
KEEPER = "import sys, pathlib; pathlib.Path(sys.argv[1]).open('a').write(sys.stdin.read())"
CHECK = "tasks.validation.check._run"  # what breaks here is told as an input that is refused
STAGES = (
    "services.candidate_run.read_source",
    "services.validation.last_release",
    CHECK,
    "services.pipeline.prepare_table",
    "tasks.representation.parts.unit_ranges",
    "tasks.partitioning.parts.partition",
    "services.pipeline.groups_of",
    "tasks.composition.repair",
    "tasks.recoding.parts.generalized_rows",
    "services.candidate.stage",
    "services.assessment.assess",
    "tasks.staging.people.row_classes",
    "services.release.table_figures",
    "services.assessment.figures_of",
    "services.publication.publish",  # the last: the next run publishes what it leaves approved
)
SOME_STAGES = (
    "services.pipeline.prepare_table",
    "services.assessment.assess",
    "services.publication.publish",
)
CRASH = "services.publication.publish"  # with everything in memory, and the candidate approved


def planted(seed: int, mark: str = "") -> pd.DataFrame:
    """A table whose every identifier, key and dropped cell is a canary, and some of the others, marked."""
    table = people(seed)
    number = np.arange(len(table))
    rng = np.random.default_rng(seed)
    table = table.assign(
        # Some people stay: a key that joins nobody is told, and holds a candidate back.
        person=[f"cnrykey{1 if i < 20 else seed}x{i}" for i in number],
        name=[f"cnryname{i}" for i in number],
        phone=PHONE + number,
        street=[f"cnrystreet{i}" for i in number],
        remark=rng.choice(["quiet", "tired", "well", "in pain"], len(table)),
    )
    some = rng.permutation(len(table))
    table.loc[some[:5], "remark"] = [f"cnryremark{mark}{i}" for i in range(5)]
    table.loc[some[5:20], "city"] = f"cnrycity{mark}"
    table.loc[some[20:40], "ward"] = f"cnryward{mark}"
    return table


def policy(**sections: Any) -> str:
    roles = {
        **POLICY["roles"],
        "identifiers": ["name", "phone"],
        "quasi_identifiers": {**POLICY["roles"]["quasi_identifiers"], "city": {"type": "categorical"}},
        "sensitive": {**POLICY["roles"]["sensitive"], "remark": {"stability": "transient"}},
    }
    # So few people lose much detail beside their own earlier releases, and few stay, which is not what
    # is looked at here.
    gates = {"ncp": {"max": 0.8}, "person": {"followed": 0.05}, **sections.pop("gates", {})}
    return yaml.safe_dump({**POLICY, "roles": roles, "gates": gates, **sections}, sort_keys=False)


def scenarios(stages: Sequence[str]) -> list[tuple[list[str], str | None, int]]:
    """The commands in their order, what breaks in each, and how it ends; runs break in each of `stages`."""

    def run(table: str, period: str, policy: str = "clinic.yaml") -> list[str]:
        return ["run", policy, "--input", table, "--period", period, "--by", "ann"]

    again = ["--revise", "a late correction"]
    reproduce = ["reproduce", "clinic-2026Q1-r1", "--input", "people.csv"]
    rejudge = ["rejudge", "clinic-2026Q3-c1", "--input", "later.csv", "--by", "cyd"]
    every = stages == STAGES
    *_, last = stages
    return [
        (["init"], None, 0),
        (run("people.csv", "2026Q1"), None, 0),
        (run("not_allowed.csv", "2026Q2"), None, 3),
        (run("ragged.csv", "2026Q2"), None, 3),
        (run("held.csv", "2026Q2", "strict.yaml"), None, 4),
        *((run("held.csv", "2026Q2"), one, 3 if one == CHECK else 1) for one in stages[:-1]),
        (run("later.csv", "2026Q2"), last, 1),
        (run("later.csv", "2026Q3", "asking.yaml"), None, 5),
        ([*run("corrected.csv", "2026Q1"), *again], None, 0),
        (rejudge, "services.assessment.assess", 1),
        *([(rejudge, "services.rejudge.prepare_table", 1)] * every),
        (rejudge, None, 5),
        (reproduce, None, 0),
        *([(reproduce, "services.reproduction.make_rows", 1)] * every),
        (reproduce, "services.reproduction.stage", 1),
        (["history"], None, 0),
        (["show", "clinic-2026Q1-r1"], None, 0),
        (["show", "clinic-2026Q2-c1", "--json"], None, 0),
        (["verify"], None, 0),
        *((words, None, 0) for words in SHOWING),
        (run("later.csv", "2026Q4", "other.yaml"), CRASH, -signal.SIGKILL),
    ]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(SOME_STAGES, marks=pytest.mark.prefect, id="some stages"),
        pytest.param(STAGES, marks=pytest.mark.nightly, id="every stage"),
    ],
)
def aftermath(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which runs of every kind have ended, each folder that they may write to below it."""
    folder = tmp_path_factory.mktemp("canary")
    planted(1).to_csv(folder / "people.csv", index=False)
    # Of the same remarks as before, the revision would tell whose they are, and be held back.
    corrected = planted(1)
    remarks = np.random.default_rng(4).permutation(corrected["remark"])
    corrected.assign(remark=remarks).to_csv(folder / "corrected.csv", index=False)
    later = planted(2)
    later.to_csv(folder / "later.csv", index=False)
    planted(3, "held").to_csv(folder / "held.csv", index=False)
    not_allowed = later.assign(disease=["cnrybad1", *later["disease"][1:]])
    not_allowed.loc[3, "age"] = HUGE_AGE
    not_allowed.to_csv(folder / "not_allowed.csv", index=False)
    text = (folder / "later.csv").read_text()
    (folder / "ragged.csv").write_text(text + "cnryragged1,cnryragged2\n")
    (folder / "clinic.yaml").write_text(policy())
    (folder / "asking.yaml").write_text(policy(approval={"approvers": 1}))
    (folder / "other.yaml").write_text(policy(series="other"))
    (folder / "strict.yaml").write_text(policy(gates={"ncp": {"max": 0.0}}))
    *told, (crashing, target, killed) = scenarios(request.param)
    (folder / "scenarios.json").write_text(json.dumps(told))
    (folder / "crashing.json").write_text(json.dumps([crashing, target]))
    (folder / "words.txt").write_text("cnrylogged cnryraised")
    (folder / "driver.py").write_text(DRIVER)
    (folder / "people.key").write_bytes(np.random.default_rng(3).bytes(32))
    (folder / "people.key").chmod(0o600)
    for name in ("home", "tmp", "prefect", "desk"):
        (folder / name).mkdir()
    (folder / "keep.py").write_text(KEEPER)
    environment = {
        "RELEASEGATE_LOG": "log.jsonl",
        "RELEASEGATE_OPENLINEAGE": "lineage.jsonl",
        "RELEASEGATE_NOTICE_COMMAND": f"{sys.executable} keep.py told.jsonl",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "PREFECT_HOME": str(folder / "prefect"),
        PERSON_KEY_VARIABLE: str(folder / "people.key"),
        "PREFECT_LOGGING_LEVEL": "DEBUG",
        "PREFECT_SERVER_LOGGING_LEVEL": "DEBUG",
    }
    with (
        contextlib.closing(PrefectSite(folder, environment)) as server,
        (folder / "out.txt").open("wb") as out,
        (folder / "err.txt").open("wb") as err,
    ):
        environment["PREFECT_API_URL"] = f"{server.address}/api"
        command = [*PREFECT, "server", "start", "--host", "127.0.0.1", "--port", server.port]
        server.begin("server", command, folder)
        server.until("the server's start", server.healthy)
        process = subprocess.Popen(
            [sys.executable, "driver.py"],
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            assert process.wait(LONG_TIMEOUT) == killed
        finally:
            with contextlib.suppress(ProcessLookupError):  # what it began outlives a crash
                os.killpg(process.pid, signal.SIGKILL)
    assert json.loads((folder / "exits.json").read_text()) == [code for *_, code in told]
    return folder


@pytest.fixture(scope="module")
def places(aftermath: Path) -> Places:
    """Where each canary was found in that folder, but for what was given to the runs."""
    given = {*aftermath.glob("*.csv"), aftermath / "words.txt"}
    return canary_search.find(aftermath, {**SECRET, **PUBLIC, **HELD, **CONTROL}, but=given)


def of(needles: Iterable[str], places: Places, where: Callable[[str], bool]) -> Places:
    """The places of some canaries that are where they are asked for."""
    kept = {name: {one for one in places.get(name, ()) if where(one.removeprefix(NAME))} for name in needles}
    return {name: found for name, found in kept.items() if found}


def on_desk(place: str) -> bool:
    return place.startswith("desk/")


def test_what_breaks_in_the_runs_is_there_to_be_broken() -> None:
    """The stages that break at night alone are found here when a function has another name or place."""
    targets = {target for _, target, _ in scenarios(STAGES) if target is not None}
    assert {*SOME_STAGES, *STAGES} <= targets
    for target in targets:
        assert callable(resolve_name(target)), target


def test_identifiers_keys_dropped_columns_and_refused_values_are_nowhere(places: Places) -> None:
    assert SECRET.keys() & places.keys() == set(), {name: places[name] for name in SECRET if name in places}


def test_people_are_kept_as_keyed_hashes_of_what_was_searched_for(aftermath: Path) -> None:
    found = ReleaseStore.open(aftermath / "store").people_in_common("clinic-2026Q1-c1")
    assert found is not None
    assert found.n == ReleaseStore.open(aftermath / "store").releases()[0].summary.n_published


def test_published_cells_are_in_the_published_files_their_classes_and_figures_alone(
    aftermath: Path, places: Places
) -> None:
    found = of(PUBLIC, places, lambda place: not on_desk(place))
    folders = [
        str(path.relative_to(aftermath))
        for kind in ("candidates/*", "releases/clinic/clinic-*")
        for path in (aftermath / "store").glob(kind)
        if path.is_dir()
    ]
    data = {f"{folder}/data.{kind}" for folder in folders for kind in ("csv", "parquet")}
    assert found.keys() == PUBLIC.keys()
    release = "store/releases/clinic/clinic-2026Q1-r1/data"
    for seen in found.values():
        assert {f"{release}.csv", f"{release}.parquet"} <= seen
        elsewhere = {place for place in seen - data if place.rpartition("/")[0] not in folders}
        assert all(place.startswith(KEPT) for place in elsewhere), elsewhere
        assert {place.rpartition("/")[2] for place in seen - data - elsewhere} <= {"report.html"}


def test_pages_pictures_and_bundles_hold_cells_of_what_is_public_or_waits_alone(
    aftermath: Path, places: Places
) -> None:
    store = aftermath / "store"
    assert of((*HELD, *SECRET), places, on_desk) == {}
    held = of(HELD, places, lambda place: place.startswith("store/candidates/"))
    assert held.keys() == HELD.keys()  # there was something to find
    found = of(PUBLIC, places, on_desk)
    pages = {f"desk/{site}/series/clinic/{name}.html" for site in ("site", "full") for name in SHOWN}
    data, bundled = (
        {
            f"desk/full/series/clinic/{name}.evidence.zip: release/{file}"
            for name in SHOWN[:2]
            for file in files
        }
        for files in (("data.csv", "data.parquet"), ("report.html",))
    )
    pictures = {str(one.relative_to(aftermath)) for one in aftermath.glob(f"desk/{RELEASE}/values-*.svg")}
    assert found.keys() == PUBLIC.keys()
    assert all(data <= seen for seen in found.values())
    everywhere = set().union(*found.values())
    assert everywhere >= pages
    assert everywhere & pictures
    assert everywhere <= pages | data | bundled | pictures | {f"desk/{RELEASE}.html"}
    for page in (*pages, f"desk/{RELEASE}.html"):
        name = Path(page).stem
        folder = store / (f"candidates/{name}" if name == SHOWN[-1] else f"releases/clinic/{name}")
        shown, judged = (aftermath / page).read_bytes(), (folder / "data.csv").read_bytes()
        assert set(CANARY.findall(shown)) <= set(CANARY.findall(judged))


def test_evidence_holds_published_cells_in_the_published_files_and_the_report_alone(
    aftermath: Path, tmp_path: Path
) -> None:
    bundle = write_evidence(ReleaseStore.open(aftermath / "store"), "clinic-2026Q1-r1", tmp_path / "b.zip")
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert canary_search.find(tmp_path / "unpacked", SECRET) == {}
    found = canary_search.find(tmp_path / "unpacked", PUBLIC)
    assert found.keys() == PUBLIC.keys()
    published = {"release/data.csv", "release/data.parquet"}
    assert all(published <= places <= {*published, "release/report.html"} for places in found.values())


def test_the_search_finds_what_an_unshielded_flow_leaves_behind(places: Places) -> None:
    assert "err.txt" in places["logged"]
    assert any(place.startswith("prefect/prefect.db: ") for place in places["logged"])
    assert {"err.txt", "prefect/prefect.db: flow_run_state"} <= places["raised"]


def test_logs_lineage_and_notices_were_among_what_was_searched(aftermath: Path) -> None:
    log, lineage, told = (
        [json.loads(line) for line in (aftermath / name).read_text().splitlines()]
        for name in ("log.jsonl", "lineage.jsonl", "told.jsonl")
    )
    assert {line["event"] for line in log} >= {"run.ended", "run.failed", "stage.ended", "stage.failed"}
    assert {event["eventType"] for event in lineage} == {"START", "COMPLETE", "FAIL"}
    kinds = {notice["notice"].rpartition(".")[2] for notice in told}
    assert kinds >= {"published", "blocked", "awaiting", "input-refused", "failed"}


def test_every_run_reached_prefect(aftermath: Path) -> None:
    """What was searched is what the runs wrote: the server's database, and its logs down to DEBUG."""
    with sqlite3.connect(aftermath / "prefect/prefect.db") as con:
        n_runs = con.execute("SELECT count(*) FROM flow_run").fetchone()[0]
        levels = {level for (level,) in con.execute("SELECT DISTINCT level FROM log")}
        shown = {key for (key,) in con.execute("SELECT DISTINCT key FROM artifact WHERE key IS NOT NULL")}
    assert {"gates-clinic", "verdict-clinic", "stages-clinic"} <= shown
    commands = [words[0] for words, *_ in json.loads((aftermath / "scenarios.json").read_text())]
    assert n_runs == commands.count("run") + commands.count("rejudge") + len(("control", "crashing"))
    assert {10, 40} <= levels


# The search itself -----------------------------------------------------------------------------------

NEEDLE = {"it": (b"cnryname",)}
FRAME = pd.DataFrame({"name": ["cnryname1"], "phone": [PHONE + 7]})


@pytest.mark.parametrize(
    "content",
    [
        b"a line with cnryname1 in it",
        base64.b64encode(b"some text and cnryname1"),
        base64.urlsafe_b64encode(pickle.dumps(FRAME)),
        json.dumps({"result": base64.b64encode(pickle.dumps(ValueError("cnryname1"))).decode()}).encode(),
        gzip.compress(b"cnryname1" * 5, mtime=0),
        b"junk" + base64.b64encode(gzip.compress(pickle.dumps(FRAME), mtime=0)) + b"|",
    ],
    ids=["plain", "base64", "pickle", "json", "gzip", "all of them"],
)
def test_a_canary_is_found_however_it_is_written(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert canary_search.find(tmp_path, NEEDLE) == {"it": {"file"}}


def test_a_number_is_found_in_a_pickled_frame(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(pickle.dumps(FRAME[["phone"]]))
    assert canary_search.find(tmp_path, SECRET) == {"phone": {"file"}}


def test_a_canary_is_found_in_a_name_a_link_and_databases(tmp_path: Path) -> None:
    (tmp_path / "cnryname1").touch()
    (tmp_path / "link").symlink_to("cnryname2")
    FRAME.to_csv(tmp_path / "frame.csv")
    with duckdb.connect(str(tmp_path / "some.duckdb")) as con:
        con.execute("CREATE TABLE t AS SELECT 'cnryname' || range % 9 AS x FROM range(5000)")
        con.execute(f"COPY t TO '{tmp_path / 'some.parquet'}' (COMPRESSION zstd)")
    lite = sqlite3.connect(tmp_path / "some.db")
    lite.execute("PRAGMA journal_mode = wal")
    lite.execute("CREATE TABLE u (x)")
    lite.execute("INSERT INTO u VALUES (?)", [base64.b64encode(b"cnryname1 in base64")])
    lite.commit()
    places = canary_search.find(tmp_path, NEEDLE)["it"]
    lite.close()
    assert {
        "the name cnryname1",
        "the name link",
        "frame.csv",
        "some.duckdb: t",
        "some.parquet",
        "some.db: u",
        "some.db-wal",
    } <= places


@pytest.mark.parametrize("compressed", [False, True])
def test_a_canary_is_found_in_a_picture_and_in_a_zip(tmp_path: Path, compressed: bool) -> None:
    words = PngInfo()
    words.add_text("Comment", "a picture of cnryname1", zip=compressed)
    Image.new("L", (9, 9)).save(tmp_path / "some.png", pnginfo=words)
    with duckdb.connect() as con:
        con.sql("SELECT 'cnryname' || range AS x FROM range(99)").write_parquet(
            str(tmp_path / "some.parquet")
        )
    (tmp_path / "list.txt").write_text("cnryname1\n" * 99)
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(tmp_path / "inner.zip", "w", method) as inner:
        for name in ("some.png", "some.parquet", "list.txt"):
            inner.write(tmp_path / name, name)
        inner.writestr("cnryname2", "")
    with zipfile.ZipFile(tmp_path / "outer.zip", "w", method) as outer:
        outer.write(tmp_path / "inner.zip", "folder/inner.zip")
    within = {f"outer.zip: folder/inner.zip: {name}" for name in ("some.png", "some.parquet", "list.txt")}
    places = canary_search.find(tmp_path, NEEDLE)["it"]
    assert {"some.png", "the name outer.zip: folder/inner.zip: cnryname2", *within} <= places


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(os.urandom(100_000))
    assert canary_search.find(tmp_path, {**SECRET, **PUBLIC, **CONTROL}) == {}
