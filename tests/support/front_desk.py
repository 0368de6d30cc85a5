"""A store, a table of 400 people who do not exist, quick policies, and the command line before them."""

from __future__ import annotations

import copy
import json
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from cli.__main__ import main
from policy.location import ObjectAddress
from release_store.store import ReleaseStore
from tests.support.at_work import key_file
from tests.support.timeouts import HANG_TIMEOUT

N_ROWS = 400
PROVEN = ("run", "rejudge", "approve", "reject", "override", "withdraw", "restore", "purge", "sign")
CITIES = ("Aix", "Brno", "Cork")
DISEASES = ("flu", "asthma", "none")
POLICY: dict[str, Any] = {
    "series": "clinic",
    "period": "quarterly",
    "roles": {
        "key": "person",
        "identifiers": ["name"],
        "quasi_identifiers": {
            "age": {"type": "integer", "bounds": [0, 110]},
            "income": {"type": "integer", "bounds": [0, 100_000]},
            "city": {"type": "categorical", "values": list(CITIES)},
        },
        "sensitive": {"disease": {"stability": "stable", "values": list(DISEASES)}},
        "kept": ["ward"],
        "dropped": ["street"],
    },
    "privacy": {"k": 5, "e": 2},
    "method": {"name": "mondrian"},
}


class Desk:
    """A folder with a store, tables and policies, and the command line before it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "store"

    @property
    def store(self) -> ReleaseStore:
        return ReleaseStore.open(self.root)

    def policy(self, name: str = "clinic.yaml", **sections: Any) -> Path:
        """Write the policy, with the sections given in place of its own."""
        path = self.folder / name
        document = copy.deepcopy({**POLICY, **sections})
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path

    def table(self, name: str = "people.csv", seed: int = 1, **columns: Any) -> Path:
        """Write a table of people who do not exist, with the columns given in place of its own."""
        path = self.folder / name
        people(seed).assign(**columns).to_csv(path, index=False)
        return path

    def run(
        self, policy: Path, table: Path | ObjectAddress, period: str = "2026Q1", by: str = "ann", *more: str
    ) -> int:
        """Carry out `releasegate run`."""
        return self.say("run", policy, "--input", table, "--period", period, "--by", by, *more)

    def say(self, *words: object) -> int:
        """Carry out a command in this store, and return its exit code.

        Whoever acts by name has their key at hand, unless another proof is given.
        """
        said = [*map(str, words)]
        if said[0] in PROVEN and "--by" in said and not {"--key", "--token-file", "--signed"} & {*said}:
            said += ["--key", str(key_file(self.folder, said[said.index("--by") + 1]))]
        return main(["--store", str(self.root), *said])


def people(seed: int = 1) -> pd.DataFrame:
    """Return the register of seed 1, or the same people another time: some older, some with another income.

    Their diseases never change. With seed 0 they are only in other wards.
    """
    if seed != 1:
        rng, before = np.random.default_rng(seed), people()
        if not seed:
            return before.assign(ward=rng.choice(["a", "b"], N_ROWS))
        older, moved = rng.random(N_ROWS) < 0.3, rng.random(N_ROWS) < 0.05
        income = np.where(moved, rng.integers(10, 95, N_ROWS) * 1000, before["income"])
        return before.assign(age=before["age"] + older, income=income)
    rng = np.random.default_rng(seed)
    number = np.arange(N_ROWS)
    return pd.DataFrame(
        {
            "person": [f"p{i:05d}" for i in number],
            "name": [f"name {i}" for i in number],
            "street": [f"street {i}" for i in number],
            "age": rng.integers(18, 95, N_ROWS),
            "income": rng.integers(10, 95, N_ROWS) * 1000,
            "city": rng.choice(CITIES, N_ROWS),
            "disease": rng.choice(DISEASES, N_ROWS),
            "ward": rng.choice(["a", "b"], N_ROWS),
        }
    )


def artifact(key: str) -> Any:
    """Return what Prefect's server keeps under a key, the latest."""
    from prefect.settings import PREFECT_API_URL

    url = f"{PREFECT_API_URL.value()}/artifacts/{key}/latest"
    with urllib.request.urlopen(url, timeout=HANG_TIMEOUT) as answer:
        return json.load(answer)["data"]
