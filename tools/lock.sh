#!/usr/bin/env bash
# Resolve pyproject's ranges in a fresh environment and write the exact pins to requirements.lock.
# No hashes, and no local version labels: torch's builds differ from index to index.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check ".[dev]"
{
    echo "# Made by tools/lock.sh from the ranges in pyproject.toml; edit those, then run \`make lock\`."
    "$work/venv/bin/python" -m pip freeze --all --exclude releasegate --exclude pip |
        grep -v '^-e\|^releasegate' | sed -E 's/ @ .*//; s/\+[a-z0-9.]+$//' | LC_ALL=C sort -f
} > requirements.lock
