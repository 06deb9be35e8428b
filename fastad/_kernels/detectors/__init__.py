"""Kernels that score blocks of points."""
