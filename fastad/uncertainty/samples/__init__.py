"""Samples of any design: influences, variances, replicates, and what dependent rows are worth."""
