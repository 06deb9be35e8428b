"""Comparisons of detectors: on the same samples, on independent ones, and of many."""
