"""The figures of a candidate: aggregates that a report draws, and nobody's record."""
