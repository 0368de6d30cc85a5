"""The units start what the docs start, on this machine only, and hold no secret."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from flows.runtime import settings

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
STARTED = {
    "releasegate-notify.service": "releasegate --store /srv/releasegate/store notify",
    "releasegate-server.service": "prefect server start --host 127.0.0.1",
    "releasegate-worker.service": "prefect worker start --pool release-pool",
}
HARDENED = {
    "NoNewPrivileges": "yes",
    "PrivateTmp": "yes",
    "ProtectHome": "yes",
    "ProtectSystem": "strict",
    "CapabilityBoundingSet": "",
    "UMask": "0077",
}
SECRETS = "/etc/releasegate/secrets.env"


class Unit(configparser.RawConfigParser):
    """A unit's settings, in the case in which they are written; what stands twice is kept in order."""

    def __init__(self, path: Path) -> None:
        super().__init__(strict=False, delimiters=("=",), comment_prefixes=("#",))
        self.read(path, encoding="utf-8")
        lines = path.read_text(encoding="utf-8").splitlines()
        self.files = [line.partition("=")[2] for line in lines if line.startswith("EnvironmentFile=")]

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def variables() -> dict[str, str]:
    lines = (FOLDER / "releasegate.env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def understood(unit: Path | str) -> None:
    """Ask systemd itself, where it is."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not here; the other tests read the units")
    said = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit],
        capture_output=True,
        check=False,
        text=True,
    )
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_starts_one_of_the_programs_as_nobody_special(path: Path) -> None:
    unit = Unit(path)
    assert unit["Service"]["ExecStart"].partition("/bin/")[2] == STARTED[path.name]
    assert unit["Service"]["User"] == "releasegate"
    assert HARDENED.items() <= dict(unit["Service"]).items()


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_takes_its_secrets_from_a_file_and_holds_none(path: Path) -> None:
    unit = Unit(path)
    assert unit.files == ["/opt/releasegate/examples/systemd/releasegate.env", SECRETS]
    held = [*unit["Service"].values(), *variables().values()]
    assert not any(word in value.lower() for value in held for word in ("auth", "token", "key="))
    assert not any("AUTH" in name or "KEY" in name or "TOKEN" in name for name in variables())


def test_each_program_has_a_unit() -> None:
    assert {path.name for path in UNITS} == STARTED.keys()


def test_the_timer_starts_the_notices_often_and_the_unit_starts_by_nothing_else() -> None:
    timer = Unit(FOLDER / "releasegate-notify.timer")
    assert dict(timer["Timer"]) == {"OnCalendar": "*:0/10", "Persistent": "yes"}
    assert timer["Install"]["WantedBy"] == "timers.target"
    unit = Unit(FOLDER / "releasegate-notify.service")
    assert unit["Service"]["Type"] == "oneshot"
    assert "Install" not in unit
    assert unit["Service"]["ReadWritePaths"] == "/srv/releasegate"
    text = (FOLDER.parents[1] / "docs" / "operations.md").read_text(encoding="utf-8")
    assert "releasegate-notify.timer" in text


def test_systemd_understands_the_timer(tmp_path: Path) -> None:
    unit = tmp_path / "releasegate-notify.service"
    unit.write_text("[Service]\nType=oneshot\nExecStart=/bin/true\n")
    copy = shutil.copy(FOLDER / "releasegate-notify.timer", tmp_path)
    understood(copy)


def test_the_settings_keep_data_out_and_the_server_on_this_machine() -> None:
    assert settings.REQUIRED.items() <= variables().items()
    assert variables()["PREFECT_SERVER_API_HOST"] == "127.0.0.1"
    assert variables()["PREFECT_API_URL"].startswith("http://127.0.0.1:")


def test_every_setting_is_one_that_prefect_knows() -> None:
    from prefect.settings.legacy import _get_valid_setting_names
    from prefect.settings.models.root import Settings

    known = _get_valid_setting_names(Settings)
    assert {name for name in variables() if name.startswith("PREFECT_")} <= known


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_understands_every_line(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    program = Unit(path)["Service"]["ExecStart"].split()[0]
    copy = tmp_path / path.name
    copy.write_text(text.replace(program, "/bin/true"))  # what is not there cannot be started
    understood(copy)
