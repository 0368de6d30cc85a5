"""A drafted policy is tried on its table, and runs as it was drafted."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from examples.register import generate
from policy.load import parse_policy
from policy.recoding import contains_its_people
from release_store.store import ReleaseStore
from services.drafting.draft import draft
from services.drafting.gate_limits import limit_over
from services.drafting.trial import METHODS, try_policy
from services.release import release
from tests.support.small import ILLNESS, small_policy


def test_a_drafted_policy_runs_as_it_was_drafted(tmp_path: Path) -> None:
    generate.write(tmp_path, generate.generate(n=1500))
    table = tmp_path / "register-2026Q1.csv"
    text = draft(table)
    assert all(f"#   {name.ljust(max(map(len, METHODS)))}  NCP" in text for name in METHODS)
    assert "# With `sets` on the same rows: NCP" in text or "# With `sets` on the same rows" in text
    path = tmp_path / "register.yaml"
    path.write_text(text, encoding="utf-8")
    policy = parse_policy(text, path)
    assert policy.gates.umr is None
    assert policy.method.recoding == "hierarchy"
    assert contains_its_people(policy.method.recoding)
    ReleaseStore.create(tmp_path / "store")
    outcome = release(path, store=tmp_path / "store", period="2026Q1", input_path=table)
    assert outcome.state == "awaiting_approval"


def test_limits_are_a_tenth_over_what_was_measured(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{i % 60},{('Riga', 'Oslo', 'Cork')[i % 3]},{('flu', 'hiv')[i % 2]}" for i in range(120)]
    table.write_text("\n".join(["age,city,illness", *rows]) + "\n", encoding="utf-8")
    policy = small_policy(None, ILLNESS, expectations={"missing": 0.05})
    found = try_policy(policy, table)
    assert found.rows == found.sample_rows == 120
    assert [one.label for one in found.methods] == [*METHODS]
    ncp = found.best.measured["ncp"]
    assert found.best.ncp == min(one.ncp for one in found.methods if not one.failing)
    assert ncp <= limit_over(ncp) <= ncp * 1.1 + 0.05
    assert limit_over(ncp, 0.9) == 0.9
    assert limit_over(1.0) == 1.0


def test_a_method_that_cannot_be_tried_is_said_so(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("age,city,illness\n1,Riga,flu\n2,Oslo,flu\n3,Cork,flu\n", encoding="utf-8")
    policy = small_policy(None, ILLNESS, privacy={"k": 2, "p_max": 0.5})
    found = try_policy(policy, table)
    assert all(one.problem or one.failing for one in found.methods)


def test_a_policy_drafted_from_two_periods_publishes_both(tmp_path: Path) -> None:
    tables = [tmp_path / f"clinic-202{year}.csv" for year in (5, 6)]
    draw = np.random.default_rng(3)
    illnesses = draw.choice(["flu", "gout", "none", "asthma"], 1000)
    for late, table in enumerate(tables):
        if late:  # a ninth of the people get another one, which the first does not foretell
            illnesses[::9] = draw.choice(["flu", "gout", "none", "asthma"], len(illnesses[::9]))
        people = range(100 * late, 900 + 100 * late)  # 100 leave, and 100 come
        rows = [f"p{i},{('m', 'f')[i // 7 % 2]},{20 + i % 60},{illnesses[i]}" for i in people]
        table.write_text("\n".join(["person_id,sex,age,diagnosis", *rows]) + "\n", encoding="utf-8")
    text = draft(*tables)
    assert text == draft(*tables)
    assert "# A second figure is what it measured beside a release of the table before it.\n" in text
    assert "  worlds: {changes: 0.1} # of stable values, measured: 0.07" in text
    path = tmp_path / "clinic.yaml"
    path.write_text(text.replace("approvers: 1", "approvers: 0"), encoding="utf-8")
    ReleaseStore.create(tmp_path / "store")
    for table in tables:
        period = table.stem.removeprefix("clinic-")
        outcome = release(path, store=tmp_path / "store", period=period, input_path=table)
        assert outcome.state == "published", outcome.message


def test_a_draft_says_that_a_second_release_would_be_blocked_and_why(tmp_path: Path) -> None:
    tables = [tmp_path / f"clinic-202{year}.csv" for year in (5, 6)]
    for raised, table in zip((1, 1.6), tables, strict=True):  # the wages of one tell those of the other
        rows = [f"{i},{20 + i * 7 % 30},{(1000 + i * 13) * raised:.0f}" for i in range(400)]
        table.write_text("\n".join(["person_id,age,wage", *rows]) + "\n", encoding="utf-8")
    text = draft(*tables)
    assert (
        "# Beside a release of the table before it, this table is not published:\n#   it fails worlds\n"
        in text
    )
    assert "#   worlds: wage tells what wage was in an earlier release" in text
    assert "leave it out" in " ".join(text.replace("\n#  ", "").split())


def test_a_draft_of_one_table_says_that_pay_which_grows_has_no_second_release(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    pay = draw.lognormal(10.2, 0.35, 500)
    sites = draw.choice(["Leeds", "York", "Hull"], 500)
    tables = [tmp_path / f"pay-202{year}.csv" for year in (5, 6)]
    for late, table in enumerate(tables):
        raised = pay * (1 + late * draw.normal(0.02, 0.01, 500))
        rows = [f"{7 * i},{1960 + i % 40},{sites[i]},{raised[i]:.0f}" for i in range(500)]
        table.write_text("\n".join(["person_id,birth_year,site,pay", *rows]) + "\n", encoding="utf-8")
    text = draft(tables[0])
    told = " ".join(text.replace("\n#", "").split())
    assert (
        "grow by 1% to 3% until the next table, that is not published beside this one: it fails worlds"
        in told
    )
    assert "Before the first release, decide: publish one period only" in told
    path = tmp_path / "pay.yaml"
    path.write_text(text.replace("approvers: 1", "approvers: 0"), encoding="utf-8")
    ReleaseStore.create(tmp_path / "store")
    states = [
        release(path, store=tmp_path / "store", period=table.stem[4:], input_path=table).state
        for table in tables
    ]
    assert states == ["published", "blocked"]


def test_a_second_release_is_tried_with_what_somebody_has_to_accept(tmp_path: Path) -> None:
    tables = [tmp_path / f"clinic-202{year}.csv" for year in (5, 6)]
    for late, table in enumerate(tables):  # whose key is missing cannot be followed
        rows = [f"{'' if late else i},{20 + i % 30},{('flu', 'gout')[i % 2]}" for i in range(400)]
        table.write_text("\n".join(["room,age,diagnosis", *rows]) + "\n", encoding="utf-8")
    text = draft(*tables)
    assert "# A second release was tried with these lines" in text
    assert "\n#   worlds: {unfollowed: accept}\ngates:\n" in text
    assert "is not published" not in text


def test_the_trial_of_a_second_release_uses_nothing_that_the_environment_names_for_other_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    settings = {
        "RELEASEGATE_SIGNING_KEY": str(own / "store.key"),
        "RELEASEGATE_PERSON_KEY_FILE": str(own / "people.key"),
        "RELEASEGATE_PEOPLE": str(own / "people.yaml"),
        "RELEASEGATE_LOG": str(own / "log.jsonl"),
        "RELEASEGATE_NOTICE_COMMAND": f"touch {own / 'told'}",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    (own / "store.key").write_text("the key of another store", encoding="utf-8")
    tables = [tmp_path / f"clinic-202{year}.csv" for year in (5, 6)]
    for table in tables:
        rows = [f"p{i},{20 + i % 30},{('flu', 'gout', 'none')[i % 3]}" for i in range(300)]
        table.write_text("\n".join(["person_id,age,diagnosis", *rows]) + "\n", encoding="utf-8")
    text = draft(*tables)
    assert "# A second figure is what it measured beside a release of the table before it.\n" in text
    assert {name: os.environ[name] for name in settings} == settings
    assert [file.name for file in own.iterdir() if file.name != "log.jsonl"] == ["store.key"]
    assert (own / "store.key").read_text(encoding="utf-8") == "the key of another store"
    log = own / "log.jsonl"
    assert not log.exists() or "release.published" not in log.read_text(encoding="utf-8")
