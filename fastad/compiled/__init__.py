"""Fitted detectors compiled into kernels that score blocks of points."""
