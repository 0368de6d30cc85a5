"""A candidate that passed becomes a release."""
