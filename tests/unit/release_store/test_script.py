"""The script in evidence is made of the modules of the store, and needs nothing else."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from importlib import import_module
from pathlib import Path

import pytest

from policy.errors import StoreError
from release_store.evidence import script as generator
from release_store.evidence.examine import examine
from release_store.evidence.known import EARLIER_SCRIPTS
from release_store.evidence.script import MODULES, script


def test_it_imports_the_standard_library_and_cryptography_alone() -> None:
    tree = ast.parse(script())
    found = {one.name for node in tree.body if isinstance(node, ast.Import) for one in node.names}
    found |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    tops = {name.split(".")[0] for name in found}
    assert tops - {"cryptography"} <= set(sys.stdlib_module_names)
    assert "cryptography" in tops


def test_every_rule_stands_in_it_as_in_its_module() -> None:
    text = script().decode()
    for folder, name in MODULES:
        module = import_module(f"release_store.{folder}.{name}")
        own = [one for one in vars(module).values() if inspect.isfunction(one) or inspect.isclass(one)]
        for one in own:
            if one.__module__ == module.__name__:
                assert inspect.getsource(one) in text


# The digest of the script that is written now. Where it changes, add the digest that stands here to
# `EARLIER_SCRIPTS`, if a bundle may have been written with it, and put the new one here.
THIS_SCRIPT = "788fab7aa0e2cdb01d5b323420a5bbf2c5d29526c87e5c01e87ebcfcf33e40ce"
EARLIER_BUNDLE = Path(__file__).parents[2] / "fixtures" / "bundle_of_earlier_script.zip"


def test_the_digest_of_the_script_is_known_to_those_that_come_after_it() -> None:
    assert hashlib.sha256(script()).hexdigest() == THIS_SCRIPT
    assert THIS_SCRIPT not in EARLIER_SCRIPTS


def test_a_bundle_of_an_earlier_script_verifies_with_a_note() -> None:
    report = examine(EARLIER_BUNDLE)
    assert report.findings == []
    assert report.summary.endswith("; no tampering found")
    assert [note for note in report.notes if "its script is of an earlier releasegate" in note]


def test_a_name_of_two_modules_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text('"""A module."""\n\nimport json\n\n\ndef rule(): ...\n')
    monkeypatch.setattr(generator.resources, "files", lambda _: tmp_path)
    monkeypatch.setattr(generator, "MODULES", (("protocol", "first"), ("protocol", "second")))
    with pytest.raises(StoreError, match="defines rule, as"):
        script.__wrapped__()


def test_a_module_that_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator.resources, "files", lambda _: tmp_path)
    with pytest.raises(StoreError, match=r"protocol/names.py: cannot be read \(FileNotFoundError\)"):
        script.__wrapped__()
