"""How much of a box a detector takes for normal."""
