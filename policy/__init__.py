"""What a user decides about a series of releases: one typed model, read from one YAML file."""
