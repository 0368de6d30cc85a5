"""What earlier releases of a series leave possible."""
