"""Tests of ``fastad.detectors``."""
