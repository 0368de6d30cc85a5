"""What Prefect is shown of a verdict: words, links where an address is set, and a small picture."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image
from prefect.client.schemas.actions import ArtifactCreate

from flows.runtime import verdict_artifacts as artifacts
from flows.runtime.artifacts import artifact_key
from flows.runtime.settings import SITE_VARIABLE, site_url
from flows.runtime.verdict_artifacts import markdown_of, show_verdict
from release_store.records import CandidateState, GateResult, Verdict
from release_store.store import ReleaseStore
from reports.report_model import candidate_facts
from reports.series_pictures import AssessedRelease
from tests.support.pages.sheets import gate
from tests.support.store import hand_made

UMR = GateResult("umr", Verdict.PASS, 0.4, 0.6, "<=", "prosecutor", 0.01)
NCP = GateResult("ncp", Verdict.PASS, 0.2, 0.35, "<=", "", 0.01)
BLOCKED = "clinic-2026-c1"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What Prefect was shown in a run: the kind of each artifact, and what it is."""
    found: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr("flows.runtime.artifacts.FlowRunContext", SimpleNamespace(get=lambda: "a run"))
    monkeypatch.setattr(artifacts, "prefect_api", lambda: "http://127.0.0.1:9/api")
    for kind in ("image", "markdown"):
        monkeypatch.setattr(
            f"prefect.artifacts.create_{kind}_artifact",
            lambda kind=kind, **given: found.append((kind, given)),
        )
    return found


def waiting(store: ReleaseStore, *results: GateResult) -> str:
    record = hand_made.stage(store, period="2027", approvers=1)
    store.record_gates(record.candidate_id, results, to=CandidateState.AWAITING_APPROVAL, actor="ann")
    return record.candidate_id


def page(store: ReleaseStore, candidate: str, release: str = "") -> str:
    return markdown_of(store, candidate_facts(store, candidate), release)


def test_what_is_held_back_says_by_what(clinic: ReleaseStore) -> None:
    lines = page(clinic, BLOCKED).splitlines()
    assert lines[0] == "# ✗ Blocked by k"
    assert f"Candidate `{BLOCKED}` of clinic, 2026." in lines
    assert "| k | fail | 1 | at least 2 |" in lines
    assert f"releasegate show {BLOCKED}" in lines
    assert not [line for line in lines if "approve" in line]


def test_what_waits_names_the_commands_that_decide(clinic: ReleaseStore) -> None:
    candidate = waiting(clinic, hand_made.K_PASSES)
    lines = page(clinic, candidate).splitlines()
    assert lines[0] == "# … Passes every gate and awaits approval by one person"
    assert f"releasegate approve {candidate} --by NAME --reason TEXT" in lines
    assert f"releasegate reject {candidate} --by NAME --reason TEXT" in lines
    assert "## Gates that failed" not in lines


def test_a_release_has_the_tiles_of_the_report(clinic: ReleaseStore) -> None:
    lines = page(clinic, "clinic-2024-c1", "clinic-2024-r1").splitlines()
    assert lines[0] == "# ✓ Published"
    at = next(i for i, line in enumerate(lines) if line.startswith("| rows |"))
    names, values = (line.strip("| ").split(" | ") for line in (lines[at], lines[at + 2]))
    assert dict(zip(names, values, strict=True))["smallest class"] == "3"
    assert "releasegate evidence clinic-2024-r1" in lines


def test_links_stand_only_where_an_address_is_set(
    clinic: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SITE_VARIABLE, raising=False)
    assert "](" not in page(clinic, BLOCKED)
    monkeypatch.setenv(SITE_VARIABLE, "https://releases.example.org/desk/")
    address = f"https://releases.example.org/desk/series/clinic/{BLOCKED}.html"
    assert f"[{BLOCKED}]({address})" in page(clinic, BLOCKED)


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [
        ("http://desk.example.org", "http://desk.example.org"),
        ("https://desk.example.org:8443/a/", "https://desk.example.org:8443/a"),
        (
            "https://desk.example.org/a) [b](javascript:x",
            "https://desk.example.org/a%29%20[b]%28javascript:x",
        ),
        ("javascript:alert(1)", ""),
        ("file:///srv/site", ""),
        ("https://", ""),
        ("https://[", ""),
        ("https://desk.example.org/?a=b", ""),
        ("desk", ""),
        ("", ""),
    ],
)
def test_an_address_is_one_of_http(given: str, is_taken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SITE_VARIABLE, given)
    assert site_url() == is_taken


