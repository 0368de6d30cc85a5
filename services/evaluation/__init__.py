"""Methods laid side by side on one table."""
