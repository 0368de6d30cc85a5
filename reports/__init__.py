"""Reports, the site of a store, and pictures, made from the store alone."""
