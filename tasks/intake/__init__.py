"""Read one period's table from CSV, Parquet or a DuckDB query, and keep only the columns that have a use."""
