"""The digest of a policy stands for what it decides, hierarchies included, however it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import rfc8785

from policy.errors import PolicyError
from policy.hierarchy import from_tree, read_csv_hierarchy
from policy.load import (
    load_policy,
    parse_policy,
    policy_digest,
    policy_document,
    policy_from_document,
)
from policy.model import Source

FILE = Path("clinic.yaml")
WRITTEN = """
series: clinic
roles:
  quasi_identifiers:
    age: {type: integer, bounds: [0, 120]}
    city: {type: categorical, hierarchy: {north: [Aix, Brno], south: [Cork]}}
  sensitive:
    disease: {stability: stable}
privacy: {k: 5}
"""


def digest(text: str) -> str:
    return policy_digest(parse_policy(text, FILE))


def test_the_digest_is_what_it_was_in_earlier_versions() -> None:
    # Stores keep digests: a new field with a default changes them all, and the changelog has to say so.
    assert digest(WRITTEN) == "7e04129be7941184fa7f156acc31874ff51a87ed62e37efc42a5e41c872646df"


@pytest.mark.parametrize(
    "written",
    [
        WRITTEN.replace("{k: 5}", "{k: 5}  # a comment"),
        WRITTEN.replace("{k: 5}", "{e: 3, k: 5}"),
        WRITTEN.replace("{k: 5}", "{k: 5.0}"),
        WRITTEN.replace("[0, 120]", "[0.0, 1.2e+2]"),
        WRITTEN.replace("series: clinic\n", "") + "series: 'clinic'\n",
        WRITTEN + "seed: 42\nmethod: {name: ae-lrhma}\n",
    ],
    ids=["comment", "default", "k as a float", "numbers", "order of fields", "defaults"],
)
def test_the_same_decisions_written_in_another_way_have_the_same_digest(written: str) -> None:
    assert written != WRITTEN
    assert digest(written) == digest(WRITTEN)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("clinic", "clinics"),
        ("k: 5", "k: 6"),
        ("120", "121"),
        ("stable", "transient"),
        ("[Aix, Brno]", "[Brno, Aix]"),
        ("north: [Aix, Brno], south: [Cork]", "north: [Aix], south: [Brno, Cork]"),
        ("south: [Cork]", "south: [Cork, Derry]"),
        ("south", "elsewhere"),
    ],
)
def test_another_decision_has_another_digest(old: str, new: str) -> None:
    assert old in WRITTEN
    assert digest(WRITTEN.replace(old, new, 1)) != digest(WRITTEN)


def test_the_order_of_the_columns_is_that_of_what_is_published_and_so_a_decision() -> None:
    lines = WRITTEN.splitlines()
    lines[4], lines[5] = lines[5], lines[4]
    assert list(parse_policy(WRITTEN, FILE).roles.quasi_identifiers) == ["age", "city"]
    assert list(parse_policy("\n".join(lines), FILE).roles.quasi_identifiers) == ["city", "age"]
    assert digest("\n".join(lines)) != digest(WRITTEN)


def test_a_hierarchy_file_stands_in_the_digest_with_its_content(tmp_path: Path) -> None:
    path, beside = tmp_path / "clinic.yaml", tmp_path / "cities.csv"
    path.write_text(WRITTEN.replace("{north: [Aix, Brno], south: [Cork]}", "cities.csv"))
    beside.write_text("Aix;north;*\nBrno;north;*\nCork;south;*\n")
    assert policy_digest(load_policy(path)) == digest(WRITTEN)
    beside.write_text("Aix;north;*\nBrno;south;*\nCork;south;*\n")
    assert policy_digest(load_policy(path)) != digest(WRITTEN)


def test_a_kept_policy_is_read_back_as_it_was_columns_in_their_order() -> None:
    policy = parse_policy(WRITTEN.replace("city", "a_city"), FILE)
    kept = json.loads(rfc8785.dumps(policy_document(policy)))
    again = policy_from_document(kept)
    assert again == policy
    assert list(again.published_columns()) == list(policy.published_columns())
    assert policy_digest(again) == policy_digest(policy)


@pytest.mark.parametrize(("written", "given"), [(",", False), (";", True)])
def test_a_delimiter_that_was_left_out_is_left_out_of_the_kept_policy(written: str, given: bool) -> None:
    """A table called .tsv has tabs where the policy names no delimiter."""
    policy = parse_policy(WRITTEN, FILE)
    kept = policy_document(policy.model_copy(update={"source": Source(delimiter=written)}))
    again = policy_from_document(kept)
    assert again.source.delimiter == written
    assert ("delimiter" in again.source.model_fields_set) is given


@pytest.mark.parametrize("kept", [{}, {"roles": 3}, {"roles": {"quasi_identifiers": [{}], "sensitive": []}}])
def test_a_kept_policy_that_is_none_is_told(kept: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match=r"the stored policy cannot be read \(\w+\)"):
        policy_from_document(kept)


def test_a_hierarchy_is_the_same_in_a_file_and_in_the_policy(tmp_path: Path) -> None:
    path = tmp_path / "cities.csv"
    path.write_text("Aix;north\nBrno;north\n\nCork;south\n")
    found = read_csv_hierarchy(path)
    assert found == from_tree({"north": ["Aix", "Brno"], "south": ["Cork"]})
    assert found.leaves == ("Aix", "Brno", "Cork")
    assert found.paths[2] == ("Cork", "south", "*")


@pytest.mark.parametrize(("older", "now"), [("true", "repair"), ("false", "blind")])
def test_an_older_policy_says_history_aware(older: str, now: str) -> None:
    text = WRITTEN + f"method: {{name: mondrian, history_aware: {older}}}\n"
    assert parse_policy(text, FILE).method.history == now
    document = policy_document(parse_policy(text, FILE))
    assert document["method"]["history"] == now
    assert "history_aware" not in document["method"]


def test_history_aware_is_a_truth_value_and_stands_beside_no_history() -> None:
    for wrong in ("history_aware: maybe", "history_aware: true, history: blind"):
        with pytest.raises(PolicyError):
            parse_policy(WRITTEN + f"method: {{{wrong}}}\n", FILE)
