"""Compiled code. Inputs are trusted: the door has checked them."""
