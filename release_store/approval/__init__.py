"""Who may decide, what proves it, and the decisions that they took."""
