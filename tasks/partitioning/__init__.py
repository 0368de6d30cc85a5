"""Who belongs together: Mondrian with constraint-aware splits."""
