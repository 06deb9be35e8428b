"""Tests of ``fastad.explain``."""
