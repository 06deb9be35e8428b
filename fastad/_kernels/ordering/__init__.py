"""Kernels that order scores and count along the order."""
