"""Tests of fastad."""
