"""Tests of ``fastad.benchmarking``."""
