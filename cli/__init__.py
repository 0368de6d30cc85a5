"""The command line: its commands, and the tables that they show."""

import flows  # noqa: F401 -- its settings come before whatever imports Prefect or Great Expectations
