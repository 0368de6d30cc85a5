"""The printed tables of the papers, beside what this program makes of the same data."""
