"""A privacy model of another package from the policy to the report and the audit, with and without it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from release_store.verification.verify import verify
from tasks.packages import trust_packages
from tasks.privacy.added import ENTRY_POINTS
from tests.support.foreign_package import installed
from tests.support.front_desk import Desk
from tests.support.pages.lived import read
from tests.support.simpson import MODULE

Capture = pytest.CaptureFixture[str]
LOOSE = {"max": 1}


@pytest.fixture
def offered(desk: Desk, tmp_path_factory: pytest.TempPathFactory, monkeypatch: Any) -> Iterator[Path]:
    """Install the package, and give the file of what the store's owner trusts."""
    folder = tmp_path_factory.mktemp("packages")
    with installed(folder, monkeypatch, "foreign_simpson", MODULE, ENTRY_POINTS) as offers:
        offers("simpson = foreign_simpson:SIMPSON")
        trust_packages([])
        yield desk.folder / "trusted.yaml"


def with_model(desk: Desk, **parameters: Any) -> Path:
    models = {"added": {"simpson": parameters}}
    return desk.policy(gates={"models": models, "ncp": LOOSE, "suppression": LOOSE})


def test_a_release_holds_it_its_report_asks_it_and_an_audit_asks_it_again(
    desk: Desk, offered: Path, capsys: Capture
) -> None:
    offered.write_text("packages: [foreign-simpson]\n")
    assert desk.run(with_model(desk, max=0.36), desk.table()) == 0
    (release,) = desk.store.releases()
    (result,) = [one for one in desk.store.gates(release.candidate_id) if one.gate == "simpson"]
    assert result.value is not None
    assert 1 / 3 - 1e-9 <= result.value <= 0.36 + 1e-9
    page = read(desk.root / "releases/clinic" / release.release_id / "report.html").text()
    assert "How likely do two people of a class have one sensitive value, at most?" in page
    assert verify(desk.store) == []

    def audited() -> str:
        capsys.readouterr()
        desk.say("audit", "clinic", "--by", "eve", "--json")
        (one,) = json.loads(capsys.readouterr().out)["releases"]
        return str(next(gate["verdict"] for gate in one["gates"] if gate["gate"] == "simpson"))

    assert audited() == "pass"
    offered.unlink()
    assert audited() == "not_run"


def test_what_the_policy_cannot_ask_for_is_told_before_any_work(
    desk: Desk, offered: Path, capsys: Capture
) -> None:
    assert desk.run(with_model(desk, max=0.5), desk.table()) == 2
    told = capsys.readouterr().err
    assert "gates.models.added.simpson: is a privacy model of the package foreign-simpson" in told
    assert "foreign_simpson" not in sys.modules
    offered.write_text("packages: [foreign-simpson]\n")
    assert desk.run(with_model(desk, maxx=0.5), desk.table()) == 2
    told = capsys.readouterr().err
    assert "gates.models.added.simpson.maxx: unknown parameter (did you mean 'max'?)" in told
    assert desk.run(with_model(desk, max=0.3), desk.table()) == 3
    assert "'disease' misses gates.models.added.simpson" in capsys.readouterr().err
    assert list(desk.store.candidates("clinic")) == []
