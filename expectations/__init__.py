"""Great Expectations suites built from a policy."""
