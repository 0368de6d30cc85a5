"""The release history and its audit log: one DuckDB file, and the only SQL against it."""
