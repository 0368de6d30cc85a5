"""The figures of a candidate: aggregates from which its report is drawn."""
