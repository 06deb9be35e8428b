"""Kernels that draw points in a box and move them."""
