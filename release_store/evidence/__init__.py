"""The bundle of a release that a stranger verifies offline, and the script that does it."""
