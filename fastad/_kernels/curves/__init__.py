"""Kernels that read areas, values and level sets from cumulative counts."""
