"""Tests of ``fastad.sklearn``."""
