"""The Prefect flows, and the command line that starts them.

Whatever here imports Prefect or Great Expectations comes after this, so both find their settings, whichever
module of the package a process begins with.
"""

from flows import settings

settings.apply()
