"""The commands, one module a group; each is imported only where one of its commands is given."""
