"""The rules of verification, which also travel in evidence: standard library and `cryptography` only."""