def test_words_are_no_markup_and_no_reason_is_told(clinic: ReleaseStore) -> None:
    candidate = waiting(clinic, hand_made.K_PASSES)
    made = candidate_facts(clinic, candidate)
    made["summary"] = {**made["summary"], "n_source": 9}
    made["decisions"] = [{"decision": "approve", "by": "ann", "reason": "cnryreason"}]
    made["gates"] = [{**made["gates"][0], "verdict": "<img src=x>", "gate": "[a](b)|`c`"}]
    text = markdown_of(clinic, made)
    assert "cnryreason" not in text
    assert "<img" not in text.replace("\\<", "")
    assert "[a](" not in text


def test_the_picture_is_small_however_many_releases_there_are(
    clinic: ReleaseStore, told: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [
        AssessedRelease(
            f"2026-12-{i}", [gate("umr", value=i * 37 % 101 / 101), gate("ncp", value=i * 61 % 97 / 97)]
        )
        for i in range(1000)
    ]
    monkeypatch.setattr(artifacts, "assessed_releases", lambda *_: many)
    show_verdict(clinic, waiting(clinic, hand_made.K_PASSES, UMR, NCP))
    (_, drawn), _ = told
    url = drawn["image_url"]
    assert len(url) < 60_000
    image = Image.open(io.BytesIO(base64.b64decode(url.removeprefix("data:image/png;base64,"))))
    assert image.width == 840
    print(len(url))


def test_both_are_shown_and_the_candidate_is_among_the_releases(
    clinic: ReleaseStore, told: list[tuple[str, dict[str, Any]]]
) -> None:
    candidate = waiting(clinic, hand_made.K_PASSES, UMR, NCP)
    show_verdict(clinic, candidate)
    (image, drawn), (markdown, said) = told
    assert (image, drawn["key"]) == ("image", "risk-utility-clinic")
    assert drawn["description"].startswith(f"{candidate}: ")
    assert "2027-c1: 20% of detail lost, UMR 40%" in drawn["description"]
    assert (markdown, said["key"]) == ("markdown", "verdict-clinic")
    assert "the artifact `risk-utility-clinic`" in said["markdown"]


def test_without_a_server_that_stays_nothing_is_drawn(
    clinic: ReleaseStore, told: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "prefect_api", lambda: None)
    show_verdict(clinic, waiting(clinic, hand_made.K_PASSES, UMR, NCP))
    assert [kind for kind, _ in told] == ["markdown"]


def test_what_breaks_is_a_line_of_the_log(
    clinic: ReleaseStore,
    told: list[tuple[str, dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("RELEASEGATE_LOG", str(tmp_path / "log.jsonl"))
    monkeypatch.setattr(artifacts, "png", lambda *_, **__: 1 / 0)
    show_verdict(clinic, waiting(clinic, hand_made.K_PASSES, UMR, NCP))
    (line,) = [json.loads(one) for one in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert (line["event"], line["error"]) == ("verdict.not_shown", "ZeroDivisionError")
    assert told == []


def test_each_series_has_a_key_of_its_own_that_prefect_takes() -> None:
    series = ("clinic", "Clinic", "CLINIC", "clinic-north", "clinic_north", "Clinic_North", "a__b", "a--b")
    keys = [ArtifactCreate(key=artifact_key("verdict", one)).key for one in series]
    assert len(set(keys)) == len(series)
    assert keys[:2] == ["verdict-clinic", "verdict-clinic-0a8df495"]
    assert keys[3] == "verdict-clinic-north"
    assert keys[5].startswith("verdict-clinic-north-")
