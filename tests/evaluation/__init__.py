"""Tests of ``fastad.evaluation``."""
