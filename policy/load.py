"""Read a policy file, and say in one line what is wrong with it."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rfc8785
import yaml
from pydantic import ValidationError

from policy.accepted import check_whose
from policy.errors import PolicyError
from policy.findings import policy_error
from policy.hierarchy import Hierarchy, from_tree, read_csv_hierarchy
from policy.model import ReleasePolicy, Source
from policy.plain_file import not_read, open_path, open_plain, read_at_most
from policy.trusted import Trusted
from policy.yaml_text import LARGEST_TEXT, load_yaml, yaml_finding

_ORDERED_ROLES = ("quasi_identifiers", "sensitive")


def load_policy(path: Path, trusted: Trusted | None = None) -> ReleasePolicy:
    """Read the policy in `path`.

    Hierarchies given as a file name are read from below the policy's folder, or from folders that are
    `trusted`. Raises PolicyError with the file, the field, what was found and what is allowed; UsageError
    for a file that is a stranger's.
    """
    try:
        with open_plain(path) as opened:
            check_whose(path, os.fstat(opened.fileno()))
            text = read_at_most(opened, LARGEST_TEXT, path).decode()
    except FileNotFoundError:
        raise PolicyError("no such file", where=str(path), hint="Give the path of a policy.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(not_read(error), where=str(path), hint="A policy is a UTF-8 text file.") from None
    return parse_policy(text, path, trusted)


def parse_policy(text: str, path: Path, trusted: Trusted | None = None) -> ReleasePolicy:
    """Build the policy written in `text`; `path` is named in errors and found hierarchies beside."""
    try:
        document = load_yaml(text)
    except yaml.YAMLError as error:
        raise PolicyError(yaml_finding(error), where=str(path), hint="Fix the YAML.") from None
    except RecursionError:
        raise PolicyError("is nested too deeply", where=str(path), hint="Fix the YAML.") from None
    if not isinstance(document, dict):
        raise PolicyError(
            f"holds {'nothing' if document is None else 'no fields'}",
            where=str(path),
            hint="A policy is a mapping with the fields series, source, roles, ...; "
            "`releasegate draft TABLE` writes one.",
        )
    _resolve_hierarchies(document, path, trusted or Trusted())
    if _repeats_keys(document) and document.setdefault("rows", "several") == "one_per_person":
        raise PolicyError(
            "is one_per_person, and expectations.unique_key false lets a person have several",
            where=f"{path}: rows",
            hint="Write rows: several, or leave expectations.unique_key out.",
        )
    try:
        policy = ReleasePolicy.model_validate(document)
        policy_digest(policy)
    except ValidationError as error:
        raise policy_error(error, path) from None
    except rfc8785.CanonicalizationError:
        raise PolicyError(
            "contains a number that cannot be digested exactly",
            where=str(path),
            hint="Whole numbers are under 2**53, and all numbers finite.",
        ) from None
    return policy


def policy_document(policy: ReleasePolicy) -> dict[str, Any]:
    """Return the whole policy, hierarchies and defaults included, as plain JSON values.

    Columns are a list here: their order is that of the published columns, and canonical JSON keeps no
    other.
    """
    document = policy.model_dump(mode="json")
    for role in _ORDERED_ROLES:
        columns = document["roles"][role]
        document["roles"][role] = [{"name": name, **settings} for name, settings in columns.items()]
    return document


def policy_from_document(document: Mapping[str, Any]) -> ReleasePolicy:
    """Return the policy of a document that `policy_document` wrote. Raises PolicyError if it is none."""
    try:
        roles = dict(document["roles"])
        for role in _ORDERED_ROLES:
            roles[role] = {column["name"]: _without_name(column) for column in roles[role]}
        document = {**document, "privacy": {"spread": 0.0, **document["privacy"]}}  # before it was asked for
        source = dict(document["source"])
        if source["delimiter"] == Source().delimiter:
            del source["delimiter"]  # as if left out, so that it follows from the name of a .tsv file
        return ReleasePolicy.model_validate({**document, "roles": roles, "source": source})
    except (ValidationError, KeyError, TypeError) as error:
        raise PolicyError(
            f"the stored policy cannot be read ({type(error).__name__})",
            hint="Use the version of releasegate that stored it, or a newer one.",
        ) from None


def _repeats_keys(document: dict[Any, Any]) -> bool:
    expectations, roles = document.get("expectations"), document.get("roles")
    if not (isinstance(expectations, dict) and isinstance(roles, dict)):
        return False
    return expectations.get("unique_key") is False and roles.get("key") is not None


def _without_name(column: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in column.items() if field != "name"}


def policy_digest(policy: ReleasePolicy) -> str:
    """Return the SHA-256 of the policy's canonical JSON (RFC 8785), hierarchies and defaults included."""
    return hashlib.sha256(rfc8785.dumps(policy_document(policy))).hexdigest()


def _resolve_hierarchies(document: dict[Any, Any], path: Path, trusted: Trusted) -> None:
    roles = document.get("roles")
    for role in ("quasi_identifiers", "sensitive"):
        columns = roles.get(role) if isinstance(roles, dict) else None
        for name, settings in columns.items() if isinstance(columns, dict) else ():
            if isinstance(settings, dict) and settings.get("hierarchy") is not None:
                field = f"roles.{role}.{name}.hierarchy"
                settings["hierarchy"] = _hierarchy(settings["hierarchy"], path, field, trusted)


def _hierarchy(written: object, path: Path, field: str, trusted: Trusted) -> Hierarchy:
    where = f"{path}: {field}"
    try:
        if isinstance(written, str):
            base = path.resolve().parent
            file = trusted.named(written, base, where)
            where = f"{where} ({path.parent / written})"

            def check(opened: int) -> None:
                if (lies := open_path(opened)) is not None:
                    trusted.check(lies, base, where)
                check_whose(base / written, os.fstat(opened))

            return read_csv_hierarchy(file, check)
        return from_tree(written)
    except FileNotFoundError:
        raise PolicyError(
            "no such file", where=where, hint="Give a path relative to the policy's folder."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(not_read(error), where=where, hint="A hierarchy is a UTF-8 text file.") from None
    except (ValueError, csv.Error, RecursionError) as error:
        raise PolicyError(
            str(error) if isinstance(error, ValueError) else "is not a list of values",
            where=where,
            hint="Write one line per value, most specific first, ';' between the levels; or nested lists.",
        ) from None
