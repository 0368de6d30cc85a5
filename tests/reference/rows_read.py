"""An attacker who reads rows: whose transient value is certain, by the stable values that classes share.

    python -m tests.reference.rows_read [--people 1500] [--periods 4] [--method ae-lrhma]

releases the demo's register with its own policy, once as it is, and once blind and with `gates.transient:
ignore`, under which nothing is asked of the cost of care. The attacker knows everybody's class in each
release. Diagnoses do not change: those that all classes of somebody have are theirs to have, and so are the
costs of the rows with one of these. The store, the gates and the sealed values are not looked at.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.registers import POLICIES, Series, periods_of
from examples.register.generate import generate
from policy.load import load_policy
from policy.model import ReleasePolicy
from tests.reference.published_series import Published, published

WAYS = ("compare", "ignore")  # `gates.transient`


def policy_of(method: str, transient: str) -> ReleasePolicy:
    """Return the demo's policy with a method and a way with what may change."""
    document = load_policy(POLICIES / "register.yaml").model_dump()
    document["method"] = {"name": method, "history": "sticky" if transient == "compare" else "blind"}
    document["source"] = {"path": "register.csv", "missing": [""]}
    document["expectations"] = {"rows": {"min": 1}}
    document["gates"] |= {"umr": {"max": 1.0}, "transient": transient}
    return ReleasePolicy.model_validate(document)


def certain(releases: Sequence[Published]) -> tuple[int, int]:
    """Return of how many people a cost is certain, and how many people there are.

    Rows are (diagnosis, cost).
    """
    diagnoses: dict[str, set[str]] = {}
    for release in releases:
        for who, number in release.people.items():
            here = {diagnosis for diagnosis, _ in release.rows[number]}
            diagnoses[who] = diagnoses.get(who, here) & here
    read = {
        who
        for release in releases
        for who, number in release.people.items()
        if len({cost for diagnosis, cost in release.rows[number] if diagnosis in diagnoses[who]}) == 1
    }
    return len(read), len(diagnoses)


def attacked(people: int, n_periods: int, method: str, transient: str) -> list[tuple[int, int]]:
    """Release the register; return, by release, of how many a cost is certain, and how many there are."""
    policy = policy_of(method, transient)
    both = policy.model_dump()
    both["roles"]["sensitive"]["care_cost"]["stability"] = "stable"  # what is read of a row
    reader = ReleasePolicy.model_validate(both)
    with tempfile.TemporaryDirectory(prefix="releasegate-rows-") as name:
        series = Series(policy, Path(name))
        found, releases = [], []
        for period, table in generate(periods_of(n_periods), people, overlap=0.99).items():
            series.release(period, table, [])
            releases.append(published(series.file(period), period, reader, series.people[-1]))
            found.append(certain(releases))
        return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Attack the register both ways and print what was read."""
    parser = argparse.ArgumentParser(prog="python -m tests.reference.rows_read", description=__doc__)
    parser.add_argument("--people", type=int, default=1_500)
    parser.add_argument("--periods", type=int, default=4)
    parser.add_argument("--method", default="ae-lrhma")
    args = parser.parse_args(arguments)
    for transient in WAYS:
        found = attacked(args.people, args.periods, args.method, transient)
        shares = ", ".join(f"{100 * read / n:.1f}%" for read, n in found)
        print(f"transient: {transient}: a cost is certain for {shares} of the people", flush=True)


if __name__ == "__main__":
    main()
