"""The stages of a release, in the order that the data takes; each knows only those before it."""
