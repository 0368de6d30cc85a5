"""What the installed program begins with: the one import name that no other project uses."""
