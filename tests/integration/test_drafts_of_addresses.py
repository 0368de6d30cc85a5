"""Drafts from a table of Postgres and from an object: tried, checked and released as they were drafted."""

from __future__ import annotations

import shlex

import pytest

from policy.errors import AwaitingApproval, InputError
from policy.load import parse_policy
from policy.location import Location
from release_store.records import CandidateState
from services.drafting.draft import draft
from tests.support.front_desk import Desk
from tests.support.postgres_server import Postgres
from tests.support.s3_server import BUCKET, S3


def published_as_drafted(
    desk: Desk, address: Location, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Draft, check and run by the commands alone; the policy names `path`, which the store's owner trusts."""
    assert desk.say("draft", address) == 0
    text = capsys.readouterr().out
    assert "Tried on 400 of 400 rows" in text
    assert f"#   releasegate run visits.yaml --period 2026Q1 --input {shlex.quote(str(address))}" in text
    file = desk.folder / "visits.yaml"
    file.write_text(text)
    policy = parse_policy(text, file)
    assert (policy.series, policy.source.path) == ("visits", path)
    assert desk.say("check", file, "--period", "2026Q1") == 0
    assert desk.say("run", file, "--period", "2026Q1", "--by", "ann") == AwaitingApproval.exit_code
    (candidate,) = desk.store.candidates()
    assert candidate.state is CandidateState.AWAITING_APPROVAL


def trusting(desk: Desk, text: str) -> None:
    path = desk.folder / "trusted.yaml"
    path.write_text(text)
    path.chmod(0o600)


def test_a_table_of_postgres(desk: Desk, postgres: Postgres, capsys: pytest.CaptureFixture[str]) -> None:
    trusting(desk, postgres.trusted)
    postgres.copy(desk.table(), '"visits_2026Q1"')
    address = postgres.table("visits_2026Q1")
    path = str(address).replace("2026Q1", "{period}")
    published_as_drafted(desk, address, path, capsys)


def test_an_object(desk: Desk, s3: S3, capsys: pytest.CaptureFixture[str]) -> None:
    trusting(desk, s3.trusted)
    address = s3.put("clinic/visits-2026Q1.csv", desk.table().read_bytes())
    published_as_drafted(desk, address, f"s3://{BUCKET}/clinic/visits-{{period}}.csv", capsys)


def test_a_table_of_postgres_is_drafted_as_the_file(desk: Desk, postgres: Postgres) -> None:
    table = desk.table("visits-2026Q1.csv")
    postgres.copy(table, '"visits_2026Q1"')
    found = [draft(one, trial=False) for one in (table, postgres.table("visits_2026Q1"))]
    roles = [text[text.index("roles:") : text.index("# Next")] for text in found]
    assert roles[0] == roles[1]


def test_a_cell_of_postgres_that_is_too_long_is_refused_and_not_told(desk: Desk, postgres: Postgres) -> None:
    postgres.execute(
        "CREATE TABLE long (age text, illness text)",
        "INSERT INTO long VALUES ('1', 'flu'), ('2', repeat('CANARY', 200000))",
    )
    with pytest.raises(InputError) as refused:
        draft(postgres.table("long"), trial=False)
    assert "illness" in str(refused.value)
    assert "CANARY" not in str(refused.value)
