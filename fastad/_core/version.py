"""Versions of fastad and of its JSON."""

__version__ = "0.1.0"

# Version of results in JSON; it rises when a key changes its meaning or is removed.
SCHEMA_VERSION = 1
