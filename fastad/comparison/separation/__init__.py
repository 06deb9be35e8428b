"""Pairs of models told apart at each level of a measure: statistics, p-values, counts."""
