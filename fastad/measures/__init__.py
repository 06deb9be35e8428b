"""Every measure as a pure function of ordered counts and exact operating points."""
