"""Finer groups inside a part: (k,e)-MDAV."""
