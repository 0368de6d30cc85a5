"""A candidate becomes public whole, or not at all, and how it is taken down."""
