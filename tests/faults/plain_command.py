"""The command line with flows as plain functions: `python -m tests.faults.plain_command WORDS`."""

from __future__ import annotations

import sys

from cli.__main__ import main
from tests.support.plain_prefect import plain_prefect

if __name__ == "__main__":
    with plain_prefect():
        ended = main(sys.argv[1:])
    sys.exit(ended)
