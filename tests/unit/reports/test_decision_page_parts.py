"""What the first screens of a report say: changes, groups of gates, columns, and the policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from release_store.summary import RequiredApprovals
from reports.changes import Change, LastRelease, changes
from reports.columns import column_rows, contents, lost_columns
from reports.gate_groups import GROUPS, group_gates
from reports.policy_text import field_text, policy_fields, roles_of
from reports.report import page, release_report
from reports.report_model import report_model
from tasks.risk.registry import GATES
from tests.support.pages.sheets import facts, figures, gate, kept

POLICY: dict[str, Any] = {
    "privacy": {"k": 5},
    "rows": "one_per_person",
    "method": {"recoding": "sets"},
    "source": {"path": "secret/table.csv"},
    "linkage": {"control": "secret/control.csv"},
    "roles": {
        "key": "person",
        "identifiers": ["name"],
        "quasi_identifiers": [
            {"name": "age", "type": "integer", "description": ""},
            {"name": "zip", "type": "categorical", "values": ["a", "b"]},
        ],
        "sensitive": [{"name": "disease", "stability": "stable", "values": ["flu"]}],
        "kept": ["ward"],
        "dropped": ["street"],
    },
}
SCATTERED = {"labels": 60, "exact": 0.0, "median": 8.0, "contiguous": 0.0, "ordered": False}
RANGES = {"labels": 90, "exact": 0.25, "median": 4.0, "contiguous": 1.0, "ordered": True}
FIGURES = {"ncp": {"age": 0.1, "zip": 0.01}, "groupable": {"age": RANGES, "zip": SCATTERED}}


def _roles(**changed: Any) -> dict[str, Any]:
    return {**POLICY, "roles": {**POLICY["roles"], **changed}}


def _changes(
    policy: dict[str, Any] = POLICY, measured: tuple[Any, ...] = (), summary: Any = None, **last: Any
) -> list[Change]:
    made = facts(*measured)
    made["summary"] = {**made["summary"], **(summary or {})}
    before = LastRelease("clinic-2023-r1", POLICY, {"n_source": 10, "n_published": 8}, **last)
    return changes(made, policy, FIGURES, before)


def test_every_gate_is_in_one_group() -> None:
    named = [name for group in GROUPS.values() for name in group]
    assert sorted(named) == sorted(GATES)


def test_groups_with_failing_gates_and_failing_gates_are_first() -> None:
    found = group_gates(
        [
            gate("files"),
            gate("k"),
            gate("simpson", "fail", 1.0),
            gate("pairwise"),
            gate("worlds", "unknown", None),
        ]
    )
    assert [(one.name, one.failing, one.said, [each["gate"] for each in one.gates]) for one in found] == [
        ("model", True, "1 of 2 gates passes", ["simpson", "k"]),
        ("history", True, "1 of 2 gates passes", ["worlds", "pairwise"]),
        ("files", False, "1 of 1 gate passes", ["files"]),
    ]


def test_what_is_the_same_is_said_once() -> None:
    assert _changes(summary={"n_source": 10, "n_published": 8}) == [
        Change("rows", "rows", "8", "8", "same"),
        Change("rows", "records left out", "2", "2", "same"),
        Change("roles", "columns and their roles (7)", "", "", "same"),
        Change("policy", f"all {len(policy_fields(POLICY))} fields", "", "", "same"),
    ]


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (None, None, []),
        ((0.01, 0.0), (0.01, 0.0), [("1%", "1%", "same", "")]),
        ((0.01, 0.0), (0.02, 0.0), [("1%", "2%", "higher risk", "bad")]),
        (
            (0.01, 0.5),
            (0.01, 0.76),
            [("1% + 50%", "1% + 76%", "higher risk", "bad")],
        ),
        ((0.01, 0.5), (0.01, 0.0), [("1% + 50%", "1%", "lower risk", "good")]),
        (None, (0.0, 0.0), [("-", "0%", "new", "")]),
    ],
)
def test_how_sure_a_reader_can_be_is_told_beside_the_last_release(
    before: tuple[float, float] | None, now: tuple[float, float] | None, told: list[tuple[str, ...]]
) -> None:
    def worlds(shares: tuple[float, float] | None) -> dict[str, Any]:
        share, unmeasured = shares or (0.0, 0.0)
        people = {"people": round(100 * share), "unmeasured": round(100 * unmeasured)}
        sure = {"limit": 0.95, "share": share, "unmeasured_share": unmeasured, **people}
        return gate("worlds", value=0.0, witness={"releases": 2, **({"sure": sure} if shares else {})})

    found = _changes({}, (worlds(now),), {}, gates=(worlds(before),), figures={})
    lines = [(one.before, one.now, one.word, one.mood) for one in found if "over 95% sure" in one.what]
    assert lines == told


def test_rows_roles_policy_risk_and_detail_that_changed() -> None:
    looser = RequiredApprovals(1, 0, "clinic-2023-r1", ("k 2 instead of 5",), 4).document()
    now = {**_roles(kept=["age_group"], dropped=["street", "ward"]), "privacy": {"k": 2}, "seed": 1}
    before = (
        gate("k", value=5.0, threshold=5.0, relation=">="),
        gate("umr", value=0.5, threshold=0.6),
        gate("sadr", value=0.4001, threshold=0.8),
        gate("err", value=float("inf")),
        gate("ncp", value=0.2, threshold=0.35),
    )
    measured = (
        gate("k", value=2.0, threshold=2.0, relation=">="),
        gate("umr", value=0.23341, threshold=0.6),
        gate("sadr", value=0.4002, threshold=0.8),
        gate("err", value=0.1),
        gate("ncp", value=0.25, threshold=0.35),
    )
    found = _changes(
        now, measured, {"approval": looser}, gates=before, figures={"ncp": {"age": 0.3, "zip": 0.02}}
    )
    assert found == [
        Change("rows", "rows", "8", "9", "+1"),
        Change("rows", "records left out", "2", "1", "-1"),
        Change("roles", "ward", "kept", "dropped", "changed", "open"),
        Change("roles", "age_group", "-", "kept", "new", "open"),
        Change("policy", "privacy.k", "5", "2", "looser", "bad"),
        Change("policy", "roles.kept", "1 value", "1 value", "changed", "open"),
        Change("policy", "roles.dropped", "1 value", "2 values", "changed", "open"),
        Change("policy", "seed", "-", "1", "changed", "open"),
        Change("risk", "rows in the smallest class", "5", "2", "higher risk", "bad"),
        Change("risk", "people whose class is identified (UMR)", "50%", "23.4%", "lower risk", "good"),
        Change("risk", "surest guess of a sensitive value (SADR)", "40.1%", "40.1%", "same"),
        Change("detail", "detail lost (NCP), all columns", "20%", "25%", "more lost", "open"),
        Change("detail", "detail lost of age", "30%", "10%", "less lost", "good"),
    ]


def test_a_public_page_names_no_unseen_column_and_no_file() -> None:
    last = LastRelease(
        "clinic-2023-r1", {**_roles(identifiers=[], dropped=[]), "source": {"path": "old.csv"}}
    )
    of = kept(policy=POLICY, figures={**figures(), **FIGURES}, last=last)
    public = release_report(facts(gate("k")), of).decode()
    assert "What changes against <bdi>clinic-2023-r1</bdi>" in public
    assert "secret/" not in public
    assert "old.csv" not in public
    for name in ("street", "person", "name"):
        assert f"<bdi>{name}</bdi>" not in public
    assert "<bdi>3 more columns</bdi>" in public
    own = page(report_model(facts(gate("k")), of, state="blocked")).decode()
    for text in ("<bdi>street</bdi>", "<bdi>name</bdi>", "secret/table.csv"):
        assert text in own


def test_the_role_and_the_form_of_every_column() -> None:
    rows = {row.name: row for row in column_rows(POLICY, FIGURES)}
    assert {name: (row.role, row.published) for name, row in rows.items()} == {
        "age": ("quasi-identifier", "ranges"),
        "zip": ("quasi-identifier", "sets of values"),
        "disease": ("sensitive", "unchanged"),
        "ward": ("kept", "unchanged"),
        "person": ("key", "never published; follows people by a keyed hash"),
        "name": ("identifier", "never published"),
        "street": ("dropped", "never published"),
    }
    age = rows["age"]
    shown = (age.lost, age.exact, age.median, age.contiguous, age.labels, age.warns)
    assert shown == ("10%", "25%", "4 wide", "100%", "90", False)
    assert (rows["zip"].median, rows["zip"].warns) == ("8 values", True)
    assert list(roles_of(POLICY)) == ["person", "name", "age", "zip", "disease", "ward", "street"]


@pytest.mark.parametrize(
    ("recoding", "column", "published"),
    [
        ("hierarchy", {"type": "categorical", "hierarchy": {"paths": []}}, "nodes of its hierarchy"),
        ("hierarchy", {"type": "categorical"}, "sets of values"),
        ("sets", {"type": "ordinal"}, "ranges"),
        ("sets", {"type": "code"}, "prefixes"),
        ("centroid", {"type": "integer"}, "values of the class"),
        ("adaptive", {"type": "numeric"}, "values with noise"),
    ],
)
def test_how_a_column_is_published(recoding: str, column: dict[str, Any], published: str) -> None:
    roles = {"quasi_identifiers": [{"name": "one", **column}]}
    (row,) = column_rows({"method": {"recoding": recoding}, "roles": roles}, None)
    assert (row.published, row.lost, row.exact) == (published, "", "")


def test_a_column_that_ncp_hides_to_be_lost_is_warned_of() -> None:
    (line,) = lost_columns(FIGURES)
    assert line == (
        "zip: NCP counts 1% of its detail as lost, but it can hardly be grouped by: 100% of its rows hold "
        "several values that are neither one range nor one node of a hierarchy (median 8 values)."
    )
    many = {**SCATTERED, "contiguous": 1.0}
    (line,) = lost_columns({**FIGURES, "groupable": {"zip": many}})
    assert "it has 60 different labels (more than 30), and 0% of its rows hold a single value." in line
    # What NCP tells is not hidden; figures of before, or of another form, warn of nothing.
    assert lost_columns({**FIGURES, "ncp": {"zip": 0.3}}) == []
    assert lost_columns({"ncp": {"zip": 0.01}}) == lost_columns(None) == []
    assert lost_columns({**FIGURES, "groupable": {"zip": {"of another": "form"}}}) == []


def test_contents_in_a_sentence() -> None:
    assert contents(POLICY) == (
        "Each row is about one person. Generalized: age, zip. Unchanged: disease, ward. "
        "Never published: 1 key column and 1 identifier column and 1 dropped column."
    )
    assert contents({**_roles(key=None), "rows": "several"}).startswith("Generalized")
    assert contents({}) == ""


@pytest.mark.parametrize(
    ("value", "listed", "text"),
    [
        (None, True, "-"),
        ("", True, "-"),
        ([], True, "-"),
        (0, True, "0"),
        (False, True, "no"),
        (["a", "b"], True, "a, b"),
        (["a", "b"], False, "2 values"),
        ([["Leeds", "North", "*"], ["York", "*"]], True, "Leeds < North; York"),
        ([str(n) for n in range(201)], True, "201 values"),
    ],
)
def test_a_field_of_the_policy_as_a_text(value: object, listed: bool, text: str) -> None:
    assert field_text("roles.quasi_identifiers.city.values", value, listed=listed) == text


def test_a_revision_tells_its_reason_and_a_first_release_that_it_is_one() -> None:
    made = facts(gate("k"))
    made["summary"] = {**made["summary"], "revision": {"of": "clinic-2024-r1", "reason": "a wrong table"}}
    text = release_report(made, kept()).decode()
    assert "Revision of <bdi>clinic-2024-r1</bdi>: <bdi>a wrong table</bdi>" in text
    assert "This is the first release of the series" in text
    unknown = release_report(made, replace(kept(), n_earlier=2)).decode()
    assert "Nothing says which release it was compared with." in unknown
