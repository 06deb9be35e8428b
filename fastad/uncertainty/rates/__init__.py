"""Rates with guarantees: order statistics, bands, thresholds, sequences and tails."""
