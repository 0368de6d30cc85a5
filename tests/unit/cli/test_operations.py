"""The flows of the deployments that decide, take down, review and evaluate, as functions of a store."""

from __future__ import annotations

import json

import pytest

from policy.errors import ReleaseGateError, UsageError, VerificationFailed
from release_store.approval.authentication import system_account
from release_store.publishing.public_files import release_folder
from services.store_review import review_markdown, review_rows, review_store, summary_line
from tests.support.front_desk import Desk, artifact

RELEASE = "clinic-2026Q1-r1"


def damaged(desk: Desk) -> None:
    data = release_folder(desk.root, "clinic", RELEASE) / "data.csv"
    data.chmod(0o600)
    data.write_text(data.read_text().replace("flu", "flew", 1))


# The review of a store ------------------------------------------------------------------------------------


def test_a_store_that_is_what_it_was_is_told_in_one_line_and_a_table(published: Desk) -> None:
    found = review_store(published.store, by="cyd")
    assert found.ok
    n_events = published.store.n_events()
    assert summary_line(found).startswith(f"1 release and {n_events} events: OK, no tampering")
    (row,) = review_rows(found)
    assert (row["series"], row["release"], row["state"], row["not passed"]) == (
        "clinic",
        RELEASE,
        "published",
        "",
    )
    page = review_markdown(found)
    assert page.startswith("# Audit review: nothing is wrong\n")
    assert f"| {RELEASE} | published |" in page


def test_an_empty_store_is_fine(desk: Desk) -> None:
    found = review_store(desk.store, by="cyd")
    assert found.ok
    assert (found.n_releases, review_rows(found)) == (0, [])


def test_a_release_that_was_touched_is_damage_and_would_not_pass(published: Desk) -> None:
    damaged(published)
    found = review_store(published.store, by="cyd")
    assert not found.ok
    assert found.findings
    assert "found by `verify`" in summary_line(found)
    page = review_markdown(found)
    assert page.startswith("# Audit review: something is wrong\n")
    assert "## Damage" in page
    assert "flew" not in page


def test_a_series_without_a_release_is_no_series_to_review(published: Desk) -> None:
    with pytest.raises(UsageError, match="clinics"):
        review_store(published.store, by="cyd", series="clinics")


def test_what_people_wrote_ends_no_line_and_no_cell(published: Desk) -> None:
    from services.store_review import _cell

    assert _cell("a|b\n# `c`") == "a\\|b\\x0a# 'c'"


# The flows ------------------------------------------------------------------------------------------------


@pytest.mark.prefect
def test_the_review_completes_or_fails_with_a_page_and_a_table(prefect_server: None, published: Desk) -> None:
    from flows.audit_review import audit_review

    fine = audit_review(store=str(published.root), return_state=True)
    assert fine.is_completed(), fine.message
    assert "OK, no tampering found" in str(fine.message)
    assert [row["release"] for row in json.loads(artifact("audit-review-releases"))] == [RELEASE]
    damaged(published)
    wrong = audit_review(store=str(published.root), return_state=True)
    assert wrong.is_failed()
    assert "found by `verify`" in str(wrong.message)
    assert artifact("audit-review").startswith("# Audit review: something is wrong")
    assert "## Not reviewed" in artifact("audit-review")
    assert json.loads(artifact("audit-review-releases")) == []


@pytest.mark.prefect
def test_methods_are_laid_side_by_side(prefect_server: None, desk: Desk) -> None:
    from flows.evaluate_flow import evaluate_methods

    asked = {
        "methods": "mondrian,mdav",
        "seeds": 1,
        "input_path": str(desk.table()),
        "jobs": 1,
        "period": "2026Q1",
    }
    out = desk.folder / "figures"
    state = evaluate_methods(policy=str(desk.policy()), out=str(out), **asked, return_state=True)
    assert state.message == f"2 runs, 0 failed; figures in {out}/"
    assert (out / "results.csv").is_file()
    rows = json.loads(artifact("evaluation"))
    assert [(row["method"], row["failed"]) for row in rows] == [("mondrian", "0"), ("mdav", "0")]
    again = evaluate_methods(policy=str(desk.policy()), out=str(out), **asked, return_state=True)
    assert isinstance(again.result(raise_on_failure=False), UsageError)


@pytest.mark.prefect
def test_another_digest_than_the_one_that_was_looked_at_is_not_decided_on(
    prefect_server: None, published: Desk
) -> None:
    from flows.decision import decide_release

    state = decide_release(
        candidate="clinic-2026Q1-c1",
        candidate_digest="0" * 64,
        decision="approve",
        by="bob",
        reason="seen",
        signature="none",
        store=str(published.root),
        return_state=True,
    )
    assert isinstance(state.result(raise_on_failure=False), VerificationFailed)
    refused = published.store.events()[-1]
    asked = ("decision.refused", "clinic-2026Q1-c1", system_account())
    assert (refused.action, refused.object, refused.actor) == asked
    assert refused.payload["claimed_by"] == "bob"
    assert refused.reason == "its digest changed since it was shown"


@pytest.mark.prefect
def test_without_a_signature_nothing_is_taken_down(prefect_server: None, published: Desk) -> None:
    from flows.withdraw import withdraw_release

    state = withdraw_release(
        release=RELEASE,
        by="bob",
        reason="a mistake",
        signature="none",
        store=str(published.root),
        return_state=True,
    )
    assert isinstance(state.result(raise_on_failure=False), UsageError)
    assert release_folder(published.root, "clinic", RELEASE).is_dir()


def test_a_signed_form_withdraws_and_restores(published: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    from flows.withdraw import restore_release, withdraw_release

    folder = release_folder(published.root, "clinic", RELEASE)
    for act, flow, is_public in ("withdraw", withdraw_release, False), ("restore", restore_release, True):
        said = ("--by", "bob", "--reason", "by mistake")
        capsys.readouterr()
        assert published.say("sign", act, RELEASE, *said) == 0
        signed = capsys.readouterr().out.strip()
        other = withdraw_release if is_public else restore_release
        with pytest.raises(ReleaseGateError):
            other.fn(RELEASE, "bob", "by mistake", signed, str(published.root))
        state = flow.fn(RELEASE, "bob", "by mistake", signed, str(published.root))
        assert state.message.startswith(f"{RELEASE} is {act.removesuffix('e')}")
        assert folder.is_dir() == is_public


def test_every_parameter_of_a_form_says_what_it_is() -> None:
    from flows.audit_review import audit_review
    from flows.decision import decide_release
    from flows.evaluate_flow import evaluate_methods
    from flows.release import release
    from flows.withdraw import restore_release, withdraw_release

    flows = audit_review, decide_release, evaluate_methods, release, withdraw_release, restore_release
    for flow in flows:
        for name, shown in flow.parameters.properties.items():
            assert shown.get("description"), f"{flow.name}: {name}"
    form = decide_release.parameters
    assert form.properties["decision"]["enum"] == ["approve", "reject", "override"]
    assert {"by", "reason", "signature", "candidate", "candidate_digest"} <= set(form.required or [])
    assert {form.properties[name]["minLength"] for name in ("by", "reason", "signature")} == {1}
