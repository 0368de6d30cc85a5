"""The file of people: what it may say, who may write it, and what the log keeps of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from policy.errors import UsageError
from release_store.approval.credentials import hash_token
from release_store.approval.reviewers import (
    PEOPLE_VARIABLE,
    load_reviewers,
    needed_reviewers,
    parse_staff,
    people_path,
    roster,
)
from release_store.canonical import digest_of
from release_store.permission import ROLES, Act, Role
from tests.support.at_work import member, write_people

HERE = Path("people.yaml")


def parsed(*people: dict[str, object]) -> object:
    return parse_staff(yaml.safe_dump({"people": list(people)}), HERE)


def test_people_are_found_by_their_names_whatever_the_case_and_by_their_accounts(tmp_path: Path) -> None:
    write_people(tmp_path / "store", member("Ada Archer", ["approver"], account="ada"), member("Bob"))
    staff = needed_reviewers(tmp_path / "store")
    assert [one.name for one in staff.members] == ["Ada Archer", "Bob"]
    for name in ("ada archer", "ADA-ARCHER", " Ada  Archer "):
        assert staff.member(name) is staff.members[0]
    assert staff.member("Eve") is None
    assert staff.of_account("ada") is staff.members[0]
    assert staff.of_account("root") is None
    assert staff.members[0].may(Act.APPROVE)
    assert not staff.members[0].may(Act.OVERRIDE)


@pytest.mark.parametrize(
    ("people", "finding"),
    [
        ([{"name": "ada", "roles": ["approver"]}], "has neither a public_key nor a token_hash"),
        ([member("ada", ["boss"])], "a role is one of operator, approver, auditor, admin, found 'boss'"),
        ([member("ada", [])], "roles: is empty"),
        (
            [member("ada"), member("bob"), {**member("eve"), "name": "A-D-A"}],
            "is listed twice, also as ada",
        ),
        ([member("ada"), {**member("ada"), "name": "bob"}], "has the same key as ada"),
        ([member("ada", account="x"), member("bob", account="x")], "has the same account as ada"),
        (
            [{**member("ada"), "public_key": "0" * 63}],
            "is not an Ed25519 key of 64 lower-case hexadecimal digits",
        ),
        (
            [{**member("ada"), "public_key": "G" * 64}],
            "is not an Ed25519 key of 64 lower-case hexadecimal digits",
        ),
        ([{**member("ada"), "token_hash": "secret-token-of-ada"}], "releasegate people add --make-token"),
        ([{**member("ada"), "rolls": []}], "unknown field (did you mean 'roles'?)"),
        ([{"roles": ["admin"]}], "name: is missing"),
        ([member(" ")], "a name must be one line"),
        ([member("a\nb")], "a name must be one line"),
        (["ada"], "is not a mapping of fields"),
    ],
)
def test_what_a_file_of_people_may_not_say(people: list[dict[str, object]], finding: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(*people)
    assert finding in str(caught.value)
    assert caught.value.hint
    assert "secret-token" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "people", "people: {", "people:\n- name: [", "a: 1\n", "people: 7\n", "x" * 9]
)
def test_what_is_no_file_of_people_is_told(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_staff(text, HERE)
    assert caught.value.where.startswith("people.yaml")
    assert len(str(caught.value).splitlines()) <= 2


@pytest.mark.enemy("other account", "gains a role")
def test_a_file_that_others_can_write_is_refused(tmp_path: Path) -> None:
    path = write_people(tmp_path / "store")
    for mode in (0o620, 0o602, 0o666):
        path.chmod(mode)
        with pytest.raises(UsageError, match="can be written by others"):
            load_reviewers(tmp_path / "store")
    path.chmod(0o644)
    assert load_reviewers(tmp_path / "store") is not None


def test_where_the_file_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "store"
    assert people_path(root) == tmp_path / "people.yaml"
    assert load_reviewers(root) is None
    with pytest.raises(UsageError, match="no approvers are configured") as caught:
        needed_reviewers(root)
    assert "releasegate people add" in caught.value.hint
    monkeypatch.setenv(PEOPLE_VARIABLE, str(root / "people.yaml"))
    with pytest.raises(UsageError, match="is inside the store"):
        load_reviewers(root)
    monkeypatch.setenv(PEOPLE_VARIABLE, str(tmp_path / "elsewhere.yaml"))
    with pytest.raises(UsageError, match="cannot be read"):
        load_reviewers(root)


def test_the_log_is_told_of_people_in_order_and_of_no_secret() -> None:
    hashed = hash_token("a token of twenty letters and more")
    people = [
        member("bob", ["approver", "admin", "approver"]),
        {"name": "ada", "roles": ["auditor"], "token_hash": hashed},
    ]
    one, other = (
        roster(parse_staff(yaml.safe_dump({"people": p}), HERE).members) for p in (people, people[::-1])
    )
    assert one == other
    assert [person["name"] for person in one["members"]] == ["ada", "bob"]
    assert one["members"][1]["roles"] == ["admin", "approver"]
    assert one["digest"] == digest_of(one["members"])
    assert hashed not in str(one)


def test_each_act_has_roles_and_each_role_but_the_reader_s_an_act() -> None:
    assert set(ROLES) == set(Act)
    assert {role for roles in ROLES.values() for role in roles} | {Role.AUDITOR} == set(Role)
