"""Tests of ``fastad.plot``."""
