"""Which expectations a policy makes, and that they survive being written to a file."""

from __future__ import annotations

import json
import logging
import os
from typing import Any

import pytest

from expectations.quiet import LOGGER, quiet
from expectations.suite import LastRelease, build_suite
from policy.errors import PolicyError
from policy.model import ReleasePolicy


def policy(**expectations: Any) -> ReleasePolicy:
    return ReleasePolicy.model_validate(
        {
            "series": "register",
            "expectations": expectations,
            "roles": {
                "key": "id",
                "identifiers": ["name"],
                "quasi_identifiers": {
                    "age": {"type": "integer", "bounds": [0, 120]},
                    "city": {"type": "categorical", "values": ["Leeds", "York"]},
                },
                "sensitive": {"disease": {"stability": "stable"}},
                "kept": ["note"],
            },
        }
    )


def kinds(suite: Any) -> list[tuple[str, str | None]]:
    return [(e.expectation_type.removeprefix("expect_"), e.meta["column"]) for e in suite.expectations]


def test_a_first_release_has_no_drift_expectations() -> None:
    suite = build_suite(policy(sensitive_drift=0.1, rows={"drift": 0.1}), None)
    assert kinds(suite) == [
        ("table_columns_to_match_ordered_list", None),
        ("table_row_count_to_be_between", None),
        ("column_values_to_be_text", "id"),
        ("column_values_to_not_be_null", "id"),
        ("column_values_to_be_unique", "id"),
        ("column_values_to_be_finite_numbers", "age"),
        ("column_numbers_to_be_whole", "age"),
        ("column_numbers_to_be_within", "age"),
        ("column_values_to_be_text", "city"),
        ("column_values_to_be_in_set", "city"),
        ("column_values_to_be_text", "disease"),
        ("column_values_to_be_text", "note"),
        ("column_values_to_not_be_null", "age"),
        ("column_values_to_not_be_null", "city"),
        ("column_values_to_not_be_null", "disease"),
        ("column_values_to_not_be_null", "note"),
    ]


def test_later_releases_are_held_against_the_last_one() -> None:
    wanted = policy(sensitive_drift=0.1, rows={"min": 5, "max": 500, "drift": 0.7})
    suite = build_suite(wanted, LastRelease(10, {"disease": {"flu": 10}}))
    counts = [e for e in suite.expectations if "row_count" in e.expectation_type]
    assert [(e.min_value, e.max_value) for e in counts] == [(5, 500), (3, 17)]
    assert ("column_total_variation_to_be_at_most", "disease") in kinds(suite)


def test_what_the_policy_does_not_ask_for_is_not_expected() -> None:
    last = LastRelease(10, {"disease": {"flu": 10}})
    asked = kinds(build_suite(policy(unique_key=False), last))
    assert ("column_values_to_be_unique", "id") not in asked
    assert ("column_values_to_not_be_null", "id") not in asked
    assert not [kind for kind, _ in asked if "variation" in kind]
    assert len([kind for kind, _ in asked if "row_count" in kind]) == 1


def test_a_share_of_missing_values_for_a_column_that_is_not_read_is_an_error() -> None:
    with pytest.raises(PolicyError) as caught:
        build_suite(policy(missing_in={"name": 0.5}), None)
    assert str(caught.value) == (
        "expectations.missing_in: 'name' is an identifier or dropped, and is not read\n  Remove it there."
    )


def test_a_suite_goes_to_json_and_back() -> None:
    suite = build_suite(policy(sensitive_drift=0.1), LastRelease(10, {"disease": {"flu": 10}}))
    with quiet():
        import great_expectations as gx

        document = json.loads(json.dumps(suite.to_json_dict()))
        document.pop("id", None)
        again = gx.ExpectationSuite(**document)
    assert kinds(again) == kinds(suite)


def test_the_frame_s_columns_are_those_with_a_use() -> None:
    assert policy().roles.columns_read() == ["id", "age", "city", "disease", "note"]


def test_quiet_silences_the_library_for_its_time_only(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger(f"{LOGGER}.somewhere")
    with quiet():
        logger.critical("inside")
    logger.critical("outside")
    assert caplog.messages == ["outside"]
    assert os.environ["GX_ANALYTICS_ENABLED"] == "false"
