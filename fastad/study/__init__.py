"""The experiments of papers, as functions."""
