"""Compiled code. Inputs are trusted: public functions have checked them."""
