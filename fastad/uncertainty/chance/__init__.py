"""Chance levels: null distributions, their moments, and permutations."""
