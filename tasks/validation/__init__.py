"""Hold one period's table against the expectations of its policy, and fail closed."""
