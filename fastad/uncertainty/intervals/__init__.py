"""Confidence intervals of one measure, and their methods."""
