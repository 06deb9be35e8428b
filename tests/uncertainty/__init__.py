"""Tests of ``fastad.uncertainty``."""
