"""A folder that a command starts in configures no library and runs nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from flows.runtime import working_folder
from releasegate.deployments import FLOWS
from releasegate.own_packages import PACKAGES
from services.evaluation import evaluate
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).resolve().parents[2]
OWNER = "owner of the folder"
SHOWN = """
import flows, json, resource
from prefect.settings import get_current_settings
found = get_current_settings()
import great_expectations
print(json.dumps({
    "url": found.api.url,
    "persist": found.results.persist_by_default,
    "logging": str(found.logging.config_path),
    "profiles": str(found.profiles_path),
    "analytics": found.server.analytics_enabled,
    "core": resource.getrlimit(resource.RLIMIT_CORE),
}))
"""
MODULES = ("prefect", "click", "uvicorn", "yaml", "json", "torch", "great_expectations", "sitecustomize")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of each kind that a dependency would read, or run."""
    planted = tmp_path / "planted"
    planted.mkdir()
    (tmp_path / "home").mkdir()
    mark = f"open({str(tmp_path / 'ran')!r}, 'w')"
    url, profiles = "http://127.0.0.1:9/api", planted / "profiles.toml"
    settings = {
        "prefect.toml": f'profiles_path = "{profiles}"\n[results]\npersist_by_default = true\n'
        f'[logging]\nconfig_path = "{planted / "logging.yml"}"\n[api]\nurl = "{url}"\n',
        "pyproject.toml": f'[tool.prefect]\nprofiles_path = "{profiles}"\n'
        f'[tool.prefect.api]\nurl = "{url}"\n',
        ".env": f"PREFECT_API_URL={url}\nPREFECT_PROFILES_PATH={profiles}\n"
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT=1\n",
        "profiles.toml": f'active = "mine"\n[profiles.mine]\nPREFECT_API_URL = "{url}"\n',
        "logging.yml": "version: 1\n",
        "great_expectations.yml": "config_version: 4\nanalytics_enabled: true\n",
        **{f"{name}.py": mark + "\n" for name in MODULES},
    }
    for name, text in settings.items():
        (planted / name).write_text(text)
    (planted / "gx").mkdir()
    (planted / "gx" / "great_expectations.yml").write_text("config_version: 4\n")
    return planted


def child(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the folder as the console script does: the folder is no place of modules."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder.parent / "home"),
        "PYTHONPATH": str(ROOT),
        **more,
    }
    return subprocess.run(
        [sys.executable, "-P", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_TIMEOUT,
    )


@pytest.mark.enemy(OWNER, "runs code")
@pytest.mark.enemy("policy author", "runs code")
def test_no_file_of_the_folder_is_read_as_a_setting(folder: Path, tmp_path: Path) -> None:
    done = child(folder, "-c", SHOWN)
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found.pop("logging").startswith(str(tmp_path / "home"))
    assert found.pop("profiles").startswith(str(tmp_path / "home"))
    assert found == {
        "url": None,
        "persist": False,
        "analytics": False,
        "core": [0, 0],
    }
    assert not (tmp_path / "ran").exists()


@pytest.mark.enemy(OWNER, "runs code")
def test_these_files_would_be_read_without_us(folder: Path) -> None:
    bare = SHOWN.replace("import flows, json, resource", "import json, resource")
    found = json.loads(child(folder, "-c", bare).stdout)
    assert found["url"] == "http://127.0.0.1:9/api"


@pytest.mark.enemy("other account", "reads a file")
def test_processes_of_our_own_have_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers of an evaluation."""
    monkeypatch.setenv("RELEASEGATE_TOKEN", "secret7731")
    with evaluate.one_thread():
        assert "RELEASEGATE_TOKEN" not in os.environ
    assert os.environ["RELEASEGATE_TOKEN"] == "secret7731"  # noqa: S105


@pytest.mark.enemy("other account", "reads a file")
def test_a_flow_starts_no_server_of_its_own(folder: Path) -> None:
    """Prefect's temporary server would listen without a password, and have all of the environment."""
    script = "import flows\nfrom flows.release import release\nrelease('policy.yaml')"
    done = child(folder, "-c", script)
    assert done.returncode == 1
    assert "No Prefect API URL provided" in done.stderr


@pytest.mark.enemy(OWNER, "runs code")
def test_a_deployed_flow_is_ours_whatever_packages_the_folder_of_the_deployment_has(
    folder: Path, tmp_path: Path
) -> None:
    """Prefect puts that folder before all other places of modules."""
    for name in PACKAGES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    places = "import sys; from prefect.utilities.importtools import import_object; sys.path.insert(0, '')"
    names = sorted(FLOWS)
    made = f"[import_object('releasegate.deployments.' + name).fn.__module__ for name in {names}]"
    for file in folder.glob("*.py"):  # what Prefect itself imports from there is the operator's
        file.unlink()
    done = child(folder, "-c", f"{places}\nprint({made})")
    assert done.stderr == ""
    assert done.stdout.strip() == str([FLOWS[name] for name in names])
    assert not (tmp_path / "ran").exists()


def test_the_deployed_flows_are_those_of_the_deployments() -> None:
    document = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    named = {one["entrypoint"] for one in document["deployments"]}
    assert named == {f"releasegate.deployments.{name}" for name in FLOWS}


def test_nothing_relative_is_a_place_of_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["__editable__.x.finder.__path_hook__", "/usr/lib/x", "packages"])
    working_folder._leave_out_of_path()
    assert sys.path == ["/usr/lib/x"]
