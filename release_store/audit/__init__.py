"""The audit log: numbered events, their Merkle tree, signed checkpoints and the key that signs them."""
