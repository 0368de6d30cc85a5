"""Bundles with something else in a random place: by somebody without a key, and by somebody who signs."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from release_store.audit import keys
from release_store.canonical import pretty_json
from tests.support.pages.verify_page import Case
from tests.support.store.bundles import Members, Told, forged, put_together, taken_apart

DOCUMENTS = (
    "evidence.json",
    "checkpoint.json",
    "newest-checkpoint.json",
    "policy.json",
    "release/manifest.json",
    "release/datapackage.json",
)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, -1, 1.5, 1e300, 24.0, "", "x", "pass", "0" * 64, "published", [], {},
    ["admin"], [[]], {"a": 1}, {"gates": {}}, "\N{LATIN SMALL LETTER DOTLESS I}", "2026-01-01",
)  # fmt: skip
KINDS = {"removed", "twice", "from elsewhere", "counted", "another value"}
LESS_READ = (4, 5, 36, 37, 38, 39, 40, 41)  # bytes of an entry of a zip's directory
Place = tuple[Any, Any]


def seeded(seed: int) -> random.Random:
    """Return the random numbers of a seed, which hide nothing."""
    return random.Random(seed)  # noqa: S311


def places(document: Any) -> list[Place]:
    """Return every array and object in a document with each of its indices and names."""
    if isinstance(document, (dict, list)):
        steps = list(document) if isinstance(document, dict) else list(range(len(document)))
        return [(document, step) for step in steps] + [
            place for step in steps for place in places(document[step])
        ]
    return []


def edit(document: Any, rng: random.Random) -> str:
    """Change one thing in a document, and return the kind of the change."""
    found = places(document)
    if not found:
        return ""
    around, step = rng.choice(found)
    act = rng.random()
    if act < 0.2:
        del around[step]
        return "removed"
    if act < 0.3 and isinstance(around, list):
        around.append(around[step])
        return "twice"
    if act < 0.4:
        other, name = rng.choice(found)
        around[step] = json.loads(json.dumps(other[name]))
        return "from elsewhere"
    if act < 0.5 and isinstance(around[step], int):
        around[step] += rng.choice((-1, 1, 0.0))
        return "counted"
    around[step] = rng.choice(VALUES)
    return "another value"


def edited(members: Members, rng: random.Random, kinds: set[str]) -> Members:
    """Return a bundle after one or two edits by somebody who cannot sign; add to `kinds` what was done."""
    made = dict(members)
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice([name for name in DOCUMENTS if name in made])
        document = json.loads(made[name])
        kinds.add(edit(document, rng))
        made[name] = pretty_json(document)
    return made


def edited_and_signed(members: Members, rng: random.Random, key: Ed25519PrivateKey) -> Members:
    """Return a bundle after some edits of what its events, manifest and policy say, all signed again."""

    def change(tale: Told) -> None:
        for _ in range(rng.choice((1, 1, 2, 3))):
            event = rng.choice(tale.events)
            acts: list[Callable[[], None]] = [
                lambda event=event: edit(event["payload"], rng),  # type: ignore[misc]
                lambda event=event: event.update(  # type: ignore[misc]
                    {rng.choice(("at", "actor", "object", "action")): rng.choice(("", "bob", "2020-01-01"))}
                ),
                lambda: edit(tale.manifest, rng),
                lambda: edit(tale.policy, rng),
            ]
            rng.choice(acts)()

    while True:
        try:
            return forged(members, change, key)
        except Exception:  # noqa: S112 -- what can no longer be put together is another edit's turn
            continue


def random_edits(folder: Path, seeds: Iterable[int], place: Path, kinds: set[str]) -> list[Case]:
    """Return bundles after edits, of three seeds two signed again; add to `kinds` what the others did."""
    signing = keys.load_key(folder / "store")
    bundles = [taken_apart(one) for one in sorted(folder.glob("*.zip"))]
    cases = []
    for seed in seeds:
        rng = seeded(seed)
        members = rng.choice(bundles)
        other = edited_and_signed(members, rng, signing) if seed % 3 else edited(members, rng, kinds)
        made = put_together(place / "together.zip", other).read_bytes()
        cases.append(Case("b.zip", made, keys.public_hex(signing)))
    return cases


def flipped_bits(bundle: bytes, seeds: Iterable[int]) -> list[Case]:
    """Return bundles with a flipped bit, of three seeds one in the directory where less of it is read.

    That is who made a member, and its attributes: of the last the type of the file counts.
    """
    cases, entries = [], [found.start() for found in re.finditer(rb"PK\x01\x02", bundle)]
    for seed in seeds:
        rng, data = seeded(seed), bytearray(bundle)
        at = rng.randrange(len(data)) if seed % 3 else rng.choice(entries) + rng.choice(LESS_READ)
        data[at] ^= 1 << rng.randrange(8)
        cases.append(Case("b.zip", bytes(data)))
    return cases
