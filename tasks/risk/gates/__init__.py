"""The gates, one module for each kind of question."""
