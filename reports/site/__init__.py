"""The static site of a store: `build` writes it, one module a page."""
