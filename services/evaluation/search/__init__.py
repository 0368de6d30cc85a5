"""Search the parameters of methods for a stated goal."""
