"""Kernels that draw resamples and subsamples of ordered counts."""
