"""The command line: commands that call one service each, and the tables that they show."""

import flows  # noqa: F401 -- its settings come before whatever imports Prefect or Great Expectations
