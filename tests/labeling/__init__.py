"""Tests of ``fastad.labeling``."""
