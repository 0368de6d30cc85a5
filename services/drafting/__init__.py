"""A policy drafted from a table."""
