"""The privacy models that the published classes are held to, one idea a module."""
