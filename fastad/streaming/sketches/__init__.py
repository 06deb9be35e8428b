"""Scores counted in cells, and measures of them with certain bounds."""
