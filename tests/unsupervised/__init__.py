"""Tests of ``fastad.unsupervised``."""
