"""A drafted policy is tried on its table, and runs as it was drafted."""

from __future__ import annotations

from pathlib import Path

from examples.register import generate
from policy.load import parse_policy
from policy.recoding import contains_its_people
from release_store.store import ReleaseStore
from services.drafting.draft import draft
from services.drafting.trial import METHODS, try_policy
from services.release import release
from tests.support.small import ILLNESS, small_policy


def test_a_drafted_policy_runs_as_it_was_drafted(tmp_path: Path) -> None:
    generate.write(tmp_path, generate.generate(n=1500))
    table = tmp_path / "register-2026Q1.csv"
    text = draft(table)
    assert all(f"#   {name.ljust(max(map(len, METHODS)))}  NCP" in text for name in METHODS)
    assert "# With `sets` on the same rows: NCP" in text or "# With `sets` on the same rows" in text
    path = tmp_path / "register.yaml"
    path.write_text(text, encoding="utf-8")
    policy = parse_policy(text, path)
    assert policy.gates.umr is None
    assert policy.method.recoding == "hierarchy"
    assert contains_its_people(policy.method.recoding)
    ReleaseStore.create(tmp_path / "store")
    outcome = release(path, store=tmp_path / "store", period="2026Q1", input_path=table)
    assert outcome.state == "awaiting_approval"


def test_limits_are_a_tenth_over_what_was_measured(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{i % 60},{('Riga', 'Oslo', 'Cork')[i % 3]},{('flu', 'hiv')[i % 2]}" for i in range(120)]
    table.write_text("\n".join(["age,city,illness", *rows]) + "\n", encoding="utf-8")
    policy = small_policy(None, ILLNESS, expectations={"missing": 0.05})
    found = try_policy(policy, table)
    assert found.rows == found.sample_rows == 120
    assert [one.label for one in found.methods] == [*METHODS]
    ncp = found.best.measured["ncp"]
    assert found.best.ncp == min(one.ncp for one in found.methods if not one.failing)
    assert ncp <= found.limit("ncp", 0.0) <= ncp * 1.1 + 0.05
    assert found.limit("ncp", 0.9) == 0.9
    assert found.limit("err", 0.0) <= 1.0


def test_a_method_that_cannot_be_tried_is_said_so(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("age,city,illness\n1,Riga,flu\n2,Oslo,flu\n3,Cork,flu\n", encoding="utf-8")
    policy = small_policy(None, ILLNESS, privacy={"k": 2, "p_max": 0.5})
    found = try_policy(policy, table)
    assert all(one.problem or one.failing for one in found.methods)
