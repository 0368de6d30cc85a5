"""Groups become published cells: intervals and value sets."""
