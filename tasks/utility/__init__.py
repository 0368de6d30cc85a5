"""What the analysts lose."""
