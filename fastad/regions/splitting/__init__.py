"""Multilevel splitting: a tiny region as the last of a sequence of nested ones."""
