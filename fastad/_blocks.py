"""How many points are treated together."""

# Coordinates that stay in a core's own memory.
_COORDINATES = 2**16
# Fewer points cost more to call for than to treat; more do not pay.
_FEWEST, MOST = 256, 8192


def points_at_once(n_features: int) -> int:
    """Return how many points of so many features are treated together, a power of two."""
    fitting = max(_COORDINATES // n_features, 1)
    return min(max(1 << (fitting.bit_length() - 1), _FEWEST), MOST)
