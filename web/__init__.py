"""A local web application in which people read what waits, and decide with their own keys."""
