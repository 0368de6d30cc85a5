"""Columns become arrays: true values, codes, domains."""
