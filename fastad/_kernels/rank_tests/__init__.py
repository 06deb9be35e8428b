"""Kernels of comparisons between many models."""
