"""The DuckDB file: connections, migrations, and what is read from and written to each group of tables."""
