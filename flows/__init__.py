"""The Prefect flows, one a deployment, and what Prefect needs to run them here.

Whatever here imports Prefect or Great Expectations comes after this, so both find their settings, whichever
module of the package a process begins with.
"""

from flows.runtime import settings, teardown
from releasegate.own_packages import check_own_packages

check_own_packages()  # a worker begins here
settings.apply_prefect_settings()
teardown.silence_teardown()
