"""Benchmarks: plain scripts, run from the repository's root, over the plain functions of the stages."""
