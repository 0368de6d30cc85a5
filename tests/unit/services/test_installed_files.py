"""An installation whose files another one wrote over is found."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from release_store.checkup import Condition
from services.doctor import installed_files as installed

RECORD = """flows/__init__.py,sha256=LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ,5
releasegate-1.dist-info/METADATA,sha256=wrong,5
releasegate-1.dist-info/RECORD,,
../../../bin/releasegate,sha256=wrong,5
"""  # the digest is that of `hello`


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    about = tmp_path / "releasegate-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: releasegate\nVersion: 1\n")
    (about / "RECORD").write_text(RECORD)
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "__init__.py").write_text("hello")
    found = metadata.PathDistribution(about)
    monkeypatch.setattr(installed.metadata, "distribution", lambda _: found)
    return tmp_path


def test_files_as_they_were_installed_are_fine(folder: Path) -> None:
    (check,) = installed.installed_files()
    assert (check.condition, check.found) == (Condition.FINE, "1 file as installed")


def test_a_file_that_another_distribution_wrote_over_or_removed_is_told(folder: Path) -> None:
    file = folder / "flows" / "__init__.py"
    file.write_text("other")
    (check,) = installed.installed_files()
    assert check.condition is Condition.WRONG
    assert check.found.endswith(f"1 file altered or missing since the installation: {file}")
    file.unlink()
    assert installed.installed_files()[0].condition is Condition.WRONG


def test_a_checkout_has_no_digests(folder: Path) -> None:
    (folder / "releasegate-1.dist-info" / "RECORD").write_text("releasegate-1.dist-info/RECORD,,\n")
    assert installed.installed_files()[0].found == "a checkout, without a record"
