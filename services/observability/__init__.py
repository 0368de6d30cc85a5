"""Logs, lineage and notices of what happens in a store."""
