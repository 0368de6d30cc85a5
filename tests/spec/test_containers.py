"""The Dockerfiles and compose.yaml hold together: no engine runs here, so each part is checked by itself."""

from __future__ import annotations

import ast
import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.app import COMMANDS
from releasegate.own_packages import PACKAGES
from services.doctor.required_settings import REQUIRED
from tests.spec import docs_pages
from tests.support.timeouts import HANG_TIMEOUT

ROOT = docs_pages.ROOT
DOCKERFILES = (ROOT / "Dockerfile", ROOT / "examples" / "cluster" / "Dockerfile")
SECRET = re.compile(r"(AUTH_STRING|PASSWORD|TOKEN|SECRET|API_KEY)\s*[=:]\s*\S")


def instructions(file: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, each with its words."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in joined.splitlines() if line.strip()]


def copied(file: Path) -> list[str]:
    """Return what a Dockerfile copies from the folder of the sources."""
    words = [shlex.split(words) for name, words in instructions(file) if name == "COPY"]
    return [name for one in words if not one[0].startswith("--from") for name in one[:-1]]


def composed() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_package_and_file_that_an_image_needs_is_copied_and_nothing_else_is_sent(file: Path) -> None:
    names = copied(file)
    assert all((ROOT / name).exists() for name in names)
    assert {name for name in names if (ROOT / name).is_dir()} == {*PACKAGES, "releasegate"}
    assert {"requirements.lock", "pyproject.toml", "README.md", "LICENSE"} <= set(names)
    kept = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert kept[0] == "*"
    allowed = [line.removeprefix("!") for line in kept if line.startswith("!")]
    assert all(any(fnmatch.fnmatch(name, one) for one in allowed) for name in names)


def test_the_image_is_of_a_named_version_and_its_process_is_not_root() -> None:
    found = instructions(ROOT / "Dockerfile")
    stages = [words for name, words in found if name == "FROM"]
    assert stages == ["python:${PYTHON} AS build", "python:${PYTHON}"]
    (python,) = (words for name, words in found if name == "ARG" and words.startswith("PYTHON="))
    assert re.fullmatch(r"PYTHON=3\.1[1-3]-slim-[a-z]+", python)
    last = [name for name, _ in found].index("USER")
    user = dict(found)["USER"]
    assert user == "10001:10001"
    assert f"useradd --uid {user.partition(':')[0]} " in dict(found[:last])["RUN"]
    assert all(name != "RUN" for name, _ in found[last:])


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml"])
def test_no_secret_is_written_into_an_image_or_a_file(name: str) -> None:
    assert not SECRET.search((ROOT / name).read_text(encoding="utf-8"))


def test_each_service_runs_a_command_that_exists() -> None:
    for name, service in composed()["services"].items():
        entry = service["entrypoint"]
        if entry[0] == "releasegate":
            words = service["command"]
            assert words[0] in COMMANDS, name
            shown = _run([sys.executable, "-m", "releasegate", words[0], "--help"], ROOT)
            assert all(word.partition("=")[0] in shown for word in words[1:]), name
        elif entry[0] == "prefect":
            assert _prefect_knows(service["command"]), name
        else:
            assert entry == ["/bin/sh", "-ec"]
            subprocess.run(["/bin/sh", "-n", "-c", service["command"][0]], check=True)
            lines = [line for line in service["command"][0].splitlines() if line.startswith("prefect ")]
            assert lines
            assert all(_prefect_knows(shlex.split(line)[1:]) for line in lines), name


def _prefect_knows(words: list[str]) -> bool:
    """Tell whether Prefect has the options of a command, by the text of the module that has it."""
    import prefect.cli

    folder = Path(prefect.cli.__file__).parent
    names = [word for word in words if not word.startswith("-")]
    places = [
        path for path in folder.glob(f"{names[0].replace('-', '_')}*") if "__pycache__" not in str(path)
    ]
    files = [file for path in places for file in ([path] if path.is_file() else path.glob("*.py"))]
    text = "".join(file.read_text(encoding="utf-8") for file in [*files, *folder.glob("_app.py")])
    options = [word for word in words if word.startswith("--") and word != "--no-prompt"]
    return bool(files) and all(
        f'"{one}"' in text or f"{one.removeprefix('--').replace('-', '_')}:" in text for one in options
    )


def test_volumes_ports_and_health_fit_together() -> None:
    document = composed()
    services = document["services"]
    used = {volume.partition(":")[0] for one in services.values() for volume in one["volumes"]}
    assert used == set(document["volumes"])
    places = {volume.partition(":")[2] for one in services.values() for volume in one["volumes"]}
    (declared,) = (words for name, words in instructions(ROOT / "Dockerfile") if name == "VOLUME")
    assert places == set(ast.literal_eval(declared))
    for name, service in services.items():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service.get("env_file") == (None if name == "serve" else "server.env")
        assert re.fullmatch(r"releasegate:\d+\.\d+\.\d+", service["image"]), name
        for other, wait in service.get("depends_on", {}).items():
            assert ("healthcheck" in services[other]) == (wait["condition"] == "service_healthy")
            assert wait["condition"] in ("service_healthy", "service_completed_successfully")
    assert services["server"]["ports"] == ["127.0.0.1:4200:4200"]
    assert services["server"]["command"][-1] == "4200"
    assert services["worker"]["environment"]["PREFECT_API_URL"] == "http://server:4200/api"
    probes = [" ".join(one["healthcheck"]["test"]) for one in services.values() if "healthcheck" in one]
    assert [re.findall(r"127\.0\.0\.1:(\d+)", probe) for probe in probes] == [["4200"], ["8080"], []]


def test_the_version_of_the_image_is_that_of_the_project_and_nothing_of_the_data_is_kept() -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    for service in composed()["services"].values():
        assert service["image"] == f"releasegate:{version[1]}"
        if "environment" not in service:
            assert service["entrypoint"] == ["releasegate"]  # without Prefect
            continue
        assert {name: service["environment"][name] for name in REQUIRED} == REQUIRED


@pytest.mark.integration
def test_what_an_image_copies_is_a_whole_installation(tmp_path: Path) -> None:
    """The wheel of these files alone has everything that a command reads, and runs from any folder."""
    source, site, folder = tmp_path / "source", tmp_path / "site", tmp_path / "folder"
    source.mkdir()
    folder.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    for name in copied(ROOT / "Dockerfile"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    alone = ["--no-deps", "--no-build-isolation", "--no-index"]
    _run([*pip, "wheel", *alone, "--wheel-dir", str(tmp_path), str(source)], folder)
    (wheel,) = tmp_path.glob("releasegate-*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    wanted = [
        str(file.relative_to(ROOT))
        for room in (*PACKAGES, "releasegate")
        for file in (ROOT / room).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]
    assert set(wanted) <= packed
    assert any(name.endswith(".sql") for name in wanted)
    _run([*pip, "install", "--no-deps", "--no-index", "--target", str(site), str(wheel)], folder)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(site)}
    begin = [sys.executable, "-P", "-c", "from releasegate.__main__ import entry; entry()"]
    assert _run([*begin, "--version"], folder, environment).startswith("releasegate ")
    _run([*begin, "init"], folder, environment)
    _run([*begin, "report"], folder, environment)
    assert (folder / "report" / "index.html").is_file()


def _run(words: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_TIMEOUT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
