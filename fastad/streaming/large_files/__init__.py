"""Measures of files that do not fit in memory: passes over their rows, until values are exact."""
