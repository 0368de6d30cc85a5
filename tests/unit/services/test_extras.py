"""What is not installed: one line says what needs it and how to install it; the rest works."""

from __future__ import annotations

import sys
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from flows.runtime.local_run import server_is_named
from policy.errors import UsageError
from policy.model import Method as ChosenMethod
from policy.model import ReleasePolicy
from release_store.checkup import Condition
from services.doctor import versions as version_checks
from services.doctor.server import server
from services.drafting.limits import method_lines
from services.drafting.trial import try_policy
from services.observability.notice_channels import NotDelivered, _to_prefect
from services.observability.notice_kinds import Notice
from tasks.methods.base import Method
from tasks.methods.presets import PRESETS
from tasks.methods.registry import bound_method
from tests.support.front_desk import Desk
from tests.support.small import ILLNESS, small_policy

LEARNED = {method.name for method in PRESETS if method.representation == "autoencoder"}
HINT = "pip install 'releasegate[autoencoder]' --extra-index-url https://download.pytorch.org/whl/cpu"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.fixture
def no_prefect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prefect", None)


def with_method(**method: object) -> ReleasePolicy:
    return small_policy(None, ILLNESS).model_copy(update={"method": ChosenMethod.model_validate(method)})


@pytest.mark.parametrize("method", PRESETS, ids=lambda method: method.name)
def test_without_torch_every_method_but_those_of_the_autoencoder_can_be_chosen(
    no_torch: None, method: Method
) -> None:
    policy = with_method(name=method.name, recoding=method.recoding)
    if policy.method.name not in LEARNED:
        assert bound_method(policy).name == policy.method.name
        return
    with pytest.raises(UsageError) as caught:
        bound_method(policy)
    assert caught.value.message == f"{policy.method.name} needs the package torch, which is not installed"
    assert HINT in caught.value.hint


def test_there_are_methods_of_both_kinds() -> None:
    assert {"ae-lrhma"} < LEARNED < {method.name for method in PRESETS}


def test_a_part_that_is_chosen_by_itself_needs_the_package_too(no_torch: None) -> None:
    with pytest.raises(UsageError, match="mondrian needs the package torch"):
        bound_method(with_method(name="mondrian", representation="autoencoder"))
    assert bound_method(with_method(name="ae-lrhma", representation="original")).parts[0] == "original"


@pytest.mark.parametrize("command", ["check", "run", "evaluate"])
def test_a_command_says_it_in_one_line_and_a_hint_before_any_work(
    desk: Desk, no_torch: None, capsys: Capture, command: str
) -> None:
    policy, table = desk.policy(method={"name": "ae-lrhma"}), desk.table()
    more = ["--methods", "ae-lrhma", "--out", desk.folder / "out"] if command == "evaluate" else []
    assert desk.say(command, policy, "--input", table, "--period", "2026Q1", *more) == UsageError.exit_code
    told = " ".join("".join(capsys.readouterr()).split())
    assert "clinic.yaml: method: ae-lrhma needs the package torch, which is not installed" in told
    assert "Traceback" not in told
    assert not desk.store.candidates()


@pytest.mark.integration
def test_a_draft_tries_what_is_installed_and_says_what_it_left_out(tmp_path: Path, no_torch: None) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{i % 60},{('Riga', 'Oslo', 'Cork')[i % 3]},{('flu', 'hiv')[i % 2]}" for i in range(120)]
    table.write_text("\n".join(["age,city,illness", *rows]) + "\n", encoding="utf-8")
    found = try_policy(small_policy(None, ILLNESS, expectations={"missing": 0.05}), table)
    assert [one.label for one in found.methods if one.problem] == ["ae-lrhma"]
    written = [line for line in method_lines(found) if "ae-lrhma" in line]
    assert len(written) == 1
    assert "left out: ae-lrhma needs the package torch, which is not installed" in written[0]


def test_a_server_that_is_named_needs_prefect(no_prefect: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    with pytest.raises(UsageError) as caught:
        server_is_named()
    assert str(caught.value).startswith("PREFECT_API_URL: needs the package prefect, which is not installed")
    assert "releasegate[server]" in caught.value.hint
    (check,) = server()
    assert (check.condition, check.hint) == (Condition.WRONG, caught.value.hint)


def test_without_prefect_and_without_a_server_a_run_is_in_this_process(
    no_prefect: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    (tmp_path / "profiles.toml").write_text('active = "a"\n[profiles.a]\nPREFECT_API_URL = "http://x/api"\n')
    assert server_is_named() is False


def test_a_notice_to_a_server_stays_due_without_prefect(no_prefect: None) -> None:
    notice = Notice("releasegate.release.published", "0" * 64, 1, "2026-01-01T00:00:00Z", "published")
    with pytest.raises(NotDelivered) as caught:
        _to_prefect(notice, 1.0)
    assert "prefect" in caught.value.message
    assert "releasegate[server]" in caught.value.hint


def test_an_extra_counts_only_where_its_first_package_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    extras = {
        "here": [Requirement("pytest"), Requirement("no-such-package")],
        "not here": [Requirement("no-such-either"), Requirement("pytest<1")],
    }
    monkeypatch.setattr(version_checks, "_extras", lambda: extras)
    found = [one.found for one in version_checks.versions() if one.condition is Condition.WRONG]
    assert found == ["no-such-package is not installed"]


@pytest.mark.parametrize("beside", [True, False], ids=["a checkout", "installed"])
def test_the_extras_are_those_of_the_project(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, beside: bool
) -> None:
    if not beside:
        lines = ["numpy>=2", 'torch==2; extra == "autoencoder"', 'prefect>=3; extra == "server"']
        monkeypatch.setattr(version_checks, "_PROJECT", tmp_path / "none")
        monkeypatch.setattr(version_checks.metadata, "requires", lambda _: lines)
        about = Message()
        about["Provides-Extra"] = "autoencoder"
        about["Provides-Extra"] = "server"
        monkeypatch.setattr(version_checks.metadata, "metadata", lambda _: about)
    found = version_checks._extras()
    assert [one.name for one in found["autoencoder"]] == ["torch"]
    assert found["server"][0].name == "prefect"
    assert "dev" not in found
