"""The version of fastad, and that of its JSON."""

__version__ = "0.1.0"

# Of the JSON forms of results: rises when a key changes its meaning or goes.
SCHEMA_VERSION = 1
