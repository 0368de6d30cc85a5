"""docs/operations.md names the deployments of prefect.yaml, and commands that a server's test runs."""

from __future__ import annotations

import re

import docs_pages
import yaml

PAGE = docs_pages.ROOT / "docs" / "operations.md"
SERVER = docs_pages.ROOT / "tests" / "flows" / "test_server.py"


def test_every_deployment_is_described_and_no_other() -> None:
    document = yaml.safe_load((docs_pages.ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    rows = docs_pages.table(docs_pages.section(PAGE, "Deployments"))
    assert [docs_pages.code(row[0]) for row in rows] == [one["name"] for one in document["deployments"]]


def test_every_command_of_the_page_is_one_that_the_test_of_the_server_carries_out() -> None:
    lines = [line for block in docs_pages.blocks(PAGE) for line in block.text.splitlines()]
    commands = [line.split()[1:] for line in lines if line.startswith("prefect ")]
    assert len(commands) == 5
    carried_out = re.sub(r",\s+", ", ", SERVER.read_text(encoding="utf-8"))
    for words in commands:
        # The parameters of a manual run are the test's own.
        fixed = words[: words.index("-p")] if "-p" in words else words
        assert ", ".join(f'"{word}"' for word in fixed) in carried_out, " ".join(words)
