"""The Prefect flows, one a deployment, and what Prefect needs to run them here.

Whatever here imports Prefect or Great Expectations comes after this, so both find their settings, whichever
module of the package a process begins with.
"""

from flows.runtime import settings, teardown

settings.apply_prefect_settings()
teardown.silence_teardown()
