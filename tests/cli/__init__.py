"""Tests of ``fastad.cli``."""
