#!/usr/bin/env bash
# Install the base in a fresh environment, without any extra, in the versions of requirements.lock; then make a first
# release there, in a folder that others may write. Says how long the installation took, and how large it is.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/tree" "$work/folder"
# A copy: setuptools leaves a folder `build` beside the sources, and takes from it what is no longer among them.
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents --target-directory="$work/tree" 2>/dev/null
"${PYTHON:-python3}" -m venv "$work/venv"
before=$SECONDS
(cd "$work/tree" && "$work/venv/bin/pip" install --quiet --disable-pip-version-check . -c requirements.lock)
echo "the base took $((SECONDS - before)) s and $(du -sm "$work/venv" | cut -f1) MB, pip among them"

"$work/venv/bin/python" -P - <<'PYTHON'
from importlib.util import find_spec

found = [name for name in ("torch", "prefect", "fastapi", "sqlalchemy", "distributed", "openpyxl", "s3fs") if find_spec(name)]
assert not found, f"the base has {found}"
PYTHON

cd "$work/folder"
mkdir demo
(cd "$root" && .venv/bin/python -c "
import sys; from pathlib import Path; from examples.register import generate
generate.write(Path(sys.argv[1]), generate.generate(n=1500))" "$work/folder/demo/data")
# Whoever writes the folder runs nothing by it.
for name in flows cli policy tasks services releasegate; do
  mkdir "$name"
  echo "open('$work/ran', 'w')" >"$name/__init__.py"
done
for name in pandas sitecustomize usercustomize typer; do echo "open('$work/ran', 'w')" >"$name.py"; done

unset PYTHONPATH PREFECT_API_URL RELEASEGATE_STORE RELEASEGATE_SIGNING_KEY RELEASEGATE_TRUST XDG_CONFIG_HOME
export PREFECT_HOME="$work/prefect" HOME="$work"
releasegate() { "$work/venv/bin/releasegate" "$@"; }
releasegate --version
releasegate init
releasegate draft demo/data/register-2026Q1.csv >register.yaml
grep --quiet "left out: ae-lrhma needs the package torch" register.yaml
releasegate check register.yaml --period 2026Q1 --input demo/data/register-2026Q1.csv
releasegate run register.yaml --period 2026Q1 --input demo/data/register-2026Q1.csv && code=0 || code=$?
[ "$code" = 5 ] # it awaits an approval
releasegate verify
releasegate doctor >doctor.txt || [ $? = 6 ] # nobody can decide yet
grep --quiet 'are installed, without extras' doctor.txt
grep --quiet 'files as installed' doctor.txt
sed 's/^  name: .*/  name: ae-lrhma/; /^  parameters: /d' register.yaml >learned.yaml
releasegate check learned.yaml --period 2026Q1 --input demo/data/register-2026Q1.csv && code=0 || code=$?
[ "$code" = 2 ] # it needs torch
[ ! -e "$work/ran" ] || { echo "a file of the folder ran" >&2; exit 1; }
echo "a first release was made without any extra"
