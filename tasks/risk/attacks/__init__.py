"""What attackers get from a release, as plain functions over arrays."""
