"""The place of a step among all of a run, and the time that is left by an earlier run."""

from __future__ import annotations

from collections.abc import Iterator

from services.runtime import Runtime, Stage
from services.steps import Pace, Steps

NAMES = (
    "intake",
    "validation",
    "preprocessing",
    "representation",
    "partitioning",
    "aggregation",
    "repair",
    "recoding",
    "staging",
    "figures",
    "risk gate",
    "report",
)
PACE = Pace(rows=1_000, making=20.0, judging=10.0)


def clock_of(*times: float) -> Iterator[float]:
    return iter(times)


def test_each_step_tells_its_place_among_all() -> None:
    steps = Steps(NAMES)
    assert [steps.begin(name) for name in NAMES] == [f"step {n} of 12" for n in range(1, 13)]


def test_fragments_take_the_place_of_three_steps() -> None:
    steps = Steps(NAMES)
    assert [steps.begin(name) for name in NAMES[:3]][-1] == "step 3 of 12"
    assert steps.begin("fragments") == "step 4 of 10"
    assert steps.begin("repair") == "step 5 of 10"
    assert [steps.begin(name) for name in NAMES[7:]][-1] == "step 10 of 10"


def test_fragments_that_gave_nothing_are_followed_by_the_three_steps() -> None:
    steps = Steps(NAMES)
    assert steps.begin("fragments") == "step 4 of 10"
    assert steps.begin("representation") == "step 4 of 12"
    assert steps.begin("repair") == "step 7 of 12"


def test_a_stage_that_is_no_step_has_no_place() -> None:
    assert Steps(NAMES).begin("publication") == ""


def test_the_estimate_is_that_of_an_earlier_run_by_rows_less_what_passed() -> None:
    """Twice the rows: 40 s until the files are staged, and 20 s until the gates were asked."""
    times = clock_of(100.0, 117.0, 200.0, 219.0)
    steps = Steps(NAMES, PACE, lambda: next(times))
    assert steps.begin("intake") == "step 1 of 12"
    steps.rows = 2_000
    assert steps.begin("validation") == "step 2 of 12"
    assert steps.begin("preprocessing") == "step 3 of 12, about 60 s left"
    assert steps.begin("partitioning") == "step 5 of 12, about 45 s left"  # 43
    assert steps.begin("figures") == "step 10 of 12, about 20 s left"
    assert steps.begin("risk gate") == "step 11 of 12, about 5 s left"  # 1
    assert steps.begin("report") == "step 12 of 12"


def test_a_run_that_takes_longer_than_the_earlier_one_tells_no_time() -> None:
    times = clock_of(0.0, 31.0)
    steps = Steps(NAMES, PACE, lambda: next(times))
    steps.rows = 1_000
    assert steps.begin("preprocessing") == "step 3 of 12, about 30 s left"
    assert steps.begin("repair") == "step 7 of 12"


def test_long_estimates_are_in_minutes() -> None:
    steps = Steps(NAMES, PACE, lambda: 0.0)
    steps.rows = 20_000
    assert steps.begin("preprocessing").endswith("about 10 min left")


def test_without_an_earlier_run_there_is_no_estimate() -> None:
    steps = Steps(NAMES)
    steps.rows = 20_000
    assert steps.begin("preprocessing") == "step 3 of 12"


def test_a_runtime_tells_the_place_with_every_word_of_a_stage() -> None:
    told: list[tuple[float, str]] = []
    runtime = Runtime(lambda share, words: told.append((share, words)))
    runtime.stage(Stage("doctor", "look"), lambda tell: tell(1.0, "well"))
    runtime.steps = Steps(NAMES)
    runtime.stage(Stage("risk gate", "assess"), lambda tell: tell(0.5, "gate k"))
    assert told == [
        (0.0, "doctor"),
        (1.0, "doctor: well"),
        (0.0, "risk gate (step 11 of 12)"),
        (0.5, "risk gate (step 11 of 12): gate k"),
    ]
