"""One way to write JSON as bytes, and the digests and commitments that everything is bound by."""
