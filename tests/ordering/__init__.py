"""Tests of ``fastad.ordering``."""
