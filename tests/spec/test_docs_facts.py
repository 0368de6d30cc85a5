"""What the pages say of gates, methods, dependencies, formats, data sets and errors is what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from policy import errors
from policy.gates import Gates
from policy.load import parse_policy
from policy.model import Privacy
from release_store.records import EquivalenceClasses
from release_store.states import CANDIDATE_TRANSITIONS
from tasks.history.required import Required
from tasks.recoding.cells import read_set, write_set
from tasks.recoding.closure import closure_of
from tasks.recoding.labels import labels_of, read_cell
from tasks.risk.registry import GATES
from tests.spec import docs_generated, docs_pages
from tests.support.small import small_policy

ROOT = docs_pages.ROOT
DOCS = ROOT / "docs"


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_first_screen_of_the_readme_is_short() -> None:
    lines = _text("README.md").splitlines()
    assert lines.index("## Why") <= 40


def test_every_gate_is_documented_and_no_other() -> None:
    named = [docs_pages.code(heading) for heading in docs_pages.headings(DOCS / "gates.md", "###")]
    assert named == list(GATES)


def test_a_threshold_that_is_named_is_a_field_of_the_policy() -> None:
    named = re.findall(r"`(gates|privacy)\.(\w+)", _text("docs/gates.md"))
    assert {field for section, field in named if section == "gates"} == set(Gates.model_fields)
    assert {field for section, field in named if section == "privacy"} == set(Privacy.model_fields)


def test_the_tables_of_the_readme_fail_beside_each_other_and_pass_alone() -> None:
    from tasks.geometry.space import boxes_of, space_of
    from tasks.history.intersection import history_of, pairwise

    rows = docs_pages.table(docs_pages.section(ROOT / "README.md", "Why"))
    policy = parse_policy(
        "series: s\nroles:\n  quasi_identifiers:\n    age: {type: integer, bounds: [0, 110]}\n"
        "  sensitive: {diagnosis: {stability: stable}}\n",
        Path("p.yaml"),
    )
    releases = []
    for _, age, _, diagnoses in rows:
        low, high = map(int, age.split(" to "))
        values = tuple(diagnoses.split(", "))
        assert len(values) >= 2
        counts = {"diagnosis": np.array([[4, 4]])}
        ages = {"age": np.array([[float(low), float(high)]])}
        releases.append(EquivalenceClasses(np.array([8]), ages, {}, {"diagnosis": values}, counts))
    assert len({municipality for _, _, municipality, _ in rows}) == 1
    space = space_of(releases)
    history = history_of([("first", releases[0])], space, policy)
    assert history is not None
    (found,) = pairwise(boxes_of(releases[1], space), history, space, {"diagnosis": Required(2)})
    assert found.failed == 1
    assert found.witness["values_in_common"] == 1


def test_every_method_has_a_section_and_every_parameter_a_meaning() -> None:
    from tasks.methods.presets import PRESETS
    from tasks.methods.registry import parameters_of

    page = DOCS / "methods.md"
    for method in PRESETS:
        assert len(docs_pages.section(page, method.name)) > 80, method.name
        for name, info in parameters_of(method).model_fields.items():
            assert info.description, name
    assert {"METHODS", "PARTS", "PARAMETERS"} <= set(docs_generated.names(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("heading", "find"),
    [
        ("At run time", lambda project: project["dependencies"]),
        ("With the extra `dask`", lambda project: project["optional-dependencies"]["dask"]),
        ("With the extra `excel`", lambda project: project["optional-dependencies"]["excel"]),
        ("With the extra `s3`", lambda project: project["optional-dependencies"]["s3"]),
        ("For development", lambda project: project["optional-dependencies"]["dev"][1:]),
    ],
)
def test_every_dependency_has_its_reason(heading, find) -> None:
    project = tomllib.loads(_text("pyproject.toml"))["project"]
    wanted = [re.split(r"[\[<>=~! ]", line)[0] for line in find(project)]
    rows = docs_pages.table(docs_pages.section(DOCS / "dependencies.md", heading))
    assert [docs_pages.code(row[0]) for row in rows] == wanted
    assert all(row[1] for row in rows)


def test_there_are_no_further_groups_of_dependencies() -> None:
    project = tomllib.loads(_text("pyproject.toml"))["project"]
    assert list(project["optional-dependencies"]) == ["dask", "excel", "s3", "dev"]
    assert project["optional-dependencies"]["dev"][0] == "releasegate[dask,excel,s3]"  # which tests need


def test_the_sets_are_written_as_the_page_says() -> None:
    block, _ = docs_pages.blocks(DOCS / "formats.md")
    head, *lines = block.text.splitlines()
    for line in lines:
        values, cell = line[: head.index("cell")].strip(), line[head.index("cell") :]
        if values == "every value":
            assert read_set(cell) is None
        else:
            assert write_set(values.split(", ")) == cell
            assert read_set(cell) == tuple(sorted(values.split(", ")))


def test_the_labels_are_written_as_the_page_says() -> None:
    _, block = docs_pages.blocks(DOCS / "formats.md")
    columns = {
        "size": {"type": "ordinal", "values": ["small", "middle", "large", "huge"]},
        "code": {"type": "code", "values": ["101", "102", "204"], "prefixes": [2, 1]},
        "city": {"type": "categorical", "hierarchy": {"North": ["Leeds", "York"], "South": ["Dover"]}},
    }
    policy = small_policy(columns, method={"name": "mondrian", "recoding": "hierarchy"})
    head, *lines = block.text.splitlines()
    cell, beside = head.index("cell"), head.index("with a missing value")
    for line, name in zip(lines, columns, strict=True):
        values, labels = tuple(line[:cell].strip().split(", ")), labels_of(policy, name)
        assert labels is not None
        for more, told in (((), line[cell:beside].strip()), (("missing",), line[beside:])):
            given = (*values, *more)
            closure = closure_of(policy, name, given)
            assert closure is not None
            marks, _ = closure.closed(closure.among_all(np.ones((1, len(given)), dtype=bool)))
            found = [value for value, inside in zip(closure.values, marks[0], strict=True) if inside]
            assert write_set(labels.written(found)) == told
            assert set(read_cell(told, labels) or ()) == set(found)


def test_every_exit_code_is_that_of_its_error() -> None:
    rows = docs_pages.table(docs_pages.section(DOCS / "commands.md", "Exit codes"))
    told = {name: int(row[0]) for row in rows for name in re.findall(r"`(\w+)`", row[2])}
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, Exception)]
    assert told == {kind.__name__: kind.exit_code for kind in kinds}


def test_every_state_and_action_of_the_log_is_named() -> None:
    page = _text("docs/store.md")
    source = "".join(path.read_text("utf-8") for path in (ROOT / "release_store").rglob("*.py"))
    written = set(
        re.findall(
            r'"((?:store|input|candidate|decision|publication|release|series)\.[a-z_]+|people\.changed)"',
            source,
        )
    )
    entered = {f"candidate.{to}" for following in CANDIDATE_TRANSITIONS.values() for to in following}
    # Publishing, published and assessed have events of their own names.
    entered -= {"candidate.publishing", "candidate.published"}
    named = set(
        re.findall(
            r"`((?:store|input|candidate|decision|publication|release|series)\.[a-z_]+|people\.changed)`",
            page,
        )
    )
    assert named == written | entered


def test_every_table_that_tests_and_benchmarks_read_is_listed() -> None:
    listed = set(re.findall(r"`(\w+/[\w.]+\.(?:csv|csv\.gz|parquet))`", _text("docs/datasets.md")))
    assert len(listed) == 6
    read = set()
    for folder in ("tests", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            read |= set(
                re.findall(
                    r'"((?:adult|bank_marketing|diabetes130|eph|ae_lrhma_samples)/[\w.]+)"',
                    path.read_text("utf-8"),
                )
            )
    assert read <= listed


def test_every_test_that_a_page_names_exists() -> None:
    named = {
        name
        for page in docs_pages.PAGES
        for name in re.findall(r"tests/[\w/]+\.py(?:::\w+)?", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 5
    for name in sorted(named):
        file, _, function = name.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not function or re.search(rf"^def {function}\(", text, re.MULTILINE), name


def test_every_make_target_is_documented_and_no_other() -> None:
    targets = re.search(r"^\.PHONY: (.+)$", _text("Makefile"), re.MULTILINE)
    assert targets
    rows = docs_pages.table(docs_pages.section(DOCS / "development.md", "Make targets"))
    named = [docs_pages.code(row[0]).removeprefix("make ") for row in rows]
    assert sorted(named) == sorted(targets[1].split())


def test_a_command_that_a_page_names_exists() -> None:
    known = set(docs_generated.commands())
    for page in docs_pages.PAGES:
        for name in re.findall(r"(?:`|\$ )releasegate ([a-z]+)", page.read_text(encoding="utf-8")):
            assert name in known, f"{page.name}: {name}"


def test_every_environment_variable_of_ours_is_documented() -> None:
    used = set()
    for folder in (
        "policy",
        "release_store",
        "expectations",
        "tasks",
        "reports",
        "services",
        "flows",
        "web",
        "cli",
    ):
        for path in (ROOT / folder).rglob("*.py"):
            used |= set(re.findall(r'"(RELEASEGATE_[A-Z_]+)"', path.read_text(encoding="utf-8")))
    rows = docs_pages.table(docs_pages.section(DOCS / "commands.md", "Environment"))
    assert {docs_pages.code(row[0]) for row in rows} == used | {"RELEASEGATE_DATASETS"}
