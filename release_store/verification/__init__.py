"""Is the store what it was? One module for each kind of thing that is checked."""
