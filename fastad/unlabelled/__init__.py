"""Measures without labels: mass-volume and excess-mass curves, and their criteria."""
