"""A candidate's files, and their digests."""
