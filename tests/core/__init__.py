"""Tests of ``fastad._core``."""
