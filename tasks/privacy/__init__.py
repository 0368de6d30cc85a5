"""The privacy models that count sensitive values: what a group measures, and what it lacks."""
