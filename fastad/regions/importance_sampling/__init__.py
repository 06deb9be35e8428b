"""Importance sampling: draws near the data, weighted by their density."""
