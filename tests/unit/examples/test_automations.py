"""examples/automations.yaml: what Prefect takes, and every notice told by exactly one automation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture

from services.observability.notice_kinds import KINDS, PREFIX

FILE = Path(__file__).resolve().parents[3] / "examples" / "automations.yaml"


def automations() -> list[AutomationCore]:
    """Read the file as `prefect automation create --from-file` does."""
    document: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return [AutomationCore.model_validate(one) for one in document["automations"]]


def expected() -> Counter[str]:
    found: Counter[str] = Counter()
    for one in automations():
        assert isinstance(one.trigger, EventTrigger)
        found.update(one.trigger.expect)
    return found


def test_every_notice_is_told_once_and_no_other_is_waited_for() -> None:
    kinds = {f"{PREFIX}{kind}" for kind, _ in KINDS.values()} | {f"{PREFIX}candidate.verify-failed"}
    ours = {name: n for name, n in expected().items() if name.startswith("releasegate.")}
    assert ours == dict.fromkeys(kinds, 1)


def test_crashed_and_failed_runs_of_these_deployments_are_told() -> None:
    (trigger,) = (
        one.trigger
        for one in automations()
        if isinstance(one.trigger, EventTrigger) and "prefect.flow-run.Crashed" in one.trigger.expect
    )
    assert "prefect.flow-run.Failed" in trigger.expect
    related = trigger.match_related
    assert not isinstance(related, list)
    assert related.model_dump() == {
        "prefect.resource.role": "tag",
        "prefect.resource.id": "prefect.tag.releasegate",
    }


def test_each_reacts_at_once_has_its_own_name_and_tells_somebody() -> None:
    found = automations()
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert isinstance(one.trigger, EventTrigger)
        assert one.trigger.posture == Posture.Reactive
        assert [action.type for action in one.actions] == ["send-notification"]
        assert one.enabled
