"""Tests of all pairs of models at each level of a measure."""
