"""Tests of ``fastad.study``."""
