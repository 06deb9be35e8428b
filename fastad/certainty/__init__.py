"""How sure a number or a threshold is."""
