"""Tests of ``fastad.measures``."""
