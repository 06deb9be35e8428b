"""Tests of ``fastad.regions``."""
